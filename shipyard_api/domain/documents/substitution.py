"""Substitute values from other documents (contract: deckhand B7). No finding quotes a substituted value."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from shipyard_api.domain.documents.document import Document
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.paths import MISSING, PathError, parse_path, read
from shipyard_api.domain.documents.patterns import PatternError, replace_all, search
from shipyard_api.domain.findings import Finding, error


class Source(Struct, frozen=True):
    """The source of one substitution."""

    schema: str
    name: str
    path: str
    pattern: str | None
    group: int

    @classmethod
    def of(cls, substitution: Mapping[str, Any]) -> "Source":
        """Return the source of a valid entry of ``substitutions``."""
        src = substitution["src"]
        return cls(src["schema"], src["name"], src["path"], src.get("pattern"), src.get("match_group", 0))


def substitutions_of(document: Document) -> Sequence[Mapping[str, Any]]:
    """Return the substitutions of a document, in order."""
    listed = document.metadata.get("substitutions")
    return listed if isinstance(listed, list) and not document.is_control else ()


def substitute(
    draft: Draft,
    document: Document,
    sources: Sequence[Document | None],
    data: Sequence[Any],
    out_of_time: Callable[[], bool],
) -> list[Finding]:
    """Apply the substitutions to the draft, in order, and return findings.

    ``sources`` and ``data``: for each substitution its source document and that document's rendered data; a
    substitution without a source is skipped. ``out_of_time``: stop early once it returns true.
    """
    findings: list[Finding] = []
    for index, substitution in enumerate(substitutions_of(document)):
        source_document = sources[index]
        if source_document is None:
            continue
        if out_of_time():
            break
        source = Source.of(substitution)
        finding = _FindingFactory(document, source_document, index)
        value = _value(source, data[index])
        if value is MISSING or value is None:
            message = f"There is nothing at '{source.path}' in {source.schema} '{source.name}'."
            findings.append(finding("SubstitutionSourceDataNotFound", message))
            continue
        try:
            value = _matched(source, value)
            destinations = substitution["dest"]
            for destination in destinations if isinstance(destinations, list) else [destinations]:
                path = destination["path"]
                try:
                    _put(draft, destination, value)
                except (PathError, PatternError) as failed:
                    message = (
                        f"What was taken from '{source.path}' of {source.schema} '{source.name}' cannot be put at "
                        f"'{path}': {failed}."
                    )
                    findings.append(finding("UnknownSubstitutionError", message))
        except PatternError as failed:
            message = f"The pattern cannot be used on '{source.path}' of {source.schema} '{source.name}': {failed}."
            findings.append(finding("UnknownSubstitutionError", message))
    return findings


class _FindingFactory(Struct, frozen=True):
    """Makes findings about one substitution."""

    document: Document
    source: Document
    index: int

    def __call__(self, name: str, message: str) -> Finding:
        path = f"/metadata/substitutions/{self.index}"
        finding = error(name, message, path=path, diagnostic=f"at {path} of the document")
        return finding.about(self.document.at(path)).about(self.source.place)


def _value(source: Source, data: Any) -> Any:
    """Return the value at the path; data that is not a mapping is substituted as a whole, whatever the path."""
    return read(parse_path(source.path), data) if isinstance(data, dict) else data


def _matched(source: Source, value: Any) -> Any:
    if source.pattern is None:
        return value
    if not isinstance(value, str):
        raise PatternError("it is no text")
    match = search(source.pattern, source.group, value)
    return value if match is None else match


def _put(draft: Draft, destination: Mapping[str, Any], value: Any) -> None:
    path = parse_path(destination["path"])
    pattern = destination.get("pattern")
    if pattern is not None:
        recurse = destination.get("recurse")
        depth = recurse["depth"] if isinstance(recurse, Mapping) else None
        change: Callable[[str], str] = partial(replace_all, pattern, _text(value))
        draft.change_texts(path, change, depth=depth, contains=pattern)
    elif path.steps:
        draft.put(path, value)
    else:
        draft.overlay(value)


def _text(value: Any) -> str:
    """Return a value as text for insertion into a text; booleans in Python's spelling, for compatibility (B7)."""
    if isinstance(value, dict | list):
        raise PatternError("a mapping or a list cannot be written into a text")
    return str(value)
