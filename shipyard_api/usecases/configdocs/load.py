"""Load a collection of documents into the buffer (contract: shipyard-rest, 5.2)."""

from collections.abc import Sequence

from msgspec import Struct, field

from shipyard_api.domain.documents import (
    COLLECTION_LIMIT,
    BufferMode,
    Change,
    Collection,
    Compile,
    Document,
    Revision,
    parse_documents,
)
from shipyard_api.domain.errors import (
    Blocked,
    BufferOccupied,
    DeploymentVersionMissing,
    DocumentInOtherCollection,
    DocumentsRefused,
    InvalidCollectionName,
    InvalidDocuments,
    LayeringPolicyExists,
    NoEncryptionKey,
    NothingLoaded,
)
from shipyard_api.domain.findings import Finding, Level, error, errors
from shipyard_api.domain.version_rule import VersionRule
from shipyard_api.ports.documents import (
    DesignStore,
    DocumentElsewhere,
    LockHeld,
    NoSecretKey,
    Overtaken,
    SecondLayeringPolicy,
    WriterLock,
)
from shipyard_api.ports.errors import Refused
from shipyard_api.usecases.configdocs.versions import Versions, read_versions


class Loaded(Struct, frozen=True):
    """The new revision of the buffer, with findings that did not prevent it."""

    revision: Revision
    findings: tuple[Finding, ...]


class LoadConfigdocs(Struct, frozen=True):
    """The use case. ``version``: the rule for loads without a deployment version."""

    designs: DesignStore
    lock: WriterLock
    compile_schema: Compile
    version: VersionRule = field(default_factory=VersionRule)

    def __call__(
        self, collection: str, mode: BufferMode, entries: Sequence[object], *, own: Revision | None = None
    ) -> Loaded:
        """Replace this collection in the buffer, all or nothing.

        ``entries``: the documents of the YAML stream; none empties the collection. ``own``: the only buffer that is
        replaced, in any mode, since the caller has loaded it. Raises Invalid with every fault of every document, and
        Conflict if the mode, another collection or another writer forbids the load.
        """
        name = _collection(collection)
        documents = self.documents(entries)
        version_findings = self._version_findings(documents)
        try:
            with self.lock.held():
                versions = read_versions(self.designs)
                mode = BufferMode.REPLACE if own is not None and own == versions.buffer else mode
                base = self._base(versions, name, mode)
                revision = self._put(base, versions.head, name, documents)
        except (LockHeld, Overtaken):
            raise Blocked() from None
        if revision is None:
            raise NothingLoaded(name)
        return Loaded(revision, (*self.designs.findings(revision), *version_findings))

    def documents(self, entries: Sequence[object]) -> Sequence[Document]:
        """Return the documents of a YAML stream; raises InvalidDocuments with every fault."""
        documents, findings = parse_documents(entries, self.compile_schema)
        if errors(findings):
            raise InvalidDocuments(findings)
        return documents

    def discard(self, buffer: Revision) -> None:
        """Empty the buffer, if it is still this revision; raises Blocked if another writer is at work."""
        try:
            with self.lock.held():
                versions = read_versions(self.designs)
                if versions.buffer == buffer:
                    self.designs.rollback(versions.committed or Revision(0))
        except LockHeld:
            raise Blocked() from None

    def _version_findings(self, documents: Sequence[Document]) -> tuple[Finding, ...]:
        """Return findings about a missing deployment version; raises DeploymentVersionMissing if one is required."""
        missing = self.version.check(documents) if documents else ()
        if not missing:
            return ()
        expected = f"schema: {self.version.schema} and name: {self.version.name}"
        message = (
            f"Deployment version document missing from collection. Expected document to be present with {expected}"
        )
        finding = Finding("DeploymentVersionMissing", missing[0].level, message)
        if finding.level is Level.ERROR:
            raise DeploymentVersionMissing((finding,))
        return (finding,)

    def _base(self, versions: Versions, name: Collection, mode: BufferMode) -> Revision:
        """Return the revision that the load builds on: the buffer, or the committed revision."""
        committed = versions.committed or Revision(0)
        if versions.buffer is None:
            # The head has the committed content, even if it is newer than the commit.
            return versions.head
        if mode is BufferMode.REPLACE:
            return committed
        if mode is BufferMode.APPEND:
            changes = self.designs.differences(committed, versions.buffer)
            if changes.get(name, Change.UNMODIFIED) is Change.UNMODIFIED:
                return versions.buffer
        raise BufferOccupied(mode)

    def _put(self, base: Revision, head: Revision, name: Collection, documents: Sequence[Document]) -> Revision | None:
        try:
            return self.designs.put(name, documents, base=base, head=head)
        except DocumentElsewhere as elsewhere:
            raise DocumentInOtherCollection(str(elsewhere)) from elsewhere
        except SecondLayeringPolicy as second:
            raise LayeringPolicyExists(str(second)) from second
        except Refused as refused:
            if refused.code == 400:
                raise DocumentsRefused(refused.detail) from refused
            if refused.code == 409:
                raise DocumentInOtherCollection(refused.detail) from refused
            raise
        except NoSecretKey as locked:
            findings = [
                error(
                    "D001",
                    f"{document.schema} '{document.name}' has storagePolicy 'encrypted', and no key is configured to "
                    "encrypt it with ([secrets] keys): it is refused rather than stored in clear",
                    path="/metadata/storagePolicy",
                ).about(document.ref)
                for document in locked.documents
            ]
            raise NoEncryptionKey(findings) from locked


def _collection(name: str) -> Collection:
    if not 0 < len(name) <= COLLECTION_LIMIT or not name.isprintable() or name in (".", ".."):
        raise InvalidCollectionName()
    return Collection(name)
