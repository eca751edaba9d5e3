"""Build JSON values from the events of a stream, counting everything against limits first.

Nothing deeper, larger or other than JSON is ever built.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import yaml
from msgspec import Struct

from shipyard_api.yaml_stream import scalars
from shipyard_api.yaml_stream.faults import YamlFault


class Limits(Struct, frozen=True):
    """Limits on a stream. The target of an alias counts each time.

    A node takes 2 to 4 us of processor time, so refusing a stream takes at most 2 s. A real site has 50,000 nodes.
    """

    bytes_: int = 32 * 1024 * 1024
    depth: int = 64
    nodes: int = 500_000
    documents: int = 50_000
    scalar: int = 8 * 1024 * 1024
    """Characters of one scalar."""
    text: int = 64 * 1024 * 1024
    """Characters of all scalars: a long text with a thousand aliases has few nodes, but gigabytes of JSON."""
    faults: int = 20
    """Reading stops after this many faults."""


Mark = Any  # libyaml's place of an event: line and column from 0, index in characters

_EACH_TIME = "counting what aliases stand for each time"
_NO_KEY: Any = object()  # a key comes next
_MERGING: Any = object()  # the key was <<
_BROKEN: Any = object()  # placeholder for a faulty value
_REMEMBERED, _SHORT = 10_000, 40  # texts whose values are remembered, and the most characters of each


class EnoughError(Exception):
    """Ends the scan; the faults have been recorded."""


class _Open(Struct):
    """A sequence or mapping whose end has not been reached; ``items`` is None for a mapping."""

    mark: Mark
    anchor: str | None
    items: list[Any] | None
    nodes_before: int
    text_before: int
    height: int  # levels of collections inside it so far
    key: Any
    entries: dict[str, Any]
    lines: dict[Any, int]  # where each key was first given
    merged: dict[str, Any] | None = None


class _Anchor(Struct, frozen=True):
    """The target of an alias; its node is still open unless ``complete``."""

    line: int
    complete: bool = False
    value: Any = None
    nodes: int = 1
    text: int = 0
    height: int = 0


class Scan:
    """Consumes the events of one stream in order. Aliases share values until everything has been counted."""

    def __init__(self, limits: Limits) -> None:
        self.faults: list[YamlFault] = []
        self._quotes: dict[int, tuple[int, str]] = {}  # by number of the fault: its position and its quotation
        self.last: yaml.Event | None = None
        self._limits = limits
        self._documents: list[Any] = []
        self._plain: dict[str, Any] = {}
        self._sharing: set[int] = set()  # documents with an alias of a collection
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchor] = {}
        self._root: Any = None
        self._nodes = self._text = 0
        self._most_nodes, self._most_text, self._longest = limits.nodes, limits.text, limits.scalar
        self._takers: dict[type[yaml.Event], Callable[[Any], None]] = {
            yaml.DocumentStartEvent: self._document_start,
            yaml.SequenceStartEvent: self._collection_start,
            yaml.MappingStartEvent: self._collection_start,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.SequenceEndEvent: self._collection_end,
            yaml.MappingEndEvent: self._collection_end,
            yaml.DocumentEndEvent: self._document_end,
        }

    def take_all(self, next_event: Callable[[], yaml.Event | None]) -> None:
        """Consume all events. Raises EnoughError when the rest must not be read."""
        taker_of = self._takers.get
        while (event := next_event()) is not None:
            self.last = event
            if (taker := taker_of(type(event))) is not None:
                taker(event)

    def documents(self) -> list[Any]:
        """Return the documents, with a copy for every alias."""
        for index in self._sharing:
            self._documents[index] = _copy(self._documents[index])
        return self._documents

    def note(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Add a fault at a place in the current document. Raises EnoughError when there are too many."""
        self.faults.append(YamlFault(message, line=line, column=column, document=len(self._documents)))
        if len(self.faults) >= self._limits.faults:
            raise EnoughError

    def hide_quotes(self, is_secret: Callable[[int], bool]) -> None:
        """Take what they quote out of the faults of secret documents; ``is_secret`` gets the index of a character."""
        for number, (index, quote) in self._quotes.items():
            if is_secret(index):
                fault = self.faults[number]
                message = fault.message.replace(quote, "(not shown)")
                self.faults[number] = YamlFault(message, line=fault.line, column=fault.column, document=fault.document)

    def _note(self, message: str, mark: Mark, quote: str = "") -> None:
        if quote:
            self._quotes[len(self.faults)] = mark.index, quote
        self.note(message, mark.line + 1, mark.column + 1)

    def _stop(self, message: str, mark: Mark, quote: str = "") -> NoReturn:
        self._note(message, mark, quote)
        raise EnoughError

    def _count(self, nodes: int, text: int, mark: Mark) -> None:
        self._nodes += nodes
        self._text += text
        if self._nodes > self._most_nodes:
            self._stop(f"the stream has more than {self._most_nodes:,} nodes, {_EACH_TIME}", mark)
        if self._text > self._most_text:
            self._stop(f"the stream has more than {self._most_text:,} characters of text, {_EACH_TIME}", mark)

    def _document_start(self, event: yaml.DocumentStartEvent) -> None:
        if len(self._documents) >= self._limits.documents:
            self._stop(f"the stream has more than {self._limits.documents:,} documents", event.start_mark)

    def _document_end(self, _event: yaml.DocumentEndEvent) -> None:
        self._documents.append(self._root)
        self._anchors.clear()

    def _collection_start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        mark: Mark = event.start_mark
        if len(self._stack) >= self._limits.depth:
            self._stop(f"nested deeper than {self._limits.depth} levels", mark)
        before = self._nodes, self._text
        self._count(1, 0, mark)
        is_sequence = isinstance(event, yaml.SequenceStartEvent)
        kind, tag = ("sequence", scalars.SEQ) if is_sequence else ("mapping", scalars.MAP)
        if event.tag not in (None, "!", tag):
            tag = scalars.short_tag(event.tag)
            self._note(f"the tag {tag} is not one of a {kind} that JSON can hold", mark, tag)
        if self._at_key():
            self._note(f"a {kind} cannot be a key in JSON; a key is one value", mark)
        if event.anchor is not None:
            self._declare(event.anchor, _Anchor(mark.line + 1), mark)
        items: list[Any] | None = [] if is_sequence else None
        self._stack.append(_Open(mark, event.anchor, items, *before, 0, _NO_KEY, {}, {}))

    def _collection_end(self, _event: yaml.SequenceEndEvent | yaml.MappingEndEvent) -> None:
        done = self._stack.pop()
        # PyYAML's order of keys: merged keys come first, and keep their place when overridden.
        value = (
            done.items if done.items is not None else {**done.merged, **done.entries} if done.merged else done.entries
        )
        height = done.height + 1
        if done.anchor is not None:
            size = self._nodes - done.nodes_before, self._text - done.text_before
            self._anchors[done.anchor] = _Anchor(done.mark.line + 1, True, value, *size, height)
        self._put(value, done.mark, height)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text = event.value
        mark: Mark = event.start_mark
        self._nodes += 1
        self._text += len(text)
        if self._nodes > self._most_nodes or self._text > self._most_text:
            self._count(0, 0, mark)
        value: Any = _BROKEN
        try:
            if len(text) > self._longest:
                self._note(f"a text of {len(text):,} characters; at most {self._longest:,} are read", mark)
            else:
                value = self._value(event)
        except scalars.UnfitError as unfit:
            self._note(str(unfit), mark, scalars.short_tag(event.tag) if event.tag else "")
        if event.anchor is not None:
            # Through an alias, "<<" is plain text: as a merge key it would change a distant mapping.
            meant = text if value is _MERGING else value
            self._declare(event.anchor, _Anchor(mark.line + 1, True, meant, 1, len(text)), mark)
        self._put(value, mark, 0)

    def _value(self, event: yaml.ScalarEvent) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            if not event.implicit[0]:
                return scalars.text_of(event.value)
            return self._plain_value(event.value)
        return _MERGING if tag == scalars.MERGE and self._at_key() else scalars.value_of(event.value, tag)

    def _plain_value(self, text: str) -> Any:
        """Return the value of a text without quotes; most streams repeat a few of them again and again."""
        known = self._plain.get(text, _NO_KEY)
        if known is not _NO_KEY:
            return known
        tag = scalars.resolve(text)
        if tag == scalars.MERGE:
            return _MERGING if self._at_key() else text
        value = scalars.text_of(text) if tag == scalars.STR else scalars.value_of(text, tag)
        if len(self._plain) < _REMEMBERED and len(text) <= _SHORT:
            self._plain[text] = value
        return value

    def _declare(self, name: str, anchor: _Anchor, mark: Mark) -> None:
        if first := self._anchors.get(name):
            quote = scalars.clip(name)
            self._note(f"anchor {quote} was already given at line {first.line}", mark, quote)
        self._anchors[name] = anchor

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark: Mark = event.start_mark
        name = scalars.clip(event.anchor or "")
        anchor = self._anchors.get(event.anchor or "")
        if anchor is None:
            self._note(f"alias {name}: no such anchor before it in this document", mark, name)
            anchor = _Anchor(0, True, _BROKEN)
        elif not anchor.complete:
            self._note(f"alias {name} is used inside its own anchor, begun at line {anchor.line}", mark, name)
            anchor = _Anchor(0, True, _BROKEN)
        self._count(anchor.nodes, anchor.text, mark)
        if len(self._stack) + anchor.height > self._limits.depth:
            self._stop(f"nested deeper than {self._limits.depth} levels by alias {name}", mark, name)
        if anchor.height:
            self._sharing.add(len(self._documents))
            if self._at_key():
                self._note(f"alias {name} is not one value, and cannot be a key in JSON", mark, name)
        self._put(anchor.value, mark, anchor.height)

    def _at_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].items is None and self._stack[-1].key is _NO_KEY

    def _put(self, value: Any, mark: Mark, height: int) -> None:
        """Put a finished value into its place: into a sequence, as a key, or as the value of its key."""
        if not self._stack:
            self._root = value
            return
        top = self._stack[-1]
        if height > top.height:
            top.height = height
        if top.items is not None:
            top.items.append(value)
        elif top.key is _NO_KEY:
            top.key = self._key(top, value, mark)
        else:
            if top.key is _MERGING:
                self._merge(top, value, mark)
            elif top.key is not _BROKEN:
                top.entries[top.key] = value
            top.key = _NO_KEY

    def _key(self, top: _Open, value: Any, mark: Mark) -> Any:
        if value is _BROKEN or isinstance(value, dict | list):
            return _BROKEN
        # A quoted "<<" is an ordinary key, and may occur beside the merge key.
        key = value if value is _MERGING else scalars.key_text(value)
        if first := top.lines.get(key):
            name = scalars.clip("<<" if key is _MERGING else key)
            self._note(f"duplicate key {name}, first given at line {first}", mark, name)
            return _BROKEN
        top.lines[key] = mark.line + 1
        return key

    def _merge(self, top: _Open, value: Any, mark: Mark) -> None:
        if top.merged is None:
            top.merged = {}
        for part in reversed(value if isinstance(value, list) else [value]):  # in a list the first one wins
            if isinstance(part, dict):
                top.merged.update(part)
            elif part is not _BROKEN:
                self._note("a merge key (<<) takes a mapping or a list of mappings", mark)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
