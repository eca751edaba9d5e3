"""Values in the text of a POSIX shell: quoted for the place where each stands, so that no value is ever a command.

The text belongs to those who may write tasks, the values to anybody who may start a run. Quotes around a ``{NAME}``
keep their meaning. Where shells do not agree how they read a place, only values without special characters may stand.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, field

KEY = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
"""A ``{NAME}``. ``${NAME}`` is a variable of the shell."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,-]+")  # in any place the same, quoted or not
_HARMLESS = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")
_VARIABLE = re.compile(r"\$\{[^'\"`$\\{}]*\}")
_BACKQUOTES = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_DELIMITER = re.compile(r"<<(-?)[ \t]*((?:'[^'\n{]*'|\"[^\"\n\\$`{]*\"|\\[^\n]|[^\s'\"\\;&|<>()$`{}])+)")
_CASE = re.compile(r"case(?=\s)")
_WORD_ENDS = " \t\n;&|()<>"


class NoPlaceForValue(ValueError):
    """A value whose characters would be read as shell text where its ``{NAME}`` stands."""


class _Place(Enum):
    PLAIN, DOUBLE, SINGLE, HERE, AS_IS, COMMENT, OTHER = range(7)


class _Slot(NamedTuple):
    start: int
    end: int
    name: str
    place: _Place


