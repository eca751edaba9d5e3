"""What may be the cause of a failure: the features of nodes, as columns, and how a sentence names each.

A node without a value of a feature counts for no value of it, and neither for nor against the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from msgspec import Struct, field

from shipyard_api.domain.documents.machines import BAREMETAL_NODE, HARDWARE_PROFILE, lineage, profiles
from shipyard_api.domain.documents.rendering import Rendering
from shipyard_api.domain.json_types import member, objects
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.kinds import NETWORK, RACK

Value = str | frozenset[str]
"""The value of a feature, or all of its values; ``""``: not known. No value at all is known to be none."""

Column = Sequence[Value]


class Wording(Struct, frozen=True):
    """How a sentence names a value: "11 of the 12 that failed **hang on switch sw3**; 2 of 180 others **do**"."""

    has: str
    short: str
    noun: str


WORDINGS: Mapping[str, Wording] = {
    "switch": Wording("hang on switch {}", "do", "switch {}"),
    "port_group": Wording("hang on port group {}", "do", "port group {}"),
    "rack": Wording("are in rack {}", "are", "rack {}"),
    "power_domain": Wording("are in power domain {}", "are", "power domain {}"),
    "bmc_subnet": Wording("have their BMC in {}", "do", "BMC subnet {}"),
    "network": Wording("are in network {}", "are", "network {}"),
    "model": Wording("are of model {}", "are", "model {}"),
    "hardware_profile": Wording("have hardware profile {}", "do", "hardware profile {}"),
    "firmware": Wording("have firmware {}", "do", "firmware {}"),
    "image": Wording("get image {}", "do", "image {}"),
    "host_profile": Wording("have host profile {}", "do", "host profile {}"),
    "template": Wording("ask for deploy template {}", "do", "deploy template {}"),
    "label": Wording("have label {}", "do", "label {}"),
    "tag": Wording("have tag {}", "do", "tag {}"),
    "provisioner": Wording("belong to {}", "do", "{}"),
    "group": Wording("are in group {}", "are", "group {}"),
    "wave": Wording("are in wave {}", "are", "wave {}"),
    "sent": Wording("were sent since {}", "were", "sent since {}"),
    "words": Wording("give the same reason", "do", "the same reason"),
}
"""In the order in which a sentence names features that hold the same nodes: what a person can walk to comes first."""

POWER_LABELS = frozenset({"power_domain", "power-domain", "powerdomain", "pdu"})
"""Labels whose value names the power domain of a node."""


class Features(Struct, frozen=True):
    """The features of nodes: a column each, in the order of ``names``."""

    names: Sequence[NodeName]
    columns: Mapping[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[NodeName], values: Mapping[str, Mapping[NodeName, Value]]) -> "Features":
        """Return the features of nodes, given the known values of each."""
        return cls(names).extended(values)

    def extended(self, values: Mapping[str, Mapping[NodeName, Value]]) -> "Features":
        """Return them with more features; a feature that is there already gets the values that it lacks."""
        columns = dict(self.columns)
        for feature, known in values.items():
            mine = columns.get(feature)
            columns[feature] = [
                known[name] if name in known else (mine[place] if mine else "") for place, name in enumerate(self.names)
            ]
        return Features(self.names, {name: column for name, column in columns.items() if any(column)})


def of_design(rendering: Rendering) -> Features:
    """Return the features that a design gives its nodes, read once and kept as long as it is."""
    found: Features | None = rendering.kept.get(Features)
    if found is None:
        found = rendering.kept[Features] = _of_design(rendering)
    return found


def _of_design(rendering: Rendering) -> Features:
    documents = [rendered.document for rendered in rendering.documents]
    by_key = {document.key: document for document in documents}
    host_profiles, machines = profiles(documents), rendering.machines.nodes
    known: dict[str, dict[NodeName, Value]] = {feature: {} for feature in WORDINGS}
    networks = {document.name: _cidr(document.data) for document in documents if document.schema == NETWORK}
    racks = {
        document.name: _names(member(document.data, "tor_switches"))
        for document in documents
        if document.schema == RACK
    }
    for name, machine in machines.items():
        document = by_key[BAREMETAL_NODE, name]
        chain = [level.data for level in lineage(document, host_profiles)]
        hardware = by_key.get((HARDWARE_PROFILE, machine.hardware))
        model, firmware = _hardware(hardware.data if hardware else None)
        bmc = _nearest(chain, "oob.network")
        labels = dict(machine.labels)
        values: Mapping[str, Value] = {
            "switch": racks.get(machine.rack) or "",
            "rack": machine.rack,
            "power_domain": next((labels[key] for key in sorted(labels) if key.lower() in POWER_LABELS), ""),
            "bmc_subnet": _subnet(chain, bmc, networks),
            "network": frozenset(_addressed(chain)),
            "model": model,
            "hardware_profile": machine.hardware,
            "firmware": firmware,
            "image": " ".join(filter(None, (_nearest(chain, "platform.image"), _nearest(chain, "platform.kernel")))),
            "host_profile": _nearest(chain, "host_profile"),
            "label": frozenset(f"{key}={value}" for key, value in labels.items() if key.lower() not in POWER_LABELS),
            "tag": machine.tags,
        }
        for feature, value in values.items():
            if value != "":
                known[feature][name] = value
    return Features.of(list(machines), known)


def _hardware(data: object) -> tuple[str, str]:
    model = " ".join(str(member(data, key)) for key in ("vendor", "generation", "hw_version") if member(data, key))
    firmware = " ".join(str(member(data, key)) for key in ("bios_version", "firmware_version") if member(data, key))
    return model, firmware


def _addressed(chain: Iterable[object]) -> Iterator[str]:
    for data in chain:
        for entry in objects(member(data, "addressing")):
            if isinstance(network := entry.get("network"), str):
                yield network


def _subnet(chain: Sequence[object], bmc: str, networks: Mapping[str, str]) -> str:
    """Return the network of the address of the BMC: its CIDR, or its name where that is not known."""
    if networks.get(bmc):
        return networks[bmc]
    entries = objects(member(chain[0], "addressing"))
    addresses = [entry.get("address") for entry in entries if entry.get("network") == bmc]
    if not bmc or not addresses:
        return bmc
    try:
        address = ip_address(str(addresses[0]))
    except ValueError:
        return bmc
    return str(ip_network(f"{address}/{24 if address.version == 4 else 64}", strict=False))


def _cidr(data: object) -> str:
    cidr = member(data, "cidr")
    return cidr if isinstance(cidr, str) else ""


def _nearest(chain: Iterable[object], path: str) -> str:
    for data in chain:
        if isinstance(value := member(data, *path.split(".")), str) and value:
            return value
    return ""


def _names(data: object) -> frozenset[str]:
    return frozenset(map(str, data)) if isinstance(data, dict) else frozenset()
