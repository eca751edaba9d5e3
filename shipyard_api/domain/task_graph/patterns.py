"""Regular expressions in task documents: ``/(primary-)?controller/``, matched in linear time.

A backtracking matcher needs a clock to stop a hostile pattern, and the plan must not depend on one. Therefore the
expressions are compiled to a state machine that reads each character once. The language: literals, ``.``, ``[a-z]``,
``[^a-z]``, ``\\d \\w \\s`` (also upper case), groups, ``|``, ``* + ?``, ``^`` and ``$``. Anything else is refused.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct, field

LONGEST_PATTERN = 256
_DEEPEST = 20
_SPECIAL = frozenset("\\.[](){}|*+?^$")
_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdigit,
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
}

Test = Callable[[str], bool]


class PatternError(ValueError):
    """The expression cannot be used; the text says why."""


class _State(Struct):
    """A state of the machine: ``test`` consumes a character, ``at`` needs a position, neither is a free move."""

    test: Test | None = None
    at: str = ""
    following: list[int] = field(default_factory=list)


class Pattern(Struct, frozen=True):
    """A compiled expression; state 0 accepts."""

    states: tuple[_State, ...]
    start: int

    def matches(self, text: str) -> bool:
        """Return whether the expression matches from the start of the text, not necessarily to its end (contract, 2.1).

        Takes time proportional to the product of both lengths.
        """
        return self.match(text)[0]

    def match(self, text: str) -> tuple[bool, int]:
        """Return the same, and the work that it took: how many states were looked at."""
        current = self._closure((self.start,), 0, len(text))
        work = len(current)
        for position, char in enumerate(text, start=1):
            if 0 in current or not current:
                break
            step = [
                after
                for number in current
                if (test := self.states[number].test) is not None and test(char)
                for after in self.states[number].following
            ]
            current = self._closure(step, position, len(text))
            work += len(current) + len(step)
        return 0 in current, work

    def _closure(self, numbers: Iterable[int], position: int, length: int) -> set[int]:
        """Return the states that are reached without a character."""
        reached: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self.states[number]
            blocked = (state.at == "^" and position > 0) or (state.at == "$" and position < length)
            if state.test is None and not blocked:
                waiting.extend(state.following)
        return reached


def is_pattern(name: str) -> bool:
    """Return whether a name in a document is written as an expression between slashes."""
    return len(name) >= 2 and name[0] == name[-1] == "/"


@lru_cache(maxsize=1024)
def compile_pattern(written: str) -> Pattern:
    """Compile an expression with its slashes. Raises PatternError."""
    inner = written[1:-1]
    if len(inner) > LONGEST_PATTERN:
        raise PatternError(f"it has {len(inner)} characters; at most {LONGEST_PATTERN} are allowed")
    return _Compiler(inner).compile()


class _Compiler:
    """Builds the machine backwards: each part receives the state that follows it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._states: list[_State] = [_State()]

    def compile(self) -> Pattern:
        tree = self._alternatives(0)
        if self._position < len(self._text):
            raise self._error("')' has no '('")
        start = tree(0)
        return Pattern(tuple(self._states), start)

    def _alternatives(self, depth: int) -> Callable[[int], int]:
        if depth > _DEEPEST:
            raise self._error(f"groups are nested more than {_DEEPEST} deep")
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self._position += 1
            branches.append(self._sequence(depth))
        if len(branches) == 1:
            return branches[0]
        return lambda after: self._add(following=[branch(after) for branch in branches])

    def _sequence(self, depth: int) -> Callable[[int], int]:
        parts: list[Callable[[int], int]] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(depth))

        def build(after: int) -> int:
            for part in reversed(parts):
                after = part(after)
            return after

        return build

    def _repeated(self, depth: int) -> Callable[[int], int]:
        part = self._atom(depth)
        mark = self._peek()
        if mark == "" or mark not in "*+?":
            return part
        self._position += 1
        if self._peek() in ("*", "+", "?"):
            raise self._error("two repetitions follow each other")

        def build(after: int) -> int:
            if mark == "?":
                return self._add(following=[part(after), after])
            loop = self._add()
            begin = part(loop)
            self._states[loop].following = [begin, after]
            return loop if mark == "*" else begin

        return build

    def _atom(self, depth: int) -> Callable[[int], int]:
        char = self._next()
        if char == "(":
            if self._peek() == "?":
                if self._text[self._position : self._position + 2] != "?:":
                    raise self._error("'(?' is not supported")
                self._position += 2
            inner = self._alternatives(depth + 1)
            if self._next() != ")":
                raise self._error("'(' has no ')'")
            return inner
        if char in ("^", "$"):
            return lambda after: self._add(at=char, following=[after])
        if char in ("*", "+", "?"):
            raise self._error(f"'{char}' repeats nothing")
        if char in ("{", "}", "]"):
            raise self._error(f"'{char}' is not supported; write '\\{char}' for the character itself")
        test = self._set() if char == "[" else self._escaped() if char == "\\" else _any if char == "." else _is(char)
        return lambda after: self._add(test=test, following=[after])

    def _set(self) -> Test:
        excluded = self._peek() == "^"
        self._position += excluded
        tests: list[Test] = []
        while (char := self._next()) != "]" or not tests:
            if char == "":
                raise self._error("'[' has no ']'")
            if char == "\\":
                tests.append(self._escaped())
            elif self._peek() == "-" and self._text[self._position + 1 : self._position + 2] not in ("", "]"):
                self._position += 1
                last = self._next()
                if last == "\\" or last < char:
                    raise self._error(f"'{char}-{last}' is not a range")
                tests.append(_between(char, last))
            else:
                tests.append(_is(char))
        return lambda tested: any(test(tested) for test in tests) != excluded

    def _escaped(self) -> Test:
        char = self._next()
        known = _CLASSES.get(char.lower())
        if known is not None:
            return known if char.islower() else lambda tested: not known(tested)
        if char and (char in _SPECIAL or not char.isalnum()):
            return _is(char)
        raise self._error(f"'\\{char}' is not supported")

    def _add(self, *, test: Test | None = None, at: str = "", following: list[int] | None = None) -> int:
        self._states.append(_State(test, at, following or []))
        return len(self._states) - 1

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _next(self) -> str:
        char = self._peek()
        self._position += 1
        return char

    def _error(self, message: str) -> PatternError:
        return PatternError(f"{message} (character {min(self._position, len(self._text))})")


def _any(_: str) -> bool:
    return True


def _is(char: str) -> Test:
    return lambda tested: tested == char


def _between(first: str, last: str) -> Test:
    return lambda tested: first <= tested <= last
