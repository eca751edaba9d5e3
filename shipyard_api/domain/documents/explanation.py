"""Explain a value of the rendered design: replay the rendering of its document, and of what that takes from.

Nothing of this runs while a design is rendered; a replay applies the same actions and substitutions one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.documents.document import Document, Key, StoredDocument, layering_of
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.layering import layered
from shipyard_api.domain.documents.paths import MISSING, Path, PathError, parse_action_path, parse_path, places
from shipyard_api.domain.documents.relations import Relations, relate
from shipyard_api.domain.documents.rendering import render_data
from shipyard_api.domain.documents.substitution import Source, substitute, substitutions_of

MOST_VALUES = 200
"""Values that one explanation follows; a container may have been made from thousands."""

Place = tuple[str, ...]
"""The tokens of a JSON pointer (RFC 6901) into the data of a document; the number of an element is a token, too."""


class StepKind(Enum):
    """How a value came to be, or changed."""

    WRITTEN = "written"
    PARENT = "parent"
    ACTION = "action"
    SUBSTITUTION = "substitution"


class ExplainedStep(Struct, frozen=True):
    """A step: ``pointer`` is where the document asks for it, ``value`` the value afterwards; MISSING if it was deleted.

    ``detail``: the action's method and path, or the pattern of a substitution. ``source``: the number of the value that
    it takes, in the explanation; None for a written one, and for one that is followed no further.
    """

    kind: StepKind
    pointer: str
    detail: str
    value: Any
    source: int | None = None


class ExplainedValue(Struct):
    """A value at a place of a document, and its steps in order. ``secret``: no value of it may be shown."""

    stored: StoredDocument
    place: Place
    value: Any
    secret: bool
    steps: list[ExplainedStep] = field(default_factory=list)


def explain(
    documents: Sequence[StoredDocument], key: Key, place: Place, out_of_time: Callable[[], bool] = lambda: False
) -> list[ExplainedValue]:
    """Return the value at a place of a rendered document, and after it every value that it was made from.

    Raises LookupError if the design has no such document, or it cannot be rendered; KeyError, which is one, for a place
    that the document does not have. The order of the documents does not matter.

    A secret document (``Relations.secret``) is explained as a whole, whatever the place: what its parts are named is
    not shown either. ``out_of_time`` is called between steps; once it returns true, LookupError is raised.
    """
    stored = sorted(documents, key=lambda entry: (*entry.document.key, entry.document.layer))
    relations = relate([entry.document for entry in stored])
    (index,) = _shown(relations, key)
    replay = _Replay(stored, relations, render_data(relations, _needed(relations, index), out_of_time), out_of_time)
    if index not in replay.data:
        raise LookupError(f"{key[0]} '{key[1]}' cannot be rendered")
    if index not in relations.secret and at(replay.data[index], place) is MISSING:
        raise KeyError(place)
    replay.enqueue(index, place)
    replay.run()
    return replay.values


def written_at(values: Sequence[ExplainedValue]) -> tuple[StoredDocument, str]:
    """Return the document in which an explained value was written, and the JSON pointer to it in there.

    It is where the last step took it from. A container is not followed into what was substituted into it.
    """
    found = values[0]
    while (last := found.steps[-1] if found.steps else None) and last.source is not None:
        if last.kind is not StepKind.PARENT and isinstance(found.value, (dict, list)):
            break
        found = values[last.source]
    own = at(found.stored.document.data, found.place) is not MISSING
    return found.stored, f"/data{_pointer(found.place)}" if own or last is None else last.pointer


def tokens_of(pointer: str) -> Place:
    """Return the tokens of a JSON pointer."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def at(value: Any, place: Sequence[str]) -> Any:
    """Return the value at a place, or MISSING."""
    for token in place:
        if isinstance(value, dict):
            value = value.get(token, MISSING)
        elif isinstance(value, list) and token.isascii() and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
    return value


def _shown(relations: Relations, key: Key) -> list[int]:
    indexes = [
        index
        for index, document in enumerate(relations.documents)
        if document.key == key and document.is_concrete and index not in relations.family.replacements
    ]
    if len(indexes) != 1:
        raise LookupError(f"the design has no document {key[0]} '{key[1]}'")
    return indexes


def _needed(relations: Relations, index: int) -> set[int]:
    """Return the document and all that it is made from."""
    needed, waiting = {index}, [index]
    while waiting:
        fresh = set(relations.dependencies[waiting.pop()]) - needed
        needed |= fresh
        waiting.extend(fresh)
    return needed


