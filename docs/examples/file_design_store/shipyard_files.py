"""A document store in a directory: a JSON file for each revision, and one for its tags.

Secrets are in the files in clear, and only their owner may read them: a store that others read must encrypt them.
"""

import hmac
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import to_builtins
from msgspec.structs import replace

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain import documents as domain
from shipyard_api.domain.documents import Change, Document, Identity, Rendering, Revision, RevisionTag, StoredDocument
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.design_store_plugin import DesignStorePlugin
from shipyard_api.ports.documents import (
    DesignStore,
    DocumentElsewhere,
    Heads,
    Overtaken,
    RenderingFailed,
    RevisionRecord,
    SecondLayeringPolicy,
    UnknownRevision,
)
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner_plugin import PeerTokens
from shipyard_api.settings.types import SettingsError


@dataclass(frozen=True, slots=True)
class FileOptions:
    """A directory that keeps the documents.

    ``url``: the directory as an address: file:///srv/designs.
    """

    url: str = ""


class FileDesigns:
    """Fills ``ports.documents.DesignStore``."""

    name = "the directory of designs"

    def __init__(self, directory: Path, fingerprint_key: bytes) -> None:
        self._directory = directory
        self._fingerprint_key = fingerprint_key

    def heads(self) -> Heads:
        tags = {number: self._tags(number) for number in self._numbers()}
        newest = {tag: max((n for n, found in tags.items() if tag.value in found), default=None) for tag in RevisionTag}
        return Heads(max(tags, default=Revision(0)), {tag: number for tag, number in newest.items() if number})

    def put(
        self, collection: domain.Collection, documents: Sequence[Document], *, base: Revision, head: Revision
    ) -> Revision | None:
        newest = max(self._numbers(), default=Revision(0))
        if newest != head:
            raise Overtaken(f"revision {newest} was made after revision {head}")
        before = self.documents(base)
        others = [stored for stored in before if stored.collection != collection]
        _check_owners(documents, others)
        loaded = [StoredDocument(document, collection, Revision(newest + 1)) for document in documents]
        if _contents(loaded) == _contents(stored for stored in before if stored.collection == collection):
            return None
        return self._add([*others, *_aged(loaded, before)])

    def revisions(self, *, tags: Collection[str] = (), after: Revision, limit: int) -> Sequence[RevisionRecord]:
        found = (self.revision(number) for number in self._numbers() if number > after)
        return [record for record in found if not tags or set(tags) & record.tags.keys()][: max(limit, 0)]

    def revision(self, revision: Revision) -> RevisionRecord:
        return RevisionRecord(revision, datetime.fromisoformat(self._read(revision)["created"]), self._tags(revision))

    def documents(self, revision: Revision, collection: domain.Collection | None = None) -> tuple[StoredDocument, ...]:
        entries = self._read(revision)["documents"] if revision else []
        found = [
            StoredDocument(Document(**entry["document"]), entry["collection"], entry["since"]) for entry in entries
        ]
        return tuple(stored for stored in found if collection in (None, stored.collection))

    def rendered(self, revision: Revision) -> Rendering:
        self._read(revision)
        rendering, findings = domain.render(self.documents(revision), DataSchemas(), lambda: False)
        if rendering is None:
            raise RenderingFailed(revision, findings)
        return rendering

    def differences(self, base: Revision, new: Revision) -> Mapping[domain.Collection, Change]:
        before, after = _by_collection(self.documents(base)), _by_collection(self.documents(new))
        return {name: _change(before.get(name), after.get(name)) for name in sorted({*before, *after})}

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        self._read(revision)
        return ()

    def rollback(self, revision: Revision) -> Revision:
        newest = max(self._numbers(), default=Revision(0))
        back = [
            StoredDocument(stored.document, stored.collection, Revision(newest + 1))
            for stored in self.documents(revision)
        ]
        return self._add(_aged(back, self.documents(newest)))

    def tag(self, revision: Revision, tag: str, data: JsonObject) -> None:
        self._read(revision)
        self._write(f"{revision}.tags", {**self._tags(revision), tag: data})

    def fingerprint(self, text: bytes) -> str:
        return hmac.digest(self._fingerprint_key, text, "sha256").hex()

    def _numbers(self) -> list[Revision]:
        try:
            return sorted(Revision(int(file.stem)) for file in self._directory.iterdir() if file.suffix == ".revision")
        except OSError as error:
            raise Unavailable(self.name, "list revisions", str(error)) from error

    def _read(self, revision: Revision) -> Any:
        """Return the contents of a revision; raises UnknownRevision, also for 0."""
        if revision not in self._numbers():
            raise UnknownRevision(revision)
        return json.loads((self._directory / f"{revision}.revision").read_text())

    def _tags(self, revision: Revision) -> dict[str, JsonObject]:
        file = self._directory / f"{revision}.tags"
        return json.loads(file.read_text()) if file.exists() else {}

    def _add(self, documents: Iterable[StoredDocument]) -> Revision:
        revision = Revision(max(self._numbers(), default=0) + 1)
        entries = [to_builtins(stored) for stored in sorted(documents, key=lambda stored: stored.collection)]
        self._write(f"{revision}.revision", {"created": datetime.now(UTC).isoformat(), "documents": entries})
        return revision

    def _write(self, name: str, content: object) -> None:
        try:
            # Readable by its owner alone, and renamed when complete: no reader sees half of it.
            with tempfile.NamedTemporaryFile("w", dir=self._directory, delete=False) as file:
                json.dump(content, file)
            Path(file.name).rename(self._directory / name)
        except OSError as error:
            raise Unavailable(self.name, f"write {name}", str(error)) from error


