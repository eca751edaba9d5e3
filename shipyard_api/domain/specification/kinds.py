"""Which aspect of a node a value of the design belongs to: one table for all kinds of documents.

``docs/reference/impact.md`` is made from it. A value that the table does not know is of the aspect ``other``.
"""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct, field

from shipyard_api.domain.deploy_steps import traits as traits
from shipyard_api.domain.documents.document import TEXT_KINDS
from shipyard_api.domain.documents.machines import BAREMETAL_NODE, HARDWARE_PROFILE, HOST_PROFILE


class Aspect(Enum):
    """A part of what a node is given; the values are the words of records, plans and journals."""

    HARDWARE = "hardware"
    IMAGE = "image"
    STORAGE = "storage"
    NETWORK = "network"
    BOOT = "boot"
    STEPS = "steps"
    LABELS = "labels"
    PLACEMENT = "placement"
    SOFTWARE = "software"
    OTHER = "other"

    __hash__ = object.__hash__  # as NodeStatus


class Reach(Enum):
    """The nodes that a document of a kind concerns, as a person reads it."""

    ITSELF = "the node of this name"
    PROFILE = "nodes that name it, or a profile that inherits from it, as `host_profile`"
    HARDWARE = "nodes whose `hardware_profile` names it"
    NETWORK = "nodes with an address or an interface in it; not if it is only the network of their BMC"
    LINK = "nodes with an interface whose `device_link` names it"
    RACK = "nodes of the rack"
    FILTER = "nodes that its `node_filter` selects; all without one"
    JOIN = "nodes with a boot action whose asset comes from Promenade"
    SELECTORS = "nodes that its selectors match"
    SITE = "all nodes"
    NONE = "none: its values count in the documents that they are substituted into"
    ACTIONS = "none: it says how actions work, and they read it each time"


class Kind(Struct, frozen=True):
    """The aspects of the fields of a kind. ``fields``: by dotted path; None for what no server holds.

    ``rest``: the aspect of all other fields.
    """

    reach: Reach
    fields: Mapping[str, Aspect | None] = field(default_factory=dict)
    rest: Aspect | None = Aspect.OTHER


_HOST: Mapping[str, Aspect | None] = {
    "addressing": Aspect.NETWORK,
    "interfaces": Aspect.NETWORK,
    "primary_network": Aspect.NETWORK,
    "storage": Aspect.STORAGE,
    "platform": Aspect.IMAGE,
    "oob": Aspect.HARDWARE,
    "oob.account": None,
    "oob.credential": None,
    "metadata.boot_mac": Aspect.HARDWARE,
    "metadata.owner_data": Aspect.LABELS,
    "metadata.rack": Aspect.PLACEMENT,
    "metadata.tags": Aspect.PLACEMENT,
    "hardware_profile": None,
    "host_profile": None,
}
NETWORK, LINK = "drydock/Network/v1", "drydock/NetworkLink/v1"
RACK, REGION, BOOT_ACTION = "drydock/Rack/v1", "drydock/Region/v1", "drydock/BootAction/v1"
PROVISIONER = "drydock/"
"""What kinds of the provisioner begin with; one that is not in the table concerns all nodes."""

PROMENADE = "promenade/"
JOINED_BY = tuple(sorted(TEXT_KINDS - {"deckhand/Passphrase/v1", "deckhand/CertificateAuthorityKey/v1"}))
"""The kinds, beside those of Promenade, that it puts into what a node runs to join."""

KINDS: Mapping[str, Kind] = {
    BAREMETAL_NODE: Kind(Reach.ITSELF, _HOST),
    HOST_PROFILE: Kind(Reach.PROFILE, _HOST),
    HARDWARE_PROFILE: Kind(Reach.HARDWARE, {"cpu_sets": Aspect.IMAGE, "hugepages": Aspect.IMAGE}, rest=Aspect.HARDWARE),
    NETWORK: Kind(Reach.NETWORK, rest=Aspect.NETWORK),
    LINK: Kind(Reach.LINK, rest=Aspect.NETWORK),
    RACK: Kind(Reach.RACK, rest=Aspect.PLACEMENT),
    REGION: Kind(
        Reach.SITE,
        {"tag_definitions": Aspect.PLACEMENT, "authorized_keys": Aspect.BOOT, "repositories": Aspect.BOOT},
    ),
    BOOT_ACTION: Kind(Reach.FILTER, {"node_filter": None}, rest=Aspect.BOOT),
    traits.SCHEMA: Kind(Reach.SELECTORS, rest=Aspect.STEPS),
    "promenade/EtcdClusters/v1": Kind(Reach.ACTIONS, rest=None),
    **{kind: Kind(Reach.JOIN, rest=Aspect.BOOT) for kind in JOINED_BY},
}
OTHERS: Mapping[str, Kind] = {
    PROVISIONER: Kind(Reach.SITE),
    PROMENADE: Kind(Reach.JOIN, rest=Aspect.BOOT),
    "shipyard/": Kind(Reach.ACTIONS, rest=None),
}
_NO_NODE = Kind(Reach.NONE, rest=None)


def kind_of(schema: str) -> Kind:
    """Return the kind of documents with this schema."""
    prefix = f"{schema.partition('/')[0]}/"
    return KINDS.get(schema) or OTHERS.get(prefix) or _NO_NODE


def aspect_of(kind: Kind, path: tuple[str, ...]) -> Aspect | None:
    """Return the aspect of a value at a path: that of the longest field in the table which holds it."""
    for length in range(min(len(path), 2), 0, -1):
        name = ".".join(path[:length])
        if name in kind.fields:
            return kind.fields[name]
    return kind.rest
