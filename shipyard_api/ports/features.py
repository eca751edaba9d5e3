"""What has been seen of servers, for the search for the cause of failures: beside what the design says of them."""

from collections.abc import Collection, Mapping
from typing import Protocol

from shipyard_api.domain.cases.features import Value
from shipyard_api.domain.nodes import NodeName


class SeenFeatures(Protocol):
    """Where servers hang and what they are, as far as that has been seen, such as by LLDP or an inspection."""

    def __call__(self, nodes: Collection[NodeName], /) -> Mapping[str, Mapping[NodeName, Value]]:
        """Return the values of features (``switch``, ``port_group``, ``model``, ``firmware`` …) of some of the nodes.

        A value that was seen counts before that of the design. Asks no peer: what was seen last is good enough.
        """


def nothing_seen(_nodes: Collection[NodeName]) -> Mapping[str, Mapping[NodeName, Value]]:
    """Return that nothing has been seen of any server."""
    return {}