class _Replay:
    """Explains values in sequence; each is explained once, however many take it."""

    def __init__(
        self,
        stored: Sequence[StoredDocument],
        relations: Relations,
        data: dict[int, Any],
        out_of_time: Callable[[], bool],
    ) -> None:
        self.values: list[ExplainedValue] = []
        self.data = data
        self._stored = stored
        self._relations = relations
        self._out_of_time = out_of_time
        self._numbers: dict[tuple[int, Place], int] = {}
        self._indices: list[int] = []

    def enqueue(self, index: int, place: Place) -> int | None:
        """Return the number of a value; None if there are too many. Of secret data, only the whole is explained."""
        place = () if index in self._relations.secret else place
        known = self._numbers.get((index, place))
        if known is not None or len(self.values) >= MOST_VALUES:
            return known
        value = at(self.data[index], place)
        self.values.append(ExplainedValue(self._stored[index], place, value, index in self._relations.secret))
        self._indices.append(index)
        self._numbers[index, place] = len(self.values) - 1
        return len(self.values) - 1

    def run(self) -> None:
        """Explain every value that is enqueued, and those that it takes from."""
        for number, explained in enumerate(self.values):  # grows meanwhile
            explained.steps.extend(self._steps(self._indices[number], explained.place))

    def _steps(self, index: int, place: Place) -> Iterator[ExplainedStep]:
        document, base = self._relations.documents[index], self._relations.family.base(index)
        pointer = _pointer(place)
        if base is None:
            current = document.data
            if at(current, place) is not MISSING:
                yield ExplainedStep(StepKind.WRITTEN, f"/data{pointer}", "", at(current, place))
        else:
            current = self.data[base]
            if at(current, place) is not MISSING:
                selector = "/metadata/layeringDefinition/parentSelector"
                number = self.enqueue(base, place)
                yield ExplainedStep(StepKind.PARENT, selector, "", at(current, place), number)
            for position, action in enumerate(layering_of(document.metadata).get("actions", ())):
                before = current
                current = layered(before, _with_action(document, action))[0].value
                if _acts(action, place, document.data, before, current):
                    detail = f"{action['method']} {action['path']}"
                    written = f"/metadata/layeringDefinition/actions/{position}"
                    yield ExplainedStep(StepKind.ACTION, written, detail, at(current, place))
        for position, substitution in enumerate(substitutions_of(document)):
            source = self._relations.sources[index][position]
            if source is None:
                continue
            if self._out_of_time():
                raise LookupError("the explanation takes too long; ask for a smaller part")
            before, draft = current, Draft(current)
            single = replace(document, metadata={**document.metadata, "substitutions": [substitution]})
            substitute(draft, single, [self._relations.documents[source]], [self.data[source]], lambda: False)
            current = draft.value
            taken = _taken(substitution, place, self.data[source], before, current)
            if taken is not None:
                # A value that a secret document takes from another document reveals its parts.
                number = self.enqueue(source, () if index in self._relations.secret else taken)
                pattern = substitution["src"].get("pattern") or ""
                where = f"/metadata/substitutions/{position}"
                yield ExplainedStep(StepKind.SUBSTITUTION, where, pattern, at(current, place), number)


def _with_action(document: Document, action: Any) -> Document:
    layering = {**layering_of(document.metadata), "actions": [action]}
    return replace(document, metadata={**document.metadata, "layeringDefinition": layering})


def _acts(action: Any, place: Place, own_data: Any, before: Any, after: Any) -> bool:
    """Return whether an action changed the value, or wrote it as it was."""
    if at(before, place) != at(after, place):
        return True
    if action["method"] == "delete":
        return False
    target = _tokens(parse_action_path(action["path"]), after)
    if target is None:
        return False
    return target[: len(place)] == place or (place[: len(target)] == target and at(own_data, place) is not MISSING)


def _taken(substitution: Any, place: Place, data: Any, before: Any, after: Any) -> Place | None:
    """Return the place in the source's data that a substitution took the value from; None if it did not touch it."""
    source = Source.of(substitution)
    taken_at = _tokens(parse_path(source.path), data) if isinstance(data, dict) else ()
    if taken_at is None:
        return None
    destinations = substitution["dest"]
    for destination in destinations if isinstance(destinations, list) else [destinations]:
        target = _tokens(parse_path(destination["path"]), after)
        if target is None or destination.get("pattern") is not None or source.pattern is not None:
            continue
        if target[: len(place)] == place:
            return taken_at
        if place[: len(target)] == target and at(data, (*taken_at, *place[len(target) :])) is not MISSING:
            return (*taken_at, *place[len(target) :])
    # A pattern writes into a text: what changed it is the whole of what was taken.
    return taken_at if at(before, place) != at(after, place) else None


def _tokens(path: Path, value: Any) -> Place | None:
    """Return the first place of a path in a value; None if there is none, or the path can lead to several."""
    try:
        targets = places(path, value)
    except PathError:
        return None
    if not path.is_plain and len(targets) != 1:
        return None
    return tuple(str(step) for step in targets[0]) if targets else None


def _pointer(place: Place) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in place)
