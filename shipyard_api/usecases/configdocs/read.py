"""Read configdocs: compare versions, return a collection, render the design of a revision or version."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import (
    Change,
    Collection,
    Document,
    DocumentChange,
    Query,
    RenderedDocument,
    Rendering,
    Revision,
    StoredDocument,
    Version,
    choose,
    compare_documents,
    redacted,
)
from shipyard_api.domain.errors import CollectionNotFound, NotInBuffer, NotRendered, RevisionNotFound, VersionNotFound
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions


class Comparison(Struct, frozen=True):
    """Changes between two versions, by collection; ``documents`` only if requested."""

    base: Version
    base_revision: Revision
    new: Version
    new_revision: Revision
    collections: Mapping[Collection, Change]
    documents: Sequence[DocumentChange] = ()


class ReadConfigdocs(Struct, frozen=True):
    """The use case; changes nothing. Secrets are redacted unless ``clear``."""

    designs: DesignStore
    rendered: RenderedDesigns

    def compare(self, base: Version, new: Version) -> Comparison:
        """Return the change of each collection; an empty buffer counts as the committed version."""
        versions = read_versions(self.designs)
        revisions = versions.comparable(base), versions.comparable(new)
        return Comparison(base, revisions[0], new, revisions[1], self.designs.differences(*revisions))

    def compare_documents(self, base: Version, new: Version, *, rendered: bool) -> Comparison:
        """Return the change of each collection and document, as written or as rendered.

        Secrets are fingerprints, so changed ones still differ. Raises NotRendered.
        """
        comparison = self.compare(base, new)
        before, after = (
            self._rendered_documents(revision) if rendered else self._written(revision)
            for revision in (comparison.base_revision, comparison.new_revision)
        )
        return replace(comparison, documents=compare_documents(before, after))

    def collection(self, name: str, version: Version, *, clear: bool) -> tuple[StoredDocument, ...]:
        """Return the documents of a collection as written.

        Raises NotFound if the version does not exist, or if the buffer does not change the collection.
        """
        collection = Collection(name)
        versions = read_versions(self.designs)
        revision = versions.of(version)
        if version is Version.BUFFER:
            changes = {} if revision is None else self.designs.differences(versions.committed or Revision(0), revision)
            if revision is None or changes.get(collection, Change.UNMODIFIED) is Change.UNMODIFIED:
                raise NotInBuffer()
        if revision is None:
            raise CollectionNotFound(name, version)
        stored = self.designs.documents(revision, collection)
        return (
            stored
            if clear
            else tuple(replace(document, document=self._redacted(document.document)) for document in stored)
        )

    def version(self, version: Version) -> Revision:
        """Return the revision of a version; raises NotFound."""
        versions = read_versions(self.designs)
        revision = versions.of(version)
        if revision is None:
            raise VersionNotFound(version)
        return revision

    def shown(self, design: Rendering, query: Query, *, clear: bool) -> tuple[RenderedDocument, ...]:
        """Return the documents of a design that match the query."""
        # Redact first: sorting by a secret would reveal it, one comparison at a time.
        return choose(
            design.documents if clear else [self._redacted_if_secret(document) for document in design.documents], query
        )

    def design(self, revision: Revision) -> Rendering:
        """Return the design of a revision, secrets in clear; raises RevisionNotFound and NotRendered.

        Repeated calls return the same object.
        """
        try:
            return self.rendered.of(revision)
        except UnknownRevision:
            raise RevisionNotFound(revision) from None
        except RenderingFailed as failed:
            raise NotRendered(failed.findings) from failed

    def _written(self, revision: Revision) -> list[tuple[Collection, Document]]:
        return [(stored.collection, self._redacted(stored.document)) for stored in self.designs.documents(revision)]

    def _rendered_documents(self, revision: Revision) -> list[tuple[Collection, Document]]:
        if revision == 0:
            return []
        return [
            (rendered.collection, self._redacted_if_secret(rendered).document)
            for rendered in self.design(revision).documents
        ]

    def _redacted(self, document: Document) -> Document:
        return redacted(document, self.designs.fingerprint) if document.is_encrypted else document

    def _redacted_if_secret(self, rendered: RenderedDocument) -> RenderedDocument:
        if not rendered.secret:
            return rendered
        return replace(rendered, document=redacted(rendered.document, self.designs.fingerprint))
