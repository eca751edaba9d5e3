"""Import the revisions of another document store, and compare what both stores render."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import (
    Collection,
    Compile,
    Document,
    Identity,
    Key,
    Rendering,
    Revision,
    StoredDocument,
    canonical,
    render,
)
from shipyard_api.domain.findings import in_short
from shipyard_api.ports.documents import (
    DesignStore,
    NoSecretKey,
    RenderingFailed,
    RevisionRecord,
)
from shipyard_api.storage.designs import RevisionImport

_EMPTY = Revision(0)
_ALL = 2**31 - 1  # revisions
_SHOWN = 5  # names of documents in a text
_HASH = re.compile("[0-9a-f]{64}")


class ImportRefused(Exception):
    """The store holds something that the source does not; nothing was changed."""


class Outcome(Enum):
    """How the renderings of a revision compare."""

    EQUAL = "equal"
    DIFFERENT = "different"
    IN_NEITHER = "in neither"  # a valid state: collections are loaded one by one
    ONLY_THERE = "only in the source"
    ONLY_HERE = "only here"


class ComparedRevision(Struct, frozen=True):
    """A revision of the source, and how its renderings compare.

    ``different``: the documents that differ, in order. ``finding``: why it renders only in the source. ``left_out``:
    why it is not imported, and not compared; empty if it is.
    """

    record: RevisionRecord
    collections: Sequence[Collection]
    outcome: Outcome = Outcome.EQUAL
    rendered: int = 0
    different: Sequence[Key] = ()
    finding: str = ""
    left_out: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether the revision was imported and renders as in the source."""
        return not self.left_out and self.outcome in (Outcome.EQUAL, Outcome.IN_NEITHER)


class ImportRevisions(Struct, frozen=True):
    """The use case. ``source``: read only. ``target`` and ``importer``: the embedded store.

    Revisions keep their numbers: clients, tags and earlier actions name them. So the newest revision of the target says
    how far an import came, and a repeated one goes on from there. ``can_encrypt``: whether the target has a key.
    """

    source: DesignStore
    target: DesignStore
    importer: RevisionImport
    compile_schema: Compile
    can_encrypt: bool

    def begun(self) -> Revision:
        """Return the newest revision imported so far; 0 if there is none."""
        return self.target.heads().head

    def run(self, *, store: bool) -> Iterator[ComparedRevision]:
        """Import the revisions after the newest one of the target, and yield each one when it is stored.

        Tags set since an earlier import are imported, too. ``store``: False only compares, and changes nothing. Raises
        ImportRefused before anything is changed, NoSecretKey, Overtaken, and the errors of both stores; a repeated
        import goes on.
        """
        listed = self.source.revisions(after=_EMPTY, limit=_ALL)
        present = self.target.revisions(after=_EMPTY, limit=_ALL)
        self._check(listed, present)
        if store:
            self._copy_tags(listed, present)
        head = present[-1].revision if present else _EMPTY
        secrets: _Secrets = {}
        for index, record in enumerate(listed):
            if record.revision <= head:
                continue
            read = self._read(record, listed[index + 1 :], secrets)
            compared = self._compared(read)
            if store and not read.left_out:
                self.importer.add(record, read.documents, head=head)
                head = record.revision
            yield compared

    def _check(self, listed: Sequence[RevisionRecord], present: Sequence[RevisionRecord]) -> None:
        """Raise ImportRefused unless an earlier import from this source explains all revisions of the target."""
        known = {record.revision: record for record in listed}
        for record in present:
            theirs = known.get(record.revision)
            if theirs is None or theirs.created_at != record.created_at:
                raise ImportRefused(
                    f"the document store is not empty: its revision {record.revision} is not from {self.source.name}. "
                    "Nothing was changed. Import into an empty database"
                )
            if added := sorted(record.tags.keys() - theirs.tags.keys()):
                raise ImportRefused(
                    f"the document store is in use: its revision {record.revision} has the tag {added[0]}, which it "
                    f"does not have in {self.source.name}. Nothing was changed"
                )

    def _copy_tags(self, listed: Sequence[RevisionRecord], present: Sequence[RevisionRecord]) -> None:
        before = {record.revision: record.tags for record in present}
        for record in listed:
            for tag, data in record.tags.items():
                if record.revision in before and before[record.revision].get(tag) != data:
                    self.target.tag(record.revision, tag, data)

    def _read(self, record: RevisionRecord, later: Sequence[RevisionRecord], secrets: "_Secrets") -> "_Read":
        stored = self.source.documents(record.revision)
        rendering = self._rendering(record.revision)
        encrypted = [entry for entry in stored if entry.document.is_encrypted]
        if encrypted and not self.can_encrypt:
            raise NoSecretKey([entry.document for entry in encrypted])
        _learn(secrets, encrypted, rendering)
        self._look_ahead(secrets, encrypted, later)
        hidden = [entry.document for entry in encrypted if _reference(entry) not in secrets]
        documents = [
            replace(entry, document=replace(entry.document, data=secrets[_reference(entry)]))
            if entry.document.is_encrypted and _reference(entry) in secrets
            else entry
            for entry in stored
        ]
        return _Read(record, documents, rendering, self._why_left_out(stored, hidden))

    def _why_left_out(self, stored: Sequence[StoredDocument], hidden: Sequence[Document]) -> str:
        if hidden:
            return f"{self.source.name} does not show the secrets of {named([document.key for document in hidden])}"
        # Two clients that write to Deckhand at the same time may both get a document.
        counts = Counter(entry.document.identity for entry in stored)
        if twice := [entry.document.key for entry in stored if counts[entry.document.identity] > 1]:
            return f"several collections have {named(list(dict.fromkeys(twice)))}"
        return ""

    def _look_ahead(
        self, secrets: "_Secrets", encrypted: Sequence[StoredDocument], later: Sequence[RevisionRecord]
    ) -> None:
        """Learn the secrets of a revision that does not render from later ones that hold the same documents."""
        for record in later:
            missing = {_reference(entry) for entry in encrypted if entry.document.keeps_its_data} - secrets.keys()
            if not missing:
                return
            held = [entry for entry in self.source.documents(record.revision) if entry.document.is_encrypted]
            if not missing & {_reference(entry) for entry in held}:
                return
            _learn(secrets, held, self._rendering(record.revision))

    def _rendering(self, revision: Revision) -> Rendering | None:
        try:
            return self.source.rendered(revision)
        except RenderingFailed:
            return None

    def _compared(self, read: "_Read") -> ComparedRevision:
        collections = sorted({entry.collection for entry in read.documents})
        if read.left_out:
            return ComparedRevision(read.record, collections, left_out=read.left_out)
        ours, findings = render(read.documents, self.compile_schema)
        theirs = read.rendering
        if ours is None or theirs is None:
            outcome = Outcome.ONLY_HERE if ours else Outcome.ONLY_THERE if theirs else Outcome.IN_NEITHER
            finding = findings[0].message if theirs else ""
            return ComparedRevision(read.record, collections, outcome, finding=finding)
        here, there = _hashes(ours), _hashes(theirs)
        different = sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))
        outcome = Outcome.DIFFERENT if different else Outcome.EQUAL
        return ComparedRevision(read.record, collections, outcome, len(here), different)


