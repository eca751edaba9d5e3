"""Where the documents of a site are kept: collections of them in numbered revisions, with tags (contract: deckhand).

One suite, ``tests/contract/test_design_store_port.py``, holds every store to what is promised here.
"""

import collections.abc
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

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

Json = Mapping[str, Any]


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
    """There can be one layering policy, and another collection or the same load has it already."""

    def __init__(self, document: Document, existing: str) -> None:
        super().__init__(f"the layering policy '{document.name}' is one too many: '{existing}' is there")
        self.document = document
        self.existing = existing


class NoSecretKey(Exception):
    """Documents are to be kept encrypted, and no key is configured to encrypt them with."""

    def __init__(self, documents: Sequence[Document]) -> None:
        super().__init__("no key is configured to encrypt documents with")
        self.documents = tuple(documents)


class SecretsLocked(Exception):
    """The store holds secrets that none of the configured keys opens, or that were tampered with."""


class UnreadableDesign(Exception):
    """The nodes of a revision cannot be read from its design; the text says why."""


class RenderingFailed(Exception):
    """The documents of a revision do not make a design; ``findings`` says why, without quoting secrets."""

    def __init__(self, revision: int, findings: Sequence[Finding]) -> None:
        super().__init__(f"revision {revision} cannot be rendered ({len(findings)} findings)")
        self.revision = revision
        self.findings = tuple(findings)


class Overtaken(Exception):
    """Somebody else made a revision in the meantime; nothing was stored."""


class LockHeld(Exception):
    """Another request is changing the configdocs at this moment."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The newest revision (0 if there is none), and the newest that carries each tag that means something to us."""

    head: Revision
    newest: Mapping[RevisionTag, Revision]

    def with_any(self, *tags: RevisionTag) -> Revision | None:
        """Return the newest revision that carries one of the tags."""
        return max((self.newest[tag] for tag in tags if tag in self.newest), default=None)


@dataclass(frozen=True, slots=True)
class RevisionRecord:
    """A revision without its documents; ``tags`` maps a tag's name to its data."""

    revision: Revision
    created_at: datetime
    tags: Mapping[str, Json]


class DesignStore(Protocol):
    """Configdocs. Whatever changes something does so as a whole or not at all, unless it says otherwise.

    Every method may raise ``ports.errors`` (a store that is a peer) or ``StoreUnavailable`` (one that is a database),
    and SecretsLocked where it would have to show a secret. What a revision holds never changes, and may be cached for
    ever; its tags may change.
    """

    @property
    def name(self) -> str:
        """The store in words for operators."""

    def heads(self) -> Heads:
        """Return where the versions are."""

    def put(
        self, collection: Collection, documents: Sequence[Document], *, base: Revision, head: Revision
    ) -> Revision | None:
        """Make a revision that is ``base`` with this collection replaced; None if nothing would differ from ``base``.

        No documents: the collection is gone from the new revision. ``head`` is the newest revision that the caller
        has seen. Raises Overtaken if there is a newer one, UnknownRevision for ``base``, DocumentElsewhere,
        SecondLayeringPolicy, NoSecretKey; then nothing is stored. A store that is a peer may raise Refused with the
        code 400 for documents that it does not take. One writer at a time is the caller's to see to
        (``WriterLock``); a store that is a peer cannot notice being overtaken in the last moment.
        """

    def revisions(
        self, *, tags: collections.abc.Collection[str] = (), after: Revision, limit: int
    ) -> Sequence[RevisionRecord]:
        """Return up to ``limit`` revisions after the given one, in order; with ``tags``, those that carry one."""

    def revision(self, revision: Revision) -> RevisionRecord:
        """Return one revision; raises UnknownRevision, also for 0."""

    def documents(self, revision: Revision, collection: Collection | None = None) -> tuple[StoredDocument, ...]:
        """Return the documents as they were written, in the order of their collections' names and then as loaded.

        Revision 0 holds none. Raises UnknownRevision. The data of an encrypted document may be a mere reference to a
        secret that is kept elsewhere.
        """

    def rendered(self, revision: Revision) -> Rendering:
        """Return the design that the documents make, secrets in clear (contract: deckhand, B10).

        Raises UnknownRevision, also for 0, and RenderingFailed with every finding.
        """

    def differences(self, base: Revision, new: Revision) -> Mapping[Collection, Change]:
        """Return how each collection in either revision stands in ``new`` compared with ``base``, by name.

        Revision 0 is the empty state. ``new`` may be the older of the two. Raises UnknownRevision.
        """

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return what was reported to the store about a revision (contract: deckhand, A12). Raises UnknownRevision."""

    def rollback(self, revision: Revision) -> Revision:
        """Make a new revision with exactly the documents of the given one, which may be 0; raises UnknownRevision.

        Tags are not carried over. Repeating it makes one revision more.
        """

    def tag(self, revision: Revision, tag: str, data: Json) -> None:
        """Set a tag; setting it again updates its data, so it may be repeated. Raises UnknownRevision."""

    def untag(self, revision: Revision, tag: str) -> None:
        """Take a tag away; a tag that is not there is no error. Raises UnknownRevision."""

    def fingerprint(self, text: bytes) -> str:
        """Return what is shown instead of a secret: the same for the same text, and of no use to guess it by.

        Lower-case hex of 32 bytes: HMAC-SHA256 where a key is configured, else a plain SHA-256 (B9).
        """


class WriterLock(Protocol):
    """Keeps all but one writer out of the configdocs, on all hosts."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock for the length of the block; raises LockHeld at once if another has it.

        It is free again as soon as its holder has let go or died, and not before: hold it only to read what there is
        and to change it, not while somebody is asked about it.
        """
