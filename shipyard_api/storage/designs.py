"""The embedded document store: revisions in Shipyard's own database (contract: deckhand, C1).

A revision has one short row for each document, and each content is stored once (``design_contents``). So the cost of a
revision does not depend on how many revisions exist.
"""

import collections.abc
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.documents import (
    LAYERING_POLICY,
    Change,
    Collection,
    Compile,
    Document,
    Identity,
    Rendering,
    Revision,
    RevisionTag,
    StoredDocument,
    render,
)
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.documents import (
    DocumentElsewhere,
    Heads,
    Overtaken,
    RenderingFailed,
    RevisionRecord,
    SecondLayeringPolicy,
    SecretsLocked,
)
from shipyard_api.ports.encryption import Encryption
from shipyard_api.storage import design_rows as rows
from shipyard_api.storage import tables as t
from shipyard_api.storage.connections import outages
from shipyard_api.storage.design_contents import DesignContents, Rotation

_tags = t.revision_tags.c
_HEADS = sa.select(
    rows.newest(),
    *(sa.select(sa.func.max(_tags.revision)).where(_tags.tag == tag.value).scalar_subquery() for tag in RevisionTag),
)

# A real site takes 1/20 s. The limit turns endless patterns into an error.
_RENDERING_SECONDS = 20.0


