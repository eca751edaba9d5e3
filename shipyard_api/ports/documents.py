"""The store of a site's documents: collections in numbered revisions, with tags (contract: deckhand).

``tests/contract/test_design_store_port.py`` tests every store against this port.
"""

import collections.abc
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from shipyard_api.domain.documents import (
    Change,
    Collection,
    Document,
    Rendering,
    Revision,
    RevisionTag,
    StoredDocument,
)
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject


class UnknownRevision(LookupError):
    """There is no such revision."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"there is no revision {revision}")
        self.revision = revision


class DocumentElsewhere(Exception):
    """A document already belongs to another collection (contract: deckhand, A4 and C1 'conflict')."""

    def __init__(self, document: Document, collection: Collection) -> None:
        super().__init__(f"{document.schema} '{document.name}' belongs to collection '{collection}'")
        self.document = document
        self.collection = collection


class SecondLayeringPolicy(Exception):
    """A design has one layering policy, and another collection or the same load already holds it."""

    def __init__(self, document: Document, existing: str) -> None:
        super().__init__(f"the layering policy '{document.name}' is one too many: '{existing}' is there")
        self.document = document
        self.existing = existing


class NoSecretKey(Exception):
    """Documents must be encrypted, and no key is configured."""

    def __init__(self, documents: Sequence[Document]) -> None:
        super().__init__("no key is configured to encrypt documents with")
        self.documents = tuple(documents)


class SecretsLocked(Exception):
    """The store holds secrets that no configured key decrypts, or that were tampered with."""


class UnreadableDesign(Exception):
    """The nodes of a revision cannot be read from its design; the text says why."""


class RenderingFailed(Exception):
    """The documents of a revision do not make a design; ``findings`` says why, without quoting secrets."""

    def __init__(self, revision: int, findings: Sequence[Finding]) -> None:
        super().__init__(f"revision {revision} cannot be rendered ({len(findings)} findings)")
        self.revision = revision
        self.findings = tuple(findings)


class Overtaken(Exception):
    """Another writer made a revision in the meantime; nothing was stored."""


class LockHeld(Exception):
    """Another request is changing the configdocs now."""


COMMITS = (RevisionTag.COMMITTED, RevisionTag.ROLLBACK_COMMIT)
SITE_ACTIONS = (RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE)


class Heads(Struct, frozen=True):
    """The newest revision (0 if there is none), and the newest with each tag that Shipyard uses."""

    head: Revision
    newest: Mapping[RevisionTag, Revision]

    def with_any(self, *tags: RevisionTag) -> Revision | None:
        """Return the newest revision that carries one of the tags."""
        return max((self.newest[tag] for tag in tags if tag in self.newest), default=None)


class RevisionRecord(Struct, frozen=True):
    """A revision without its documents; ``tags`` maps a tag's name to its data."""

    revision: Revision
    created_at: datetime
    tags: Mapping[str, JsonObject]


class DesignStore(Protocol):
    """Configdocs. Every change happens as a whole or not at all, unless stated otherwise.

    Every method may raise ``ports.errors`` (a store that is a peer) or ``StoreUnavailable`` (a database), and
    SecretsLocked where it would return a secret. The documents of a revision never change and may be cached for ever;
    its tags may change.
    """

    @property
    def name(self) -> str:
        """The name of the store for operators; never empty."""

    def heads(self) -> Heads:
        """Return the newest revision, and the newest with each tag."""

    def put(
        self, collection: Collection, documents: Sequence[Document], *, base: Revision, head: Revision
    ) -> Revision | None:
        """Make a revision that is ``base`` with this collection replaced; None if nothing would differ from ``base``.

        No documents: the new revision lacks the collection. Documents are the same if schema, name and layer are: those
        that did not change keep the revision in which they last did, and one that was away changed with its return.
        Other collections stay as they are in ``base``, which also decides to which collection a document belongs.
        ``head`` is the newest revision that the caller has seen.
        Raises Overtaken if there is a newer one, UnknownRevision for ``base``, DocumentElsewhere,
        SecondLayeringPolicy, NoSecretKey; then nothing is stored. A store that is a peer may raise Refused with the
        code 400 for documents that it does not take. The caller ensures that there is one
        writer at a time (``WriterLock``); a store that is a peer may miss an overtaking at the last moment.
        """

    def revisions(
        self, *, tags: collections.abc.Collection[str] = (), after: Revision, limit: int
    ) -> Sequence[RevisionRecord]:
        """Return up to ``limit`` revisions after the given one, in order; with ``tags``, those that carry any of them.

        Each has all its tags.
        """

    def revision(self, revision: Revision) -> RevisionRecord:
        """Return one revision; raises UnknownRevision, also for 0."""

    def documents(self, revision: Revision, collection: Collection | None = None) -> tuple[StoredDocument, ...]:
        """Return the documents as they were written, in the order of their collections' names and then as loaded.

        Their data is what was loaded, to the type of each value, and their metadata has its defaults. A store that is a
        peer may list documents in the order in which it first had them. An unknown collection has none. Revision 0
        holds none. Raises UnknownRevision. The data of an encrypted document may be a reference to a
        secret stored elsewhere.
        """

    def rendered(self, revision: Revision) -> Rendering:
        """Return the design rendered from the documents, secrets in clear (contract: deckhand, B10).

        Raises UnknownRevision, also for 0, and RenderingFailed with every finding, none of which quotes a secret. A
        revision is held to its own data schemas. One without a layering policy is no design.
        """

    def differences(self, base: Revision, new: Revision) -> Mapping[Collection, Change]:
        """Return the change of each collection from ``base`` to ``new``, by name.

        Revision 0 is the empty state. ``new`` may be the older of the two. Raises UnknownRevision.
        """

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return the findings reported to the store on a revision, none on a new one (contract: deckhand, A12).

        Raises UnknownRevision.
        """

    def rollback(self, revision: Revision) -> Revision:
        """Make a new revision with exactly the documents of the given one, which may be 0; raises UnknownRevision.

        Secrets come back, tags do not. Each call makes another revision, also for the newest one.
        """

    def tag(self, revision: Revision, tag: str, data: JsonObject) -> None:
        """Set a tag; a repeated call updates the data. Raises UnknownRevision."""

    def fingerprint(self, text: bytes) -> str:
        """Return the substitute shown for a secret: the same for the same text, and useless for guessing it.

        Lower-case hex of 32 bytes: HMAC-SHA256 if a key is configured, else plain SHA-256 (B9).
        """


class WriterLock(Protocol):
    """Admits one writer of configdocs at a time, over all hosts."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock during the block; raises LockHeld at once if another writer has it.

        It is released only when its holder releases it or dies: hold it to read and change the configdocs, never
        during a request to a peer.
        """


class BrokenTree(Exception):
    """What the place holds cannot be a design, now and later; the text says why."""


class DesignSource(Protocol):
    """A place with one tree of files at a time, named by its commit. Both methods may raise ``ports.errors``."""

    def head(self) -> str:
        """Return the commit that the tree has now, cheaply."""

    def tree(self, commit: str) -> Mapping[str, bytes]:
        """Return the YAML files of a commit by their paths, in order. Raises BrokenTree.

        A commit that is no longer the head raises Unavailable.
        """
