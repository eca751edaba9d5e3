"""Nodes as the committed design describes them, for programs that choose nodes by rack, tag or label."""

from collections.abc import Mapping
from dataclasses import dataclass

from shipyard_api.domain.addressing import networks_of
from shipyard_api.domain.documents import BAREMETAL_NODE, HOST_PROFILE, Rendering, scrubber
from shipyard_api.domain.nodes import NodeName


@dataclass(frozen=True, slots=True)
class DesignedNode:
    """What selectors match, what a node inherits from host profiles included, and its fixed addresses by network."""

    rack: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    addresses: Mapping[str, str]


def designed_nodes(design: Rendering) -> Mapping[NodeName, DesignedNode]:
    """Return the nodes of a design. In labels, which are free texts, those of encrypted documents are replaced.

    Texts of nodes and host profiles are not: a site may encrypt these as a whole. Racks and tags stay as they are, as
    groups are made of them: a common word in an encrypted document must not make one tag of two.
    """
    documents = [rendered.document for rendered in design.documents]
    machines = (BAREMETAL_NODE, HOST_PROFILE)
    clean = scrubber(
        document.data for document in documents if document.is_encrypted and document.schema not in machines
    )
    addresses = networks_of(documents)
    return {
        name: DesignedNode(
            rack=node.rack,
            tags=tuple(sorted(node.tags)),
            labels={key: clean(value) for key, value in sorted(node.labels)},
            addresses=addresses.get(name, {}),
        )
        for name, node in design.machines.nodes.items()
    }
