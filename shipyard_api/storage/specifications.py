"""What each node was given: one row a node, which only what was really applied changes (product, section 14)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import Given
from shipyard_api.storage.site_tables import node_specifications


class Specifications:
    """The records."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(self, nodes: Collection[NodeName]) -> Mapping[NodeName, Given]:
        """Return the record of each of the nodes that has one."""
        rows = node_specifications.c
        query = sa.select(node_specifications).where(rows.name == sa.any_(sa.cast([*nodes], ARRAY(sa.Text))))
        return {NodeName(row.name): _given(row) for row in self._connection.execute(query)}

    def names(self) -> frozenset[NodeName]:
        """Return the nodes that have a record: those that were deployed or adopted, and not destroyed since."""
        return frozenset(NodeName(name) for name in self._connection.scalars(sa.select(node_specifications.c.name)))

    def adopt(self, given: Mapping[NodeName, Given], *, now: datetime) -> None:
        """Set the records of nodes."""
        rows = [
            {
                "name": node,
                "action_id": record.action,
                "revision": record.revision,
                "aspects": dict(record.aspects),
                "revisions": dict(record.revisions),
                "provisioner": record.provisioner,
                "adopted_by": record.adopted_by,
                "at": now,
            }
            for node, record in given.items()
        ]
        insert = postgresql.insert(node_specifications)
        update = {column.name: column for column in insert.excluded if column.name != "name"}
        if rows:
            self._connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=update), rows)


def _given(row: Any) -> Given:
    revision = None if row.revision is None else Revision(row.revision)
    return Given(ActionId(row.action_id), revision, row.aspects, row.revisions, row.provisioner, row.adopted_by)
