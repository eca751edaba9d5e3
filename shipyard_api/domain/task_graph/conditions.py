"""Conditions of tasks (seed 001, Conditional tasks; contract: fuel-task-graph, 1.4).

Both forms of the seed are one language: the expressions of the cluster settings (``settings:storage.volumes_ceph ==
true``) and the strict interface (``api.cluster_status == 'new' and api.nodes_count() > 10``). Nothing is evaluated by
Python: a condition becomes a small tree of these operators, and its size and depth are limited.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

LONGEST = 4096  # characters
DEEPEST = 32  # parentheses and "not"
MOST_OPERATORS = 128
_MOST_DIGITS = 18

_TOKEN = re.compile(
    r"""(?P<blank>\s+)
      | (?P<number>-?[0-9]+(?![\w.]))
      | (?P<string>'[^']*'|"[^"]*")
      | (?P<model>[A-Za-z_]\w*:[\w.\-]*)
      | (?P<api>api\.[A-Za-z_]\w*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<operator>==|!=|<=|>=|<|>|\(|\))
    """,
    re.VERBOSE | re.ASCII,
)
_MODELS = ("settings", "cluster")
_CONSTANTS: Mapping[str, object] = {"true": True, "false": False, "null": None}
# What each name of the interface takes: no parentheses, none inside, or the name of a role.
_API = {"cluster_status": None, "nodes_count": 0, "role_in_deployment": 1, "role_in_cluster": 1}
_ORDER = ("<", ">", "<=", ">=")
_COMPARISONS = ("==", "!=", *_ORDER)


class ConditionError(ValueError):
    """A condition cannot be read or evaluated; the text names the fault and its position."""


class UnknownPath(ConditionError):
    """A condition reads a value of a model that is not there."""


class Facts(Struct, frozen=True):
    """What conditions may ask for.

    ``models``: the settings and the cluster as JSON, by model name. ``run_roles`` and ``cluster_roles``: roles of the
    nodes of this run, and of all nodes of the cluster.
    """

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cluster_status: str = ""
    run_roles: frozenset[str] = frozenset()
    cluster_roles: frozenset[str] = frozenset()
    nodes_count: int = 0


class Constant(Struct, frozen=True):
    """A number, string, true, false or null."""

    value: object


class Path(Struct, frozen=True):
    """A value of a model."""

    model: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.model}:{'.'.join(self.steps)}"


class Call(Struct, frozen=True):
    """A name of the interface ``api``, with the role it asks for."""

    name: str
    role: str = ""


class Not(Struct, frozen=True):
    """True if the operand is not."""

    operand: "Expression"


class Binary(Struct, frozen=True):
    """An operator with two operands."""

    operator: str
    left: "Expression"
    right: "Expression"


Expression = Constant | Path | Call | Not | Binary


def parse_condition(text: str) -> Expression:
    """Return the condition as a tree. Raises ConditionError."""
    if len(text) > LONGEST:
        raise ConditionError(f"it has {len(text)} characters; at most {LONGEST} are allowed")
    return _Parser(_tokens(text)).parse()


def is_true(condition: Expression, facts: Facts) -> bool:
    """Return whether the condition holds.

    Raises ConditionError if a value does not fit its operator, and UnknownPath if one that is needed is not there.
    """
    return bool(_value(condition, facts))


def paths_in(condition: Expression) -> Iterator[Path]:
    """Yield the values of models that a condition reads."""
    match condition:
        case Path():
            yield condition
        case Not():
            yield from paths_in(condition.operand)
        case Binary():
            yield from paths_in(condition.left)
            yield from paths_in(condition.right)


def has_value(path: Path, facts: Facts) -> bool:
    """Return whether the path leads to a value."""
    try:
        value_of(path, facts)
    except UnknownPath:
        return False
    return True


class _Token(Struct, frozen=True):
    kind: str
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ConditionError(_unreadable(text, position))
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    return [*tokens, _Token("end", "the end", position)]


def _unreadable(text: str, position: int) -> str:
    if text[position] in "'\"":
        return f"the string at character {position} has no end"
    return f"{text[position]!r} at character {position} is not part of the language"


class _Parser:
    """Recursive descent, lowest precedence first: or, and, comparisons, then ``in`` and ``not``."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0
        self._operators = 0

    def parse(self) -> Expression:
        if self._token.kind == "end":
            raise ConditionError("it is empty")
        parsed = self._or()
        if self._token.kind != "end":
            raise ConditionError(f"an operator is missing before {self._here()}")
        return parsed

    def _or(self) -> Expression:
        left = self._and()
        while self._accept("or"):
            left = self._binary("or", left, self._and())
        return left

    def _and(self) -> Expression:
        left = self._comparison()
        while self._accept("and"):
            left = self._binary("and", left, self._comparison())
        return left

    def _comparison(self) -> Expression:
        negated = self._token.text == "not"
        left = self._membership()
        while self._token.kind == "operator" and self._token.text in _COMPARISONS:
            operator = self._take().text
            if negated and isinstance(left, Not) and _asks_api(left.operand):
                raise ConditionError(f"'not' before '{operator}' is ambiguous: write not (a {operator} b)")
            right = self._membership()
            if operator in _ORDER and not (_is_count(left) or _is_count(right)):
                raise ConditionError(f"'{operator}' compares api.nodes_count() with a number, and nothing else")
            left = self._binary(operator, left, right)
            negated = False
        return left

    def _membership(self) -> Expression:
        left = self._operand()
        while self._accept("in"):
            left = self._binary("in", left, self._operand())
        return left

    def _operand(self) -> Expression:
        token = self._take()
        if token.text == "not" and token.kind == "word":
            return Not(self._nested(self._operand))
        if token.text == "(":
            inner = self._nested(self._or)
            self._expect(")")
            return inner
        if token.kind == "number":
            if len(token.text) > _MOST_DIGITS:
                raise ConditionError(f"the number at character {token.position} is too long")
            return Constant(int(token.text))
        if token.kind == "string":
            return Constant(token.text[1:-1])
        if token.kind == "model":
            return self._path(token)
        if token.kind == "api":
            return self._call(token)
        if token.kind == "word" and token.text in _CONSTANTS:
            return Constant(_CONSTANTS[token.text])
        self._position -= 1
        raise ConditionError(f"a value is missing before {self._here()}")

    def _nested(self, part: Any) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConditionError(f"it is nested more than {DEEPEST} deep")
        inner: Expression = part()
        self._depth -= 1
        return inner

    def _path(self, token: _Token) -> Path:
        model, _, written = token.text.partition(":")
        if model not in _MODELS:
            raise ConditionError(f"'{model}' at character {token.position} is not a model; write settings: or cluster:")
        steps = tuple(written.split("."))
        if "" in steps:
            raise ConditionError(f"the path '{token.text}' at character {token.position} has an empty step")
        return Path(model, steps)

    def _call(self, token: _Token) -> Call:
        name = token.text.removeprefix("api.")
        if name not in _API:
            raise ConditionError(f"'{token.text}' at character {token.position} does not exist; use {_spelt_out()}")
        arguments = _API[name]
        if arguments is None:
            return Call(name)
        self._expect("(")
        role = ""
        if arguments:
            argument = self._take()
            if argument.kind != "string":
                raise ConditionError(f"api.{name} takes the name of a role in quotes")
            role = argument.text[1:-1]
        self._expect(")")
        return Call(name, role)

    def _binary(self, operator: str, left: Expression, right: Expression) -> Binary:
        self._operators += 1
        if self._operators > MOST_OPERATORS:
            raise ConditionError(f"it has more than {MOST_OPERATORS} operators")
        return Binary(operator, left, right)

    @property
    def _token(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._token
        self._position += token.kind != "end"
        if token.kind == "end":
            raise ConditionError("it ends where a value is expected")
        return token

    def _accept(self, word: str) -> bool:
        accepted = self._token.kind == "word" and self._token.text == word
        self._position += accepted
        return accepted

    def _expect(self, text: str) -> None:
        if self._token.text != text or self._token.kind != "operator":
            raise ConditionError(f"'{text}' is missing before {self._here()}")
        self._position += 1

    def _here(self) -> str:
        token = self._token
        return "the end" if token.kind == "end" else f"{token.text[:40]!r} at character {token.position}"


def _spelt_out() -> str:
    return "api.cluster_status, api.nodes_count(), api.role_in_deployment('role') or api.role_in_cluster('role')"


def _is_count(expression: Expression) -> bool:
    return expression == Call("nodes_count")


def _asks_api(expression: Expression) -> bool:
    return isinstance(expression, Call)


def _value(expression: Expression, facts: Facts) -> Any:
    match expression:
        case Constant():
            return expression.value
        case Path():
            return value_of(expression, facts)
        case Call():
            return _ask(expression, facts)
        case Not():
            return not _value(expression.operand, facts)
        case Binary("and"):
            return _value(expression.left, facts) and _value(expression.right, facts)
        case Binary("or"):
            return _value(expression.left, facts) or _value(expression.right, facts)
        case Binary():
            return _apply(expression.operator, _value(expression.left, facts), _value(expression.right, facts))


def value_of(path: Path, facts: Facts) -> Any:
    """Return the value to which the path leads. Raises UnknownPath."""
    value: Any = facts.models.get(path.model, {})
    for step in path.steps:
        if not isinstance(value, Mapping) or step not in value:
            raise UnknownPath(f"there is no {path}")
        value = value[step]
    return value


def _ask(call: Call, facts: Facts) -> object:
    if call.name == "cluster_status":
        return facts.cluster_status
    if call.name == "nodes_count":
        return facts.nodes_count
    return call.role in (facts.run_roles if call.name == "role_in_deployment" else facts.cluster_roles)


def _apply(operator: str, left: Any, right: Any) -> bool:
    """Return the result of a comparison; equality is Python's, so 0 == false holds."""
    if operator == "==":
        return bool(left == right)
    if operator == "!=":
        return bool(left != right)
    if operator == "in":
        if right is None:
            return False
        if isinstance(right, list) or (isinstance(right, str | Mapping) and isinstance(left, str)):
            return left in right
        raise ConditionError(f"'in' does not fit these values: {_kind(left)} in {_kind(right)}")
    if not (isinstance(left, int) and isinstance(right, int)) or bool in (type(left), type(right)):
        raise ConditionError(f"'{operator}' compares whole numbers, not {_kind(left)} with {_kind(right)}")
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a string", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")
