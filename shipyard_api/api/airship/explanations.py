"""How a value of a rendered design came to be, as JSON: ``explain`` of the addresses of rendered designs."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import falcon

from shipyard_api.api.airship.errors import NothingToExplain
from shipyard_api.api.http.reading import single
from shipyard_api.domain.documents import Document, Identity, Query, Revision, canonical, redacted
from shipyard_api.domain.documents.explanation import ExplainedValue, Place, tokens_of
from shipyard_api.domain.documents.paths import MISSING
from shipyard_api.usecases.configdocs.explain import ExplainValue
from shipyard_api.yaml_stream.lines import lines_of

_LARGEST = 2_000  # bytes of JSON; of larger values only the explained one is shown
_LONGEST = 1_024  # characters of a pointer


def wanted_place(req: falcon.Request) -> Place | None:
    """Return the place to explain, None if the design is asked for."""
    pointer = single(req, "explain")
    if not pointer:
        return None
    first = pointer.removeprefix("/").split("/")[0]
    if not pointer.startswith("/") or first != "data" or len(pointer) > _LONGEST:
        text = f"It is a JSON pointer into the data of at most {_LONGEST} characters, such as /data/hardware_profile."
        raise falcon.HTTPInvalidParam(text, "explain")
    return tokens_of(pointer)[1:]


def explained(explain: ExplainValue, revision: Revision, query: Query, place: Place) -> dict[str, Any]:
    """Return an explanation for the wire; raises NothingToExplain, and what the use case raises."""
    try:
        explanation = explain(revision, query, place)
    except LookupError as nothing:
        raise NothingToExplain(str(nothing)) from nothing
    lines = _lines(explanation.values)
    return {
        "values": [
            _value(value, number, lines[value.stored.document.identity], whole=position == 0)
            for position, (value, number) in enumerate(zip(explanation.values, explanation.numbers, strict=True))
        ]
    }


def _lines(values: Sequence[ExplainedValue]) -> Mapping[Identity, Mapping[str, int]]:
    """Return the lines of all pointers; each document is written once."""
    documents: dict[Identity, Document] = {}
    pointers: defaultdict[Identity, set[str]] = defaultdict(set)
    for value in values:
        document = value.stored.document
        documents[document.identity] = document
        pointers[document.identity] |= {_path(value), *(step.pointer for step in value.steps)}
    return {identity: lines_in(entry, pointers[identity]) for identity, entry in documents.items()}


def lines_in(document: Document, pointers: Collection[str]) -> Mapping[str, int]:
    """Return the lines of places of a document, as it is shown when its collection is asked for."""
    shown = redacted(document, lambda _: "") if document.is_encrypted else document
    return lines_of({"schema": shown.schema, "metadata": shown.metadata, "data": shown.data}, pointers)


def _path(explained: ExplainedValue) -> str:
    return "".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in ("data", *explained.place))


def _value(explained: ExplainedValue, number: int, lines: Mapping[str, int], *, whole: bool) -> dict[str, Any]:
    stored, document, path = explained.stored, explained.stored.document, _path(explained)
    return {
        "schema": document.schema,
        "name": document.name,
        "layer": document.layer,
        "collection": stored.collection,
        "number": number,
        "revision": stored.since,
        "path": path,
        "line": lines[path],
        "secret": explained.secret,
        **_shown(explained.value, explained, whole=whole),
        "steps": [
            {
                "kind": step.kind.value,
                "path": step.pointer,
                "line": lines[step.pointer],
                "detail": "" if explained.secret else step.detail,
                "from": step.source,
                **_shown(step.value, explained, whole=False),
            }
            for step in explained.steps
        ],
    }


def _shown(value: Any, explained: ExplainedValue, *, whole: bool) -> dict[str, Any]:
    if explained.secret or value is MISSING or not (whole or len(canonical(value)) <= _LARGEST):
        return {}
    return {"value": value}
