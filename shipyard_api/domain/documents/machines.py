"""Read the machines of a design from its documents (contract: drydock, 8)."""

from collections.abc import Iterable, Mapping

from shipyard_api.domain.documents.document import Document
from shipyard_api.domain.json_types import member, texts
from shipyard_api.domain.nodes import Inventory, Node, NodeName

BAREMETAL_NODE = "drydock/BaremetalNode/v1"
HOST_PROFILE = "drydock/HostProfile/v1"
HARDWARE_PROFILE = "drydock/HardwareProfile/v1"


def inventory(documents: Iterable[Document]) -> Inventory:
    """Return the machines of a design, including what they inherit from host profiles (contract: drydock, 8).

    Tags add up along the profiles, the node's own rack, labels and hardware profile win, and a leading ``!`` removes an
    inherited tag or label. A profile that does not exist, or that is its own ancestor, ends the chain.
    """
    documents = list(documents)
    by_name = profiles(documents)
    return Inventory.of(_node(document, by_name) for document in documents if document.schema == BAREMETAL_NODE)


def profiles(documents: Iterable[Document]) -> Mapping[str, Document]:
    """Return the host profiles of a design by name."""
    return {document.name: document for document in documents if document.schema == HOST_PROFILE}


def lineage(node: Document, by_name: Mapping[str, Document]) -> list[Document]:
    """Return the document of a node, the host profile that it names, that one's parent, and so on."""
    chain = [node]
    seen = set()
    while True:
        data = chain[-1].data
        parent = member(data, "host_profile")
        if not isinstance(parent, str) or parent in seen or parent not in by_name:
            return chain
        seen.add(parent)
        chain.append(by_name[parent])


def _node(document: Document, by_name: Mapping[str, Document]) -> Node:
    tags: set[str] = set()
    labels: dict[str, str] = {}
    rack = hardware = ""
    for level in reversed(lineage(document, by_name)):
        profile = member(level.data, "hardware_profile")
        hardware = profile if isinstance(profile, str) else hardware
        metadata = member(level.data, "metadata")
        if not isinstance(metadata, Mapping):
            continue
        for tag in texts(metadata.get("tags")):
            (tags.discard if tag.startswith("!") else tags.add)(tag.removeprefix("!"))
        owner_data = metadata.get("owner_data")
        for key, value in (owner_data if isinstance(owner_data, Mapping) else {}).items():
            if key.startswith("!"):
                labels.pop(key.removeprefix("!"), None)
            elif isinstance(value, str):
                labels[key] = value
        if isinstance(metadata.get("rack"), str):
            rack = metadata["rack"]
    return Node(NodeName(document.name), rack, frozenset(tags), frozenset(labels.items()), hardware)
