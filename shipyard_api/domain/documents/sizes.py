"""The size of rendered data with every shared part counted each time.

Substituted values can be substituted again: thirty small documents that each contain the previous one twice make a
billion nodes. They are counted before they are written out.
"""

from typing import Any, NamedTuple

NODES = 4_000_000
TEXT = 128 * 1024 * 1024
DEPTH = 128


class Size(NamedTuple):
    """Nodes, characters of text, and nesting depth of a value."""

    nodes: int
    text: int
    depth: int


class TooLargeError(ValueError):
    """A design exceeds a limit; the text says which."""


class Sizes:
    """Adds up the values of one design; each container is walked once, however often it is shared."""

    def __init__(self) -> None:
        # The container is kept beside its size, so its id is not reused.
        self._known: dict[int, tuple[Any, Size]] = {}
        self._nodes = 0
        self._text = 0

    def add(self, value: Any) -> None:
        """Count a document's data; raises TooLargeError."""
        size = self._of(value)
        if size.depth > DEPTH:
            raise TooLargeError(f"the data would be nested deeper than {DEPTH} levels")
        self._nodes += size.nodes
        self._text += size.text
        if self._nodes > NODES:
            raise TooLargeError(f"the design would have more than {NODES:,} values")
        if self._text > TEXT:
            raise TooLargeError(f"the design would have more than {TEXT:,} characters of text")

    def _of(self, value: Any) -> Size:
        if isinstance(value, str):
            return Size(1, len(value), 0)
        if not isinstance(value, dict | list):
            return Size(1, 0, 0)
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        nodes, text, depth = 1, 0, 0
        if isinstance(value, dict):
            members: Any = value.values()
            nodes += len(value)
            text += sum(map(len, value))
        else:
            members = value
        for member in members:
            inner = self._of(member)
            nodes += inner.nodes
            text += inner.text
            depth = max(depth, inner.depth)
        size = Size(nodes, text, depth + 1)
        self._known[id(value)] = value, size
        return size