_Secrets = dict[tuple[Identity, bytes], object]
"""Secrets by document and by the reference that the source shows instead."""


class _Read(Struct, frozen=True):
    record: RevisionRecord
    documents: Sequence[StoredDocument]
    rendering: Rendering | None
    left_out: str


def _reference(entry: StoredDocument) -> tuple[Identity, bytes]:
    return entry.document.identity, canonical(entry.document.data)


def _learn(secrets: _Secrets, encrypted: Sequence[StoredDocument], rendering: Rendering | None) -> None:
    """Take the secrets that a rendering shows as they were written.

    Deckhand keeps one rendering of a revision. If its first reader wanted no secrets, it shows everybody hashes, so a
    rendering without any other secret has none.
    """
    shown = {entry.document.identity: entry.document for entry in rendering.documents} if rendering else {}
    learnt = {
        _reference(entry): shown[entry.document.identity].data
        for entry in encrypted
        if entry.document.keeps_its_data and entry.document.identity in shown
    }
    if not all(isinstance(secret, str) and _HASH.fullmatch(secret) for secret in learnt.values()):
        secrets.update(learnt)


def named(keys: Sequence[Key]) -> str:
    """Return the names of the first documents, and the number of the others."""
    return in_short((f"{schema} '{name}'" for schema, name in keys), _SHOWN)


def _hashes(rendering: Rendering) -> Mapping[Key, str]:
    """Return the hash of each rendered document: of its place, metadata and data."""
    parts = {
        rendered.document.key: [rendered.collection, rendered.document.metadata, rendered.document.data]
        for rendered in rendering.documents
    }
    return {key: hashlib.sha256(canonical(part)).hexdigest() for key, part in parts.items()}
