"""Writes revisions of another document store into the embedded one, with their numbers, times and tags."""

from collections.abc import Sequence

import sqlalchemy as sa

from shipyard_api.domain.documents import Collection, Document, Revision, StoredDocument
from shipyard_api.ports.documents import Overtaken, RevisionRecord
from shipyard_api.ports.encryption import Encryption
from shipyard_api.storage import design_rows as rows
from shipyard_api.storage import tables as t
from shipyard_api.storage.design_contents import DesignContents
from shipyard_api.storage.outages import outages


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
