"""Explain how a value of the rendered design came to be (product, section 9: explain)."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.documents import Query, Revision, StoredDocument, choose
from shipyard_api.domain.documents.explanation import ExplainedValue, Place, explain
from shipyard_api.domain.findings import in_short
from shipyard_api.usecases.configdocs.read import ReadConfigdocs

_SHOWN = 5
_KEYS = 20
_LONGEST_NAME = 100
_LONGEST = 10.0  # seconds; a real site takes a tenth of one


class Explanation(Struct, frozen=True):
    """The values, the explained one first. ``numbers``: which document of its collection each belongs to, from 1."""

    values: Sequence[ExplainedValue]
    numbers: Sequence[int]


class ExplainValue(Struct, frozen=True):
    """The use case; changes nothing, and returns no secret: values of secret documents are marked as such."""

    read: ReadConfigdocs

    def __call__(self, revision: Revision, query: Query, place: Place) -> Explanation:
        """Return the explanation of a value in the one document that the query chooses.

        ``place``: below the data. Raises RevisionNotFound, NotRendered, and LookupError with a sentence. A Deckhand
        renders designs itself; its documents are replayed by our rules, which leave out two of its faults.
        """
        design = self.read.design(revision)
        chosen = choose(design.documents, query)
        if len(chosen) != 1:
            names = ", ".join(f"{rendered.document.schema} '{rendered.document.name}'" for rendered in chosen[:_SHOWN])
            raise LookupError(f"several documents fit; name one: {names}" if chosen else _nothing(revision, query))
        key = chosen[0].document.key
        stored = self.read.designs.documents(revision)
        try:
            deadline = time.monotonic() + _LONGEST
            values = explain(stored, key, place, lambda: time.monotonic() > deadline)
        except KeyError:
            there = "" if chosen[0].secret else _nearest(chosen[0].document.data, place)
            raise LookupError(f"{key[0]} '{key[1]}' has nothing at {_pointer(place)}{there}") from None
        numbers = _numbers(stored)
        return Explanation(values, [numbers[value.stored.document.identity] for value in values])


def _nothing(revision: Revision, query: Query) -> str:
    filters = (("name", query.names), ("schema", query.schemas))
    wanted = [f"the {what} {', '.join(name[:_LONGEST_NAME] for name in names)}" for what, names in filters if names]
    return f"revision {revision} has no document with {' and '.join(wanted) or 'these labels'}"


def _nearest(data: object, place: Place) -> str:
    """Return the keys at the deepest part of the path that exists: ``; /data/x has a, b``."""
    known = 0
    for token in place:
        if not isinstance(data, Mapping) or token not in data:
            break
        data, known = data[token], known + 1
    keys = sorted(map(str, data)) if isinstance(data, Mapping) else []
    return f"; {_pointer(place[:known])} has {in_short(keys, _KEYS, more=', …')}" if keys else ""


def _pointer(place: Place) -> str:
    return "/".join(("/data", *place))


def _numbers(stored: Sequence[StoredDocument]) -> dict[tuple[str, str, str], int]:
    counted: Counter[str] = Counter()
    numbers = {}
    for document in stored:
        counted[document.collection] += 1
        numbers[document.document.identity] = counted[document.collection]
    return numbers
