"""Taking values from other documents (contract: deckhand B7). No finding quotes what was taken."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from shipyard_api.domain.documents.document import Document
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.paths import MISSING, PathError, parse_path, read
from shipyard_api.domain.documents.patterns import PatternError, replace_all, search
from shipyard_api.domain.findings import Finding, error


@dataclass(frozen=True, slots=True)
class Source:
    """Where one substitution takes its value from."""

    schema: str
    name: str
    path: str
    pattern: str | None
    group: int

    @classmethod
    def of(cls, substitution: Mapping[str, Any]) -> "Source":
        """Return the source of an entry of ``substitutions``, which has the right shape."""
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
    """Put what each substitution takes into the draft, in order, and return what went wrong.

    ``sources`` and ``data``: for each substitution the document it takes from and that document's rendered data; a
    substitution without a source is passed over. ``out_of_time`` ends it before the last one.
    """
    findings: list[Finding] = []
    for index, substitution in enumerate(substitutions_of(document)):
        taken_from = sources[index]
        if taken_from is None:
            continue
        if out_of_time():
            break
        source = Source.of(substitution)
        wrong = _Wrong(document, taken_from, index)
        value = _value(source, data[index])
        if value is MISSING or value is None:
            told = f"There is nothing at '{source.path}' in {source.schema} '{source.name}'."
            findings.append(wrong("SubstitutionSourceDataNotFound", told))
            continue
        try:
            value = _matched(source, value)
            destinations = substitution["dest"]
            for destination in destinations if isinstance(destinations, list) else [destinations]:
                path = destination["path"]
                try:
                    _put(draft, destination, value)
                except (PathError, PatternError) as failed:
                    told = (
                        f"What was taken from '{source.path}' of {source.schema} '{source.name}' cannot be put at "
                        f"'{path}': {failed}."
                    )
                    findings.append(wrong("UnknownSubstitutionError", told))
        except PatternError as failed:
            told = f"The pattern cannot be used on '{source.path}' of {source.schema} '{source.name}': {failed}."
            findings.append(wrong("UnknownSubstitutionError", told))
    return findings


@dataclass(frozen=True, slots=True)
class _Wrong:
    document: Document
    source: Document
    index: int

    def __call__(self, name: str, message: str) -> Finding:
        diagnostic = f"at /metadata/substitutions/{self.index} of the document"
        return error(name, message, diagnostic=diagnostic).about(self.document.place).about(self.source.place)


def _value(source: Source, data: Any) -> Any:
    """Return what the path leads to; data that is no mapping is taken as a whole, whatever the path says."""
    return read(parse_path(source.path), data) if isinstance(data, dict) else data


def _matched(source: Source, value: Any) -> Any:
    if source.pattern is None:
        return value
    if not isinstance(value, str):
        raise PatternError("it is no text")
    found = search(source.pattern, source.group, value)
    return value if found is None else found


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
        draft.lay_over(value)


def _text(value: Any) -> str:
    """Return a value as it is written into a text; booleans as Python writes them, for compatibility (B7)."""
    if isinstance(value, dict | list):
        raise PatternError("a mapping or a list cannot be written into a text")
    return str(value)