class SqlDesigns:
    """Fills ``ports.documents.DesignStore``; each call is a short transaction of its own."""

    name = "the embedded store"

    def __init__(self, engine: sa.Engine, encryption: Encryption | None, compile_schema: Compile) -> None:
        self._engine = engine
        self._contents = DesignContents(engine, encryption)
        self._compile_schema = compile_schema

    def heads(self) -> Heads:
        """Return the newest revision, and the newest one with each tag."""
        with self._transaction() as connection:
            head, *rows = connection.execute(_HEADS).one()
        return Heads(
            Revision(head),
            {tag: Revision(number) for tag, number in zip(RevisionTag, rows, strict=True) if number is not None},
        )

    def put(
        self, collection: Collection, documents: Sequence[Document], *, base: Revision, head: Revision
    ) -> Revision | None:
        """Create a revision: ``base`` with this collection replaced; None if it would equal ``base``."""
        hashes = self._contents.hashes(documents)
        with self._numbering() as (connection, newest):
            if newest != head:
                raise Overtaken(f"revision {newest} was made after revision {head}")
            rows.require(connection, base)
            before = rows.documents(connection, base)
            others = {identity: row for identity, row in before.items() if row.collection != collection}
            _check_owners(documents, others)
            if hashes == {identity: row.hash for identity, row in before.items() if identity not in others}:
                return None
            revision = Revision(newest + 1)
            rows.add_revision(connection, revision)
            rows.add_others(connection, revision, base, collection)
            known = {row.hash for row in before.values()}
            fresh = [document for document in documents if hashes[document.identity] not in known]
            self._contents.insert(connection, fresh, hashes)
            rows.add_collection(connection, revision, collection, hashes, before)
        return revision

    def revisions(
        self, *, tags: collections.abc.Collection[str] = (), after: Revision, limit: int
    ) -> Sequence[RevisionRecord]:
        """Return up to ``limit`` revisions after the given one, in order; ``tags``: with any of these."""
        ids, carried = t.revisions.c.id, t.revision_tags.c
        page = sa.select(t.revisions).where(ids > min(max(after, 0), rows.HIGHEST)).order_by(ids)
        if tags:
            page = page.where(ids.in_(sa.select(carried.revision).where(carried.tag.in_(tags))))
        with self._transaction() as connection:
            return rows.records(connection, page.limit(min(max(limit, 0), rows.HIGHEST)))

    def revision(self, revision: Revision) -> RevisionRecord:
        """Return one revision; raises UnknownRevision, also for 0."""
        with self._transaction() as connection:
            rows.require(connection, revision, lowest=1)
            return rows.record(connection, revision)

    def documents(self, revision: Revision, collection: Collection | None = None) -> tuple[StoredDocument, ...]:
        """Return the documents as they were written; raises UnknownRevision and SecretsLocked."""
        rows.check_number(revision)
        held, texts = t.revision_documents.c, t.document_contents.c
        query = (
            sa.select(
                *(held.schema, held.name, held.layer, held.collection, held.since, held.hash),
                *(texts.metadata, texts.data, texts.ciphertext),
            )
            .join(t.document_contents, texts.hash == held.hash)
            .where(held.revision == revision)
            # Python's order, whatever the collation of the database.
            .order_by(held.collection.collate("C"), held.position)
        )
        if collection is not None:
            query = query.where(held.collection == collection)
        with self._transaction() as connection:
            stored_rows = connection.execute(query).all()
            if not stored_rows:
                rows.require(connection, revision)
        return tuple(self._stored(row) for row in stored_rows)

    def rendered(self, revision: Revision) -> Rendering:
        """Return the rendered design; raises UnknownRevision, SecretsLocked and RenderingFailed."""
        rows.check_number(revision, lowest=1)
        documents = self.documents(revision)
        deadline = time.monotonic() + _RENDERING_SECONDS
        rendering, findings = render(documents, self._compile_schema, lambda: time.monotonic() > deadline)
        if rendering is None:
            raise RenderingFailed(revision, findings)
        return rendering

    def differences(self, base: Revision, new: Revision) -> Mapping[Collection, Change]:
        """Return the change of each collection from ``base`` to ``new``, by name."""
        with self._transaction() as connection:
            rows.require(connection, base)
            rows.require(connection, new)
            before, after = rows.contents(connection, base), rows.contents(connection, new)
        return {name: _change(before.get(name), after.get(name)) for name in sorted({*before, *after})}

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return no findings: no peer reports to this store. Raises UnknownRevision, also for 0."""
        with self._transaction() as connection:
            rows.require(connection, revision, lowest=1)
        return ()

    def rollback(self, revision: Revision) -> Revision:
        """Create a revision with the documents of the given one, which may be 0; raises UnknownRevision."""
        with self._numbering() as (connection, newest):
            rows.require(connection, revision)
            created = Revision(newest + 1)
            rows.add_revision(connection, created)
            rows.add_all_of(connection, created, revision, newest)
        return created

    def tag(self, revision: Revision, tag: str, data: JsonObject) -> None:
        """Set a tag; setting it again updates its data. Raises UnknownRevision."""
        statement = insert(t.revision_tags).values(revision=revision, tag=tag, data=dict(data))
        with self._transaction() as connection:
            rows.require(connection, revision, lowest=1)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["revision", "tag"],
                    set_={"data": statement.excluded.data, "set_at": sa.func.now()},
                )
            )

    def fingerprint(self, text: bytes) -> str:
        """Return the fingerprint that readers see instead of a secret."""
        return self._contents.fingerprint(text)

    def rotate(self, batch: int = 200) -> Rotation:
        """Reencrypt everything with the newest key, ``batch`` contents per transaction; safe to interrupt and repeat.

        Run it when all processes have the newest key: others keep encrypting with theirs. Raises NoSecretKey and
        StoreUnavailable.
        """
        return self._contents.rotate(batch)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with outages(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _numbering(self) -> Iterator[tuple[sa.Connection, Revision]]:
        """Open a transaction that locks out other new revisions, and yield the newest revision."""
        with self._transaction() as connection:
            rows.lock_numbers(connection)
            yield connection, Revision(connection.execute(sa.select(rows.newest())).scalar_one())

    def _stored(self, row: tuple[Any, ...]) -> StoredDocument:
        schema, name, layer, collection, since, content, metadata, data, ciphertext = row
        if ciphertext is None:
            value = json.loads(data)
        else:
            value = self._contents.decrypted(ciphertext, content, label=f"the data of {schema} '{name}'")
        document = Document(schema, name, layer, json.loads(metadata), value)
        if document.is_encrypted is (ciphertext is None):
            raise SecretsLocked(f"{schema} '{name}' is not stored as its storagePolicy says")
        return StoredDocument(document, Collection(collection), Revision(since))


def _check_owners(documents: Sequence[Document], others: Mapping[Identity, rows.DocumentRow]) -> None:
    """Raise DocumentElsewhere or SecondLayeringPolicy if the documents conflict with other collections."""
    for document in documents:
        if document.identity in others:
            raise DocumentElsewhere(document, Collection(others[document.identity].collection))
    policies = [document for document in documents if document.schema == LAYERING_POLICY]
    for policy in policies:
        for schema, _, name in others:
            if schema == LAYERING_POLICY:
                raise SecondLayeringPolicy(policy, name)
    if len(policies) > 1:
        raise SecondLayeringPolicy(policies[1], policies[0].name)


def _change(before: frozenset[str] | None, after: frozenset[str] | None) -> Change:
    if before is None:
        return Change.CREATED
    if after is None:
        return Change.DELETED
    return Change.UNMODIFIED if before == after else Change.MODIFIED


class RevisionImport:
    """Adds revisions; each is one transaction."""

    def __init__(self, engine: sa.Engine, encryption: Encryption | None) -> None:
        self._engine = engine
        self._contents = DesignContents(engine, encryption)

    def add(self, record: RevisionRecord, documents: Sequence[StoredDocument], *, head: Revision) -> None:
        """Store a revision with its own number, time and tags; ``head``: the newest revision so far.

        Raises Overtaken if another revision is the newest or the number is not above it, and NoSecretKey.
        """
        hashes = self._contents.hashes(stored.document for stored in documents)
        collections: dict[Collection, list[Document]] = {}
        for stored in documents:
            collections.setdefault(stored.collection, []).append(stored.document)
        with outages(), self._engine.begin() as connection:
            rows.lock_numbers(connection)
            newest = Revision(connection.execute(sa.select(rows.newest())).scalar_one())
            if newest != head or record.revision <= newest:
                raise Overtaken(f"revision {newest} was made after revision {head}")
            before = rows.documents(connection, head)
            connection.execute(t.revisions.insert().values(id=record.revision, created_at=record.created_at))
            known = {row.hash for row in before.values()}
            fresh = [stored.document for stored in documents if hashes[stored.document.identity] not in known]
            self._contents.insert(connection, fresh, hashes)
            for collection, held in collections.items():
                contents = {document.identity: hashes[document.identity] for document in held}
                rows.add_collection(connection, record.revision, collection, contents, before)
            if record.tags:
                tags = [
                    {"revision": record.revision, "tag": tag, "data": dict(data)} for tag, data in record.tags.items()
                ]
                connection.execute(t.revision_tags.insert(), tags)
