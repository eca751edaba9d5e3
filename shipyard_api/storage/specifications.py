"""What each node was given: one row a node, which only what was really applied changes (product, section 14)."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification import Given
from shipyard_api.storage.observation_tables import node_specifications


class Specifications:
    """The records."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(self, nodes: Collection[NodeName]) -> Mapping[NodeName, Given]:
        """Return the record of each of the nodes that has one."""
        rows = node_specifications.c
        query = sa.select(node_specifications).where(rows.name == sa.any_(sa.cast([*nodes], ARRAY(sa.Text))))
        return {
            NodeName(row.name): Given(
                ActionId(row.action_id), None if row.revision is None else Revision(row.revision), row.aspects
            )
            for row in self._connection.execute(query)
        }
