"""Small faults that can be made in a source text: what ``./dev mutants`` samples.

A fault replaces one part of the text. What only humans read is left alone: docstrings, log lines, annotations, and the
arguments of errors.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

OPERATORS: dict[type[ast.cmpop | ast.boolop | ast.operator], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),  # codespell:ignore
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutation:
    """``start`` and ``end``: the part of the text that is replaced, in bytes.

    ``first`` and ``last``: the lines of its statement, counted from one, without those of statements inside it.
    ``at_import``: they run when the module is imported, not when a function is called.
    """

    path: str
    start: int
    end: int
    text: str
    first: int = 0
    last: int = 0
    at_import: bool = False

    def apply(self, source: str) -> str:
        """Return the text with the fault."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    def is_one(self, source: str) -> bool:
        """Whether the text with the fault is a module, and another one than without."""
        try:
            return ast.dump(ast.parse(self.apply(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False

    def diff(self, source: str) -> str:
        """Return the fault as the lines that differ."""
        before, after = source.splitlines(), self.apply(source).splitlines()
        return "\n".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=1, lineterm=""))


def mutations(path: str, source: str) -> list[Mutation]:
    """Return every fault that can be made in a module, in the order of its text."""
    return sorted(_Finder(path, source).faults(), key=lambda fault: (fault.start, fault.end, fault.text))


class _Finder:
    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def faults(self) -> Iterator[Mutation]:
        yield from self._below(ast.parse(self._source), (0, 0), at_import=True)

    def _below(self, parent: ast.AST, lines: tuple[int, int], *, at_import: bool) -> Iterator[Mutation]:
        for node in _looked_at(parent):
            within = _lines(node) if isinstance(node, ast.stmt) else lines
            if not (at_import and isinstance(node, ast.BinOp)):  # mostly the unions of types
                for fault in self._of(node):
                    yield replace(fault, first=within[0], last=within[1], at_import=at_import)
            runs_later = isinstance(node, ast.FunctionDef | ast.Lambda)
            yield from self._below(node, within, at_import=at_import and not runs_later)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield self._between(left, right, operator)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                yield self._between(left, right, operator)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS and not _is_text(node):
                yield self._between(left, right, operator)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield Mutation(self._path, self._start(node), self._start(operand), "")
            case ast.Constant(value=bool(value)):
                yield self._instead(node, str(not value))
            case ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
                yield self._instead(node, str(value + 1))
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _is_bare(test):
                yield Mutation(self._path, self._start(test), self._start(test), "not ")
            case ast.comprehension(ifs=[test, *_]) if _is_bare(test):
                yield Mutation(self._path, self._start(test), self._start(test), "not ")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._instead(value, "None")
            case ast.Raise() | ast.Expr(value=ast.Call()) | ast.AugAssign():
                yield self._instead(node, "pass")
            case ast.Continue():
                yield self._instead(node, "break")
            case ast.Break():
                yield self._instead(node, "continue")
            case ast.Call(func=ast.Name(id=name) as function) if name in CALLS:
                yield self._instead(function, CALLS[name])

    def _instead(self, node: ast.stmt | ast.expr, text: str) -> Mutation:
        return Mutation(self._path, self._start(node), self._end(node), text)

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> Mutation:
        """Replace the operator between two operands, which may stand in brackets."""
        is_called, becomes = OPERATORS[type(operator)]  # type: ignore[index]
        start, end = self._end(left), self._start(right)
        between = self._source[start:end].decode()
        return Mutation(self._path, start, end, between.replace(is_called, becomes, 1))

    def _start(self, node: ast.stmt | ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.stmt | ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def _looked_at(parent: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, but for what a run does not depend on."""
    left_out: list[ast.AST | None] = []
    match parent:
        case ast.arg() | ast.AnnAssign():
            left_out = [parent.annotation]
        case ast.FunctionDef():
            left_out = [*parent.decorator_list, parent.returns]
        case ast.ClassDef():
            left_out = [*parent.decorator_list, *parent.bases, *parent.keywords]
        case ast.Raise():
            left_out = [parent.exc]
    for node in ast.iter_child_nodes(parent):
        if node in left_out or isinstance(node, ast.Assert | ast.JoinedStr):
            continue
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="LOG")))):
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
        yield node


def _lines(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    return statement.lineno, max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or 0


def _is_bare(test: ast.expr) -> bool:
    """Whether no other fault turns the test round."""
    return isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(operand, ast.JoinedStr) or (isinstance(operand, ast.Constant) and isinstance(operand.value, str))
        for operand in (node.left, node.right)
    )
