"""Read configdocs: compare versions, fetch a collection, fetch the design of a revision."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.configdocs import Collection, Document, Revision, Version, concrete
from shipyard_api.domain.errors import NotFound
from shipyard_api.ports.store import Store
from shipyard_api.usecases.versions import Versions, compare, read_versions


@dataclass(frozen=True, slots=True)
class CollectionComparison:
    """How one collection stands in two versions."""

    collection: Collection
    base: Version
    base_revision: Revision
    new: Version
    new_revision: Revision
    status: str


@dataclass(frozen=True, slots=True)
class ReadConfigdocs:
    """The use case; none of these changes anything."""

    store: Store

    def compare(self, base: Version, new: Version) -> Sequence[CollectionComparison]:
        """Return each collection of two versions; an absent buffer means what is committed."""
        with self.store.begin() as tx:
            versions = read_versions(tx.revisions)
            revisions = [_standing(versions, version) for version in (base, new)]
            statuses = compare(tx.revisions, *revisions)
        return [
            CollectionComparison(collection, base, revisions[0], new, revisions[1], status)
            for collection, status in statuses.items()
        ]

    def collection(self, name: str, version: Version) -> tuple[Document, ...]:
        """Return the documents of a collection as they were written.

        Raises NotFound if there is no such revision, or if the buffer does not touch the collection.
        """
        collection = Collection(name)
        with self.store.begin() as tx:
            versions = read_versions(tx.revisions)
            revision = versions.of(version)
            if version is Version.BUFFER:
                touched = revision is not None and compare(
                    tx.revisions, versions.committed or Revision(0), revision
                ).get(collection, "unmodified")
                if revision is None or touched == "unmodified":
                    raise NotFound(
                        "No documents to retrieve",
                        "The Shipyard buffer is empty or does not contain this collection",
                    )
            if revision is None:
                raise NotFound("No documents to retrieve", f"No collection {name} for revision {version.value}")
            return tx.revisions.documents(revision, collection)

    def design(self, revision: int) -> tuple[Document, ...]:
        """Return the design of a revision, for the provisioner to fetch (contract: deckhand, A6).

        Documents are given as written, abstract ones left out, until layering and substitution exist.
        """
        with self.store.begin() as tx:
            if not tx.revisions.exists(Revision(revision)) or revision == 0:
                raise NotFound("Revision not found", f"The requested revision={revision} was not found.")
            return concrete(tx.revisions.documents(Revision(revision)))


def _standing(versions: Versions, version: Version) -> Revision:
    revision = versions.of(version)
    if revision is not None:
        return revision
    if version in (Version.COMMITTED, Version.BUFFER):
        return versions.committed or Revision(0)
    raise NotFound("Version does not exist", f"{version.value} version does not exist")
