"""Rows of revisions: numbers, tags and documents.

Each function works in the caller's transaction.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from shipyard_api.domain.documents import Collection, Identity, Revision
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.documents import RevisionRecord, UnknownRevision
from shipyard_api.storage import tables as t

HIGHEST = 2**31 - 1

# Transactions that insert a revision take this advisory lock, so that numbers are in order and without gaps. It differs
# from the lock in ``writer_lock``, which the same writer holds in another session.
_NUMBERS = 0x5317_C0D1

_rows = t.revision_documents.c
_EXISTS = sa.select(t.revisions.c.id).where(t.revisions.c.id == sa.bindparam("number"))
_OF_REVISION = _rows.revision == sa.bindparam("number")
_CONTENTS = sa.select(_rows.collection, _rows.hash).where(_OF_REVISION)
_DOCUMENTS = sa.select(_rows.schema, _rows.layer, _rows.name, _rows.collection, _rows.hash, _rows.since).where(
    _OF_REVISION
)
_COLUMNS = ("revision", "schema", "layer", "name", "collection", "position", "hash", "since")


class DocumentRow(NamedTuple):
    """A document of a revision: its collection, its content hash, and the revision in which it last changed."""

    collection: str
    hash: str
    since: int


def lock_numbers(connection: sa.Connection) -> None:
    """Wait for, and lock out until the end of the transaction, others that make or delete revisions."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_NUMBERS)))


def newest() -> "sa.ScalarSelect[int]":
    """Return a subquery for the newest revision; 0 if there is none."""
    return sa.select(sa.func.coalesce(sa.func.max(t.revisions.c.id), 0)).scalar_subquery()


def check_number(revision: Revision, *, lowest: int = 0) -> None:
    """Raise UnknownRevision for a number out of range, which the database would reject with an error."""
    if not lowest <= revision <= HIGHEST:
        raise UnknownRevision(revision)


def require(connection: sa.Connection, revision: Revision, *, lowest: int = 0) -> None:
    """Raise UnknownRevision unless the revision exists; 0 always exists, unless ``lowest`` is 1."""
    check_number(revision, lowest=lowest)
    if revision == 0:
        return
    if connection.execute(_EXISTS, {"number": revision}).one_or_none() is None:
        raise UnknownRevision(revision)


def _tagged(page: "sa.Select[Any]") -> "sa.Select[Any]":
    numbered, tags = page.subquery(), t.revision_tags.c
    return (
        sa.select(numbered.c.id, numbered.c.created_at, tags.tag, tags.data)
        .select_from(numbered.outerjoin(t.revision_tags, tags.revision == numbered.c.id))
        .order_by(numbered.c.id, tags.tag)
    )


_ONE = _tagged(sa.select(t.revisions).where(t.revisions.c.id == sa.bindparam("number")))


def record(connection: sa.Connection, revision: Revision) -> RevisionRecord:
    """Return a revision, which exists."""
    (record,) = _records(connection.execute(_ONE, {"number": revision}))
    return record


def records(connection: sa.Connection, page: "sa.Select[Any]") -> Sequence[RevisionRecord]:
    """Return the revisions of a query with their tags, in order."""
    return _records(connection.execute(_tagged(page)))


def _records(rows: Iterable[Any]) -> Sequence[RevisionRecord]:
    each: dict[int, tuple[Any, dict[str, JsonObject]]] = {}
    for revision, created_at, tag, data in rows:
        _, carried = each.setdefault(revision, (created_at, {}))
        if tag is not None:
            carried[tag] = data
    return [RevisionRecord(Revision(revision), created_at, carried) for revision, (created_at, carried) in each.items()]


def documents(connection: sa.Connection, revision: Revision) -> dict[Identity, DocumentRow]:
    """Return the documents of a revision."""
    rows = connection.execute(_DOCUMENTS, {"number": revision})
    return {(schema, layer, name): DocumentRow(*rest) for schema, layer, name, *rest in rows}


def contents(connection: sa.Connection, revision: Revision) -> dict[Collection, frozenset[str]]:
    """Return the content hashes of each collection of a revision."""
    rows = connection.execute(_CONTENTS, {"number": revision})
    each: defaultdict[Collection, set[str]] = defaultdict(set)
    for collection, content in rows:
        each[Collection(collection)].add(content)
    return {collection: frozenset(hashes) for collection, hashes in each.items()}


def add_revision(connection: sa.Connection, revision: Revision) -> None:
    """Insert an empty revision."""
    # Not now(), the start of the transaction: it may have waited for another one.
    connection.execute(t.revisions.insert().values(id=revision, created_at=sa.func.clock_timestamp()))


def add_others(connection: sa.Connection, revision: Revision, base: Revision, collection: Collection) -> None:
    """Copy every collection of ``base`` but one into a revision."""
    kept = sa.select(
        sa.literal(revision),
        *(_rows.schema, _rows.layer, _rows.name, _rows.collection, _rows.position, _rows.hash, _rows.since),
    ).where(_rows.revision == base, _rows.collection != collection)
    connection.execute(t.revision_documents.insert().from_select(_COLUMNS, kept))


def add_collection(
    connection: sa.Connection,
    revision: Revision,
    collection: Collection,
    hashes: Mapping[Identity, str],
    before: Mapping[Identity, DocumentRow],
) -> None:
    """Insert a collection into a revision, in order. A document with the same content as ``before`` keeps ``since``."""
    rows = [
        {
            "revision": revision,
            "schema": identity[0],
            "layer": identity[1],
            "name": identity[2],
            "collection": collection,
            "position": position,
            "hash": content,
            "since": before[identity].since if identity in before and before[identity].hash == content else revision,
        }
        for position, (identity, content) in enumerate(hashes.items())
    ]
    if rows:
        connection.execute(t.revision_documents.insert(), rows)


def add_all_of(connection: sa.Connection, revision: Revision, target: Revision, before: Revision) -> None:
    """Copy all documents of ``target`` into a revision.

    A document with the same content in ``before`` keeps its ``since`` from there; others get the new revision.
    """
    earlier = t.revision_documents.alias("earlier")
    same = sa.and_(
        earlier.c.revision == before,
        *(earlier.c[name] == _rows[name] for name in ("schema", "layer", "name", "hash")),
    )
    taken = (
        sa.select(
            sa.literal(revision),
            *(_rows.schema, _rows.layer, _rows.name, _rows.collection, _rows.position, _rows.hash),
            sa.func.coalesce(earlier.c.since, revision),
        )
        .select_from(t.revision_documents.outerjoin(earlier, same))
        .where(_rows.revision == target)
    )
    connection.execute(t.revision_documents.insert().from_select(_COLUMNS, taken))
