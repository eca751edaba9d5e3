"""Configdocs: each content once, and per revision only which documents are in it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.configdocs import Collection, Document, Revision, RevisionTag
from shipyard_api.ports.store import DocumentElsewhere, Json, LockHeld
from shipyard_api.storage import tables as t

# Any number will do, as long as nothing else in this database takes the same advisory lock.
_WRITERS = 0x5317_C0D0


class SqlRevisions:
    """Fills ``ports.store.Revisions``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def lock(self) -> None:
        """Keep other writers out. The lock goes with the transaction, so a dead holder holds nothing."""
        if not self._connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_WRITERS))).scalar_one():
            raise LockHeld("configdocs_update")

    def head(self) -> Revision:
        """Return the newest revision."""
        newest = self._connection.execute(sa.select(sa.func.max(t.revisions.c.id))).scalar_one()
        return Revision(newest or 0)

    def newest_tagged(self, tags: Some[RevisionTag]) -> Revision | None:
        """Return the newest revision that carries one of the tags."""
        newest = self._connection.execute(
            sa.select(sa.func.max(t.revision_tags.c.revision)).where(
                t.revision_tags.c.tag.in_([tag.value for tag in tags])
            )
        ).scalar_one()
        return None if newest is None else Revision(newest)

    def tagged(self, tag: RevisionTag) -> Sequence[Revision]:
        """Return all revisions that carry the tag, in order."""
        rows = self._connection.execute(
            sa.select(t.revision_tags.c.revision)
            .where(t.revision_tags.c.tag == tag.value)
            .order_by(t.revision_tags.c.revision)
        )
        return [Revision(row.revision) for row in rows]

    def exists(self, revision: Revision) -> bool:
        """Return whether there is such a revision."""
        if revision == 0:
            return True
        # A number that does not fit the column is not an error of the database, it is simply no revision.
        if not 0 < revision <= 2**31 - 1:
            return False
        found = self._connection.execute(sa.select(t.revisions.c.id).where(t.revisions.c.id == revision))
        return found.one_or_none() is not None

    def contents(self, revision: Revision) -> Mapping[Collection, frozenset[str]]:
        """Return the hashes of the documents in each collection."""
        rows = t.revision_documents.c
        found = self._connection.execute(sa.select(rows.collection, rows.hash).where(rows.revision == revision))
        held: defaultdict[Collection, set[str]] = defaultdict(set)
        for row in found:
            held[Collection(row.collection)].add(row.hash)
        return {collection: frozenset(hashes) for collection, hashes in held.items()}

    def documents(self, revision: Revision, collection: Collection | None = None) -> tuple[Document, ...]:
        """Return the documents as they were written."""
        rows, texts = t.revision_documents.c, t.document_contents.c
        query = (
            sa.select(rows.schema, rows.layer, rows.name, texts.metadata, texts.data)
            .join(t.document_contents, texts.hash == rows.hash)
            .where(rows.revision == revision)
            .order_by(rows.collection, rows.position)
        )
        if collection is not None:
            query = query.where(rows.collection == collection)
        return tuple(
            Document(row.schema, row.name, row.layer, json.loads(row.metadata), json.loads(row.data))
            for row in self._connection.execute(query)
        )

    def put(self, base: Revision, collection: Collection, documents: Iterable[Document]) -> Revision | None:
        """Make a revision that is ``base`` with this collection replaced; the caller holds the lock."""
        documents = tuple(documents)
        hashes = {document.identity: _hash(document) for document in documents}
        self._check_owners(base, collection, documents)
        if self.contents(base).get(collection, frozenset()) == frozenset(hashes.values()):
            return None
        revision = Revision(self.head() + 1)
        self._connection.execute(t.revisions.insert().values(id=revision))
        self._keep_others(base, revision, collection)
        if documents:
            self._store(revision, collection, documents, hashes)
        return revision

    def tag(self, revision: Revision, tag: RevisionTag, data: Json) -> None:
        """Set a tag."""
        statement = insert(t.revision_tags).values(revision=revision, tag=tag.value, data=dict(data))
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["revision", "tag"],
                set_={"data": statement.excluded.data, "set_at": sa.func.now()},
            )
        )

    def _check_owners(self, base: Revision, collection: Collection, documents: Sequence[Document]) -> None:
        rows = t.revision_documents.c
        others = self._connection.execute(
            sa.select(rows.schema, rows.layer, rows.name, rows.collection).where(
                rows.revision == base, rows.collection != collection
            )
        )
        owners = {(row.schema, row.layer, row.name): row.collection for row in others}
        for document in documents:
            if document.identity in owners:
                raise DocumentElsewhere(document, Collection(owners[document.identity]))

    def _keep_others(self, base: Revision, revision: Revision, collection: Collection) -> None:
        rows = t.revision_documents.c
        kept = sa.select(
            sa.literal(revision), rows.schema, rows.layer, rows.name, rows.collection, rows.position, rows.hash
        ).where(rows.revision == base, rows.collection != collection)
        names = ["revision", "schema", "layer", "name", "collection", "position", "hash"]
        self._connection.execute(t.revision_documents.insert().from_select(names, kept))

    def _store(
        self,
        revision: Revision,
        collection: Collection,
        documents: Sequence[Document],
        hashes: Mapping[tuple[str, str, str], str],
    ) -> None:
        self._connection.execute(
            insert(t.document_contents).on_conflict_do_nothing(),
            [
                {
                    "hash": hashes[document.identity],
                    "metadata": json.dumps(document.metadata),
                    "data": json.dumps(document.data),
                }
                for document in documents
            ],
        )
        self._connection.execute(
            t.revision_documents.insert(),
            [
                {
                    "revision": revision,
                    "schema": document.schema,
                    "layer": document.layer,
                    "name": document.name,
                    "collection": collection,
                    "position": position,
                    "hash": hashes[document.identity],
                }
                for position, document in enumerate(documents)
            ],
        )


def _hash(document: Document) -> str:
    """Return what makes two documents the same: equal data and metadata, whatever the order of their keys."""
    whole = [document.schema, document.metadata, document.data]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
