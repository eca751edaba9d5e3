"""Load a collection of documents into the buffer (contract: shipyard-rest, 5.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.configdocs import (
    COLLECTION_LIMIT,
    BufferMode,
    Collection,
    Document,
    Revision,
    parse_documents,
)
from shipyard_api.domain.errors import Conflict, Invalid
from shipyard_api.domain.findings import error, errors
from shipyard_api.ports.store import DocumentElsewhere, LockHeld, Revisions, Store
from shipyard_api.usecases.versions import changes, read_versions


class Blocked(Conflict):
    """Another request is changing the configdocs at this moment."""

    def __init__(self) -> None:
        super().__init__(
            "Blocked by another process",
            "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in "
            "not more than 60 seconds",
            again=True,
        )


class BufferOccupied(Conflict):
    """The buffer holds something that this load may not touch."""

    def __init__(self, mode: BufferMode) -> None:
        super().__init__("Invalid collection specified for buffer", f"Buffermode : {mode.value}")
        self.findings = (
            error(
                "BufferOccupied",
                "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode "
                "may provide the desired functionality",
            ),
        )


@dataclass(frozen=True, slots=True)
class LoadConfigdocs:
    """The use case."""

    store: Store

    def __call__(self, collection: str, mode: BufferMode, entries: Sequence[object]) -> Revision:
        """Replace what the buffer holds of this collection and return the new revision; all or nothing.

        ``entries`` are the documents of the YAML stream; none empties the collection. Raises Invalid with every fault
        of every document, and Conflict when the mode, another collection or another writer is in the way.
        """
        name = _collection(collection)
        documents, findings = parse_documents(entries)
        if errors(findings):
            raise Invalid(
                "Document(s) invalid syntax or otherwise unsuitable",
                "; ".join(finding.message for finding in errors(findings)[:5]),
                findings,
            )
        try:
            with self.store.begin() as tx:
                tx.revisions.lock()
                base = _base(tx.revisions, name, mode)
                revision = _put(tx.revisions, base, name, documents)
        except LockHeld:
            raise Blocked from None
        if revision is None:
            raise Invalid(
                f"Collection {name} not added to Shipyard buffer",
                "Collection created no new revision",
            )
        return revision


def _collection(name: str) -> Collection:
    if not 0 < len(name) <= COLLECTION_LIMIT or not name.isprintable() or name in (".", ".."):
        raise Invalid(
            "Invalid collection name",
            f"The name of a collection has 1 to {COLLECTION_LIMIT} printable characters, and is not . or ..",
        )
    return Collection(name)


def _base(revisions: Revisions, name: Collection, mode: BufferMode) -> Revision:
    """Return the revision that the load builds on: the buffer, or what was committed."""
    versions = read_versions(revisions)
    committed = versions.committed or Revision(0)
    if versions.buffer is None or mode is BufferMode.REPLACE:
        return committed
    if mode is BufferMode.APPEND and name not in changes(revisions, committed, versions.buffer):
        return versions.buffer
    raise BufferOccupied(mode)


def _put(revisions: Revisions, base: Revision, name: Collection, documents: Sequence[Document]) -> Revision | None:
    try:
        return revisions.put(base, name, documents)
    except DocumentElsewhere as elsewhere:
        raise Conflict("Documents may not exist in more than one collection", str(elsewhere)) from elsewhere
