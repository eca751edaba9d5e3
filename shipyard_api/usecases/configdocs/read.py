"""Read configdocs: compare versions, fetch a collection, fetch the design of a revision or a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the collections stand in two versions; ``documents`` only where they were asked for."""

    base: Version
    base_revision: Revision
    new: Version
    new_revision: Revision
    collections: Mapping[Collection, Change]
    documents: Sequence[DocumentChange] = ()


@dataclass(frozen=True, slots=True)
class ReadConfigdocs:
    """The use case; none of these changes anything. Secrets are shown only where ``clear`` says so."""

    designs: DesignStore
    rendered: RenderedDesigns

    def compare(self, base: Version, new: Version) -> Comparison:
        """Return how each collection stands; an absent buffer means what is committed."""
        versions = read_versions(self.designs)
        revisions = versions.standing(base), versions.standing(new)
        return Comparison(base, revisions[0], new, revisions[1], self.designs.differences(*revisions))

    def compare_documents(self, base: Version, new: Version, *, rendered: bool) -> Comparison:
        """Return how each collection stands and which documents differ in what, as written or as rendered.

        Secrets are fingerprints, so that it shows that they differ. Raises NotRendered.
        """
        found = self.compare(base, new)
        before, after = (
            self._rendered_side(revision) if rendered else self._written_side(revision)
            for revision in (found.base_revision, found.new_revision)
        )
        return replace(found, documents=compare_documents(before, after))

    def collection(self, name: str, version: Version, *, clear: bool) -> tuple[StoredDocument, ...]:
        """Return the documents of a collection as they were written.

        Raises NotFound if there is no such revision, or if the buffer does not touch the collection.
        """
        collection = Collection(name)
        versions = read_versions(self.designs)
        revision = versions.of(version)
        if version is Version.BUFFER:
            changes = {} if revision is None else self.designs.differences(versions.committed or Revision(0), revision)
            if revision is None or changes.get(collection, Change.UNMODIFIED) is Change.UNMODIFIED:
                raise NotInBuffer(name)
        if revision is None:
            raise CollectionNotFound(name, version)
        held = self.designs.documents(revision, collection)
        return held if clear else tuple(replace(one, document=self._shown(one.document)) for one in held)

    def version(self, version: Version) -> Revision:
        """Return the revision of a version; raises NotFound."""
        versions = read_versions(self.designs)
        revision = versions.of(version)
        if revision is None:
            raise VersionNotFound(version)
        return revision

    def shown(self, design: Rendering, query: Query, *, clear: bool) -> tuple[RenderedDocument, ...]:
        """Return those documents of a design that are asked for."""
        # Hidden first: to sort by what is hidden would tell it, one comparison after the other.
        return choose(design.documents if clear else [self._redacted(one) for one in design.documents], query)

    def design(self, revision: Revision) -> Rendering:
        """Return the whole design of a revision, secrets in clear, the same object every time; raises NotFound and
        NotRendered.
        """
        try:
            return self.rendered.of(revision)
        except UnknownRevision:
            raise RevisionNotFound(revision) from None
        except RenderingFailed as failed:
            raise NotRendered(failed.findings) from failed

    def _written_side(self, revision: Revision) -> list[tuple[Collection, Document]]:
        return [(one.collection, self._shown(one.document)) for one in self.designs.documents(revision)]

    def _rendered_side(self, revision: Revision) -> list[tuple[Collection, Document]]:
        if revision == 0:
            return []
        return [(one.collection, self._redacted(one).document) for one in self.design(revision).documents]

    def _shown(self, document: Document) -> Document:
        return redacted(document, self.designs.fingerprint) if document.is_encrypted else document

    def _redacted(self, one: RenderedDocument) -> RenderedDocument:
        if not one.secret:
            return one
        return replace(one, document=redacted(one.document, self.designs.fingerprint))
