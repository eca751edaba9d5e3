"""The rows that say what a revision is: its number, its tags, and which documents it holds since when.

Each function works in a transaction of the caller's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from shipyard_api.domain.documents import Collection, Identity, Revision
from shipyard_api.ports.documents import Json, RevisionRecord, UnknownRevision
from shipyard_api.storage import tables as t

HIGHEST = 2**31 - 1

_rows = t.revision_documents.c
_COLUMNS = ("revision", "schema", "layer", "name", "collection", "position", "hash", "since")


class Held(NamedTuple):
    """A document of a revision: its collection, the hash of its content, and since when it has been so."""

    collection: str
    hash: str
    since: int


def newest() -> "sa.ScalarSelect[int]":
    """Ask for the newest revision; 0 if there is none."""
    return sa.select(sa.func.coalesce(sa.func.max(t.revisions.c.id), 0)).scalar_subquery()


def check_number(revision: Revision, *, lowest: int = 0) -> None:
    """Raise UnknownRevision for a number that no revision can have; it would be an error of the database."""
    if not lowest <= revision <= HIGHEST:
        raise UnknownRevision(revision)


def require(connection: sa.Connection, revision: Revision, *, lowest: int = 0) -> None:
    """Raise UnknownRevision for what is no revision; 0 always is one unless ``lowest`` leaves it out."""
    check_number(revision, lowest=lowest)
    if revision == 0:
        return
    found = connection.execute(sa.select(t.revisions.c.id).where(t.revisions.c.id == revision))
    if found.one_or_none() is None:
        raise UnknownRevision(revision)


def records(connection: sa.Connection, page: "sa.Select[Any]") -> Sequence[RevisionRecord]:
    """Return the revisions that a query finds, with their tags, in order."""
    found, tags = page.subquery(), t.revision_tags.c
    query = (
        sa.select(found.c.id, found.c.created_at, tags.tag, tags.data)
        .select_from(found.outerjoin(t.revision_tags, tags.revision == found.c.id))
        .order_by(found.c.id, tags.tag)
    )
    each: dict[int, tuple[Any, dict[str, Json]]] = {}
    for revision, created_at, tag, data in connection.execute(query):
        _, carried = each.setdefault(revision, (created_at, {}))
        if tag is not None:
            carried[tag] = data
    return [RevisionRecord(Revision(revision), created_at, carried) for revision, (created_at, carried) in each.items()]


def held(connection: sa.Connection, revision: Revision) -> dict[Identity, Held]:
    """Return what each document of a revision is."""
    query = sa.select(_rows.schema, _rows.layer, _rows.name, _rows.collection, _rows.hash, _rows.since)
    found = connection.execute(query.where(_rows.revision == revision))
    return {(schema, layer, name): Held(*rest) for schema, layer, name, *rest in found}


def contents(connection: sa.Connection, revision: Revision) -> dict[Collection, frozenset[str]]:
    """Return the hashes of what each collection of a revision holds."""
    found = connection.execute(sa.select(_rows.collection, _rows.hash).where(_rows.revision == revision))
    each: defaultdict[Collection, set[str]] = defaultdict(set)
    for collection, content in found:
        each[Collection(collection)].add(content)
    return {collection: frozenset(hashes) for collection, hashes in each.items()}


def add_revision(connection: sa.Connection, revision: Revision) -> None:
    """Make a revision that holds nothing yet."""
    # Not when the transaction began: it may have waited for another one.
    connection.execute(t.revisions.insert().values(id=revision, created_at=sa.func.clock_timestamp()))


def add_others(connection: sa.Connection, revision: Revision, base: Revision, collection: Collection) -> None:
    """Take over every other collection of ``base`` as it is."""
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
    before: Mapping[Identity, Held],
) -> None:
    """Put a collection into a revision, in order; what has the same content as ``before`` has been there since then."""
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
    """Take over what ``target`` holds.

    A document that ``before`` holds with the same content has been there for as long as it has in that one; any other
    starts anew.
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