def _contents(documents: Iterable[StoredDocument]) -> dict[Identity, bytes]:
    """Return what decides whether documents are the same, to the type of each value."""
    found = (stored.document for stored in documents)
    return {document.identity: domain.canonical([dict(document.metadata), document.data]) for document in found}


def _aged(documents: Sequence[StoredDocument], before: Sequence[StoredDocument]) -> list[StoredDocument]:
    """Return the documents; one that is unchanged keeps the revision in which it last changed."""
    same = _contents(before).items() & _contents(documents).items()
    since = {stored.document.identity: stored.since for stored in before}
    return [
        replace(stored, since=since[identity]) if (identity, content) in same else stored
        for stored, (identity, content) in zip(documents, _contents(documents).items(), strict=True)
    ]


def _by_collection(documents: Iterable[StoredDocument]) -> dict[domain.Collection, dict[Identity, bytes]]:
    found: defaultdict[domain.Collection, list[StoredDocument]] = defaultdict(list)
    for stored in documents:
        found[stored.collection].append(stored)
    return {name: _contents(held) for name, held in found.items()}


def _change(before: Mapping[Identity, bytes] | None, after: Mapping[Identity, bytes] | None) -> Change:
    if before is None:
        return Change.CREATED
    if after is None:
        return Change.DELETED
    return Change.UNMODIFIED if before == after else Change.MODIFIED


def _check_owners(documents: Sequence[Document], others: Iterable[StoredDocument]) -> None:
    owners = {stored.document.identity: stored.collection for stored in others}
    policies = [name for schema, _, name in owners if schema == domain.LAYERING_POLICY]
    for document in documents:
        if document.identity in owners:
            raise DocumentElsewhere(document, owners[document.identity])
        if document.schema == domain.LAYERING_POLICY:
            if policies:
                raise SecondLayeringPolicy(document, policies[0])
            policies.append(document.name)


def _build(options: FileOptions, _tokens: Callable[[Any], PeerTokens], fingerprint_key: bytes) -> DesignStore:
    address = urlsplit(options.url)
    if address.scheme != "file" or address.netloc:
        raise SettingsError(["[files] url: write it as file:///DIRECTORY"])
    return FileDesigns(Path(address.path), fingerprint_key)


FILES = DesignStorePlugin(options=FileOptions, system="Files", build=_build)