class _Here(NamedTuple):
    """The body of a here-document, which ends before the line ``ends_with``. ``strips``: without tabs before it."""

    start: int
    end: int
    ends_with: str
    strips: bool


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with the values of ``{NAME}``; braces around other names stay. Raises NoPlaceForValue."""
    if not any(name in values for name in KEY.findall(text)):
        return text
    slots, heres = _read(text)
    used = [slot for slot in slots if slot.name in values]
    for here in heres:
        inside = [slot for slot in used if here.start <= slot.start < here.end]
        body = _pasted(text, inside, values, here.start, here.end)
        if here.ends_with in (line.lstrip("\t") if here.strips else line for line in body.split("\n")):
            raise NoPlaceForValue(f"a value has the line {here.ends_with}, which ends the here-document that it is in")
    return _pasted(text, used, values, 0, len(text))


def _pasted(text: str, slots: list[_Slot], values: Mapping[str, str], start: int, end: int) -> str:
    parts = []
    for slot in slots:
        parts += [text[start : slot.start], _quoted(values[slot.name], slot, text[slot.end : slot.end + 1])]
        start = slot.end
    return "".join([*parts, text[start:end]])


def _quoted(value: str, slot: _Slot, follows: str) -> str:
    if slot.place is _Place.PLAIN:
        is_plain = _PLAIN.fullmatch(value) and not (value.isdigit() and follows in ("<", ">"))
        return value if is_plain else "'" + value.replace("'", "'\\''") + "'"
    if _HARMLESS.fullmatch(value) or slot.place is _Place.AS_IS:
        return value
    if slot.place is _Place.SINGLE:
        return value.replace("'", "'\\''")
    if slot.place is _Place.DOUBLE:
        return re.sub(r'([\\$`"])', r"\\\1", value)
    if slot.place is _Place.HERE:
        return re.sub(r"([\\$`])", r"\\\1", value)
    if slot.place is _Place.COMMENT:
        return re.sub(r"[^A-Za-z0-9_./:@%+,=-]", "_", value)
    raise NoPlaceForValue(
        f"the value of {{{slot.name}}} has special characters, and it cannot be quoted where it stands: in backquotes, "
        "an expansion or arithmetic, or after a backslash; set a variable first: x={" + slot.name + "}"
    )


@lru_cache(maxsize=32)
def _read(text: str) -> tuple[tuple[_Slot, ...], tuple[_Here, ...]]:
    """Return each ``{NAME}`` with its place, and the here-documents. A run fills the same text for each node."""
    reader = _Reader(text)
    slots = tuple(reader.slots())
    return slots, tuple(reader.heres)


class _Reader(Struct):
    """Follows the text as a shell reads it.

    ``frames``: what is open, the innermost last: ``(`` with its number of parentheses, a double quote, or ``<<`` for
    the body of a here-document. ``pending``: here-documents that begin with the next line: where each ends, whether it
    is expanded, and whether tabs before its lines count.
    """

    text: str
    at: int = 0
    frames: list[tuple[str, int]] = field(default_factory=lambda: [("", 0)])
    pending: list[tuple[str, bool, bool]] = field(default_factory=list)
    heres: list[_Here] = field(default_factory=list)

    def slots(self) -> Iterator[_Slot]:
        """Yield every ``{NAME}``."""
        while self.at < len(self.text):
            frame = self.frames[-1][0]
            if key := KEY.match(self.text, self.at):
                places = {'"': _Place.DOUBLE, "<<": _Place.HERE}
                yield _Slot(self.at, key.end(), key[1], places.get(frame, _Place.PLAIN))
                self.at = key.end()
            elif self.text[self.at] == "\\":
                yield from self._to(self.at + 2, _Place.OTHER, key_at=self.at + 1)
            elif self.text[self.at] in "$`":
                yield from self._expansion()
            elif frame == '"' or frame == "<<":
                if frame == '"' and self.text[self.at] == '"':
                    self.frames.pop()
                self.at += 1
            else:
                yield from self._command_text()

    def _to(self, end: int, place: _Place, key_at: int | None = None) -> Iterator[_Slot]:
        """Go on to ``end``; yield what is between. ``key_at``: only a name that begins there."""
        if key_at is None:
            yield from (_Slot(key.start(), key.end(), key[1], place) for key in KEY.finditer(self.text, self.at, end))
        elif key := KEY.match(self.text, key_at):
            yield _Slot(key_at, key.end(), key[1], place)
            end = key.end()
        self.at = end

    def _lost(self) -> Iterator[_Slot]:
        """Yield the rest, of which shells have more than one reading."""
        yield from self._to(len(self.text), _Place.OTHER)

    def _expansion(self) -> Iterator[_Slot]:
        text, at = self.text, self.at
        if text.startswith("$((", at):
            yield from self._arithmetic()
        elif text.startswith("$[", at) or (text.startswith("$(", at) and self.pending):
            yield from self._lost()
        elif text.startswith("$(", at):
            self.frames.append(("(", 1))
            self.at += 2
        elif text.startswith("${", at):
            if variable := _VARIABLE.match(text, at):
                self.at = variable.end()
            else:
                yield from self._lost()
        elif text[at] == "`":
            quoted = _BACKQUOTES.match(text, at)
            if quoted is None or quoted[0].count("'") % 2 or quoted[0].count('"') % 2:
                yield from self._lost()
            else:
                yield from self._to(quoted.end(), _Place.OTHER)
        elif text.startswith("$'", at) and self.frames[-1][0] not in ('"', "<<"):
            yield from self._lost()
        else:
            self.at += 1

    def _arithmetic(self) -> Iterator[_Slot]:
        depth = 0
        for end in range(self.at + 1, len(self.text)):
            if self.text[end] in "'\"`\\\n":
                break
            depth += {"(": 1, ")": -1}.get(self.text[end], 0)
            if depth == 0:
                yield from self._to(end + 1, _Place.OTHER)
                return
        yield from self._lost()

    def _command_text(self) -> Iterator[_Slot]:
        text, at, (frame, depth) = self.text, self.at, self.frames[-1]
        character, begins_word = text[at], at == 0 or text[at - 1] in _WORD_ENDS
        self.at += 1
        if character == "'":
            end = text.find("'", self.at)
            yield from self._lost() if end < 0 else self._to(end, _Place.SINGLE)
            self.at += 1
        elif character == '"':
            self.frames.append(('"', 0))
        elif character == "#" and begins_word:
            end = text.find("\n", at)
            yield from self._to(len(text) if end < 0 else end, _Place.COMMENT)
        elif text.startswith("<<", at):
            yield from self._here_operator(at)
        elif character == "\n" and self.pending:
            yield from self._here_bodies()
        elif frame == "(" and character in "()":
            depth += 1 if character == "(" else -1
            self.frames[-1:] = [(frame, depth)] if depth else []
        elif frame == "(" and begins_word and _CASE.match(text, at):
            yield from self._lost()  # the parentheses of its patterns are not in pairs

    def _here_operator(self, at: int) -> Iterator[_Slot]:
        delimiter = _DELIMITER.match(self.text, at)
        if self.text.startswith("<<<", at):
            self.at = at + 3
        elif delimiter is None or KEY.match(self.text, delimiter.end()):
            yield from self._lost()
        else:
            written = delimiter[2]
            word = re.sub(r"\\(.)|['\"]", r"\1", written)
            self.pending.append((word, word == written, delimiter[1] == "-"))
            self.at = delimiter.end()

    def _here_bodies(self) -> Iterator[_Slot]:
        """Take the next here-document; those behind it begin where it ends."""
        word, expands, strips = self.pending.pop(0)
        tabs = r"\t*" if strips else ""
        last = re.compile(rf"^{tabs}{re.escape(word)}$", re.MULTILINE).search(self.text, self.at)
        if last is None:
            self.pending.clear()
            yield from self._lost()
            return
        self.heres.append(_Here(self.at, last.start(), word, strips))
        if expands:
            inner = _Reader(self.text[: last.start()], self.at, [("<<", 0)])
            yield from inner.slots()
            self.heres += inner.heres
            self.at = last.end()
            if len(inner.frames) != 1:
                yield from self._lost()
        else:
            yield from self._to(last.start(), _Place.AS_IS)
            self.at = last.end()
