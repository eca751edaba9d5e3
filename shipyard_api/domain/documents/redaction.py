"""Redact secret documents: a reader sees that one exists and whether it changed (contract: deckhand B9, "ours")."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.documents.document import Document, canonical
from shipyard_api.domain.exact_secrets import HIDDEN, without_secrets
from shipyard_api.domain.findings import Finding

# Shorter texts are common words; removing them would hide the message rather than the secret.
_SHORTEST = 5

Fingerprint = Callable[[bytes], str]


def redacted(document: Document, fingerprint: Fingerprint) -> Document:
    """Return the document with a fingerprint as data, and without paths that reveal the shape of the data."""
    metadata = {**document.metadata, "storagePolicy": "encrypted"}
    listed = document.metadata.get("substitutions")
    if isinstance(listed, list):
        metadata["substitutions"] = [_without_paths(entry) for entry in listed]
    return replace(document, metadata=metadata, data=fingerprint(canonical(document.data)))


def scrubber(secrets: Iterable[Any]) -> Callable[[str], str]:
    """Return a function that replaces every text of the secret values in a peer's text."""
    return partial(without_secrets, secrets=secret_texts(secrets))


def secret_texts(secrets: Iterable[Any]) -> frozenset[str]:
    """Return every text of the secret values that is long enough to be hidden, and its lines."""
    return frozenset(text for value in secrets for text in _texts(value))


def scrubbed(findings: Sequence[Finding], secrets: Iterable[Any]) -> tuple[Finding, ...]:
    """Return a peer's findings without any text of the secret values."""
    if not findings:
        return ()
    clean = scrubber(secrets)
    return tuple(
        replace(finding, message=clean(finding.message), diagnostic=clean(finding.diagnostic), path=clean(finding.path))
        for finding in findings
    )


def _texts(value: Any) -> set[str]:
    texts: set[str] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            # A peer may quote a long text line by line.
            texts.update(text for text in (part, *part.splitlines()) if len(text.strip()) >= _SHORTEST)
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return texts


def _without_paths(substitution: Any) -> Any:
    """Return a substitution that shows its source document and hides its paths."""
    if not isinstance(substitution, Mapping):
        return substitution
    source, destination = substitution.get("src"), substitution.get("dest")
    hidden = dict(substitution)
    if isinstance(source, Mapping):
        hidden["src"] = {**source, "path": HIDDEN}
    if isinstance(destination, list):
        hidden["dest"] = [_hidden_path(target) for target in destination]
    else:
        hidden["dest"] = _hidden_path(destination)
    return hidden


def _hidden_path(destination: Any) -> Any:
    return {**destination, "path": HIDDEN} if isinstance(destination, Mapping) else destination
