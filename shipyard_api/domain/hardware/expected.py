"""The hardware that a design expects of its nodes: the documents shipyard/ExpectedHardware/v1 (product, section 15).

Drydock's HardwareProfile only labels a model: its vendor, generation and versions are free texts that no installation
reads, and its aliases name devices by their address. So expectations are documents of their own, chosen by the name of
that profile.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from shipyard_api.domain import deployment_configuration
from shipyard_api.domain.documents import RenderedDocument, Rendering, find
from shipyard_api.domain.findings import Finding, error, warning
from shipyard_api.domain.hardware.seen import Aspect
from shipyard_api.domain.nodes import NodeName

SCHEMA = "shipyard/ExpectedHardware/v1"
SHIPPED = "expected_hardware_v1"
WARN, OFF = "warn", "off"
_CHOICES = {"hardware_profiles", "nodes"}


class Cpu(msgspec.Struct, frozen=True):
    """The processors; 0 and an empty text expect nothing. ``cores``, ``threads``: of all sockets together."""

    model: str = ""
    sockets: int = 0
    cores: int = 0
    threads: int = 0


class Memory(msgspec.Struct, frozen=True):
    """The memory; ``tolerance`` in percent."""

    size: int | str = 0
    tolerance: float = 5
    modules: int = 0


class Disks(msgspec.Struct, frozen=True):
    """Disks that are alike; ``names`` only name the missing ones, because a system may count its disks differently."""

    count: int
    type: str = ""
    size: int | str = 0
    tolerance: float = 5
    role: str = ""
    names: tuple[str, ...] = ()


class Nics(msgspec.Struct, frozen=True):
    """Network cards that are alike; ``speed`` in Mbit/s."""

    count: int
    speed: int = 0
    driver: str = ""
    names: tuple[str, ...] = ()


class Accelerators(msgspec.Struct, frozen=True):
    """Accelerators that are alike; ``model``: a part of what they are called."""

    model: str
    count: int


class Bmc(msgspec.Struct, frozen=True):
    """The board management controller."""

    version: str


class Cable(msgspec.Struct, frozen=True):
    """The other end of a network card's cable."""

    switch: str
    port: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.switch} port {self.port}"


class Expectation(msgspec.Struct, frozen=True):
    """What is expected of a node. ``cabling``: by the name or the MAC address of a network card."""

    cpu: Cpu | None = None
    memory: Memory | None = None
    disks: tuple[Disks, ...] | None = None
    nics: tuple[Nics, ...] | None = None
    accelerators: tuple[Accelerators, ...] | None = None
    bmc: Bmc | None = None
    cabling: Mapping[str, Cable] | None = None

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What has to be read of the node."""
        cpu, memory = self.cpu or Cpu(), self.memory or Memory()
        wanted = {
            Aspect.CPU: self.cpu is not None,
            Aspect.SOCKETS: bool(cpu.sockets or cpu.cores),
            Aspect.MEMORY: bool(memory.size),
            Aspect.MODULES: bool(memory.modules),
            Aspect.DISKS: self.disks is not None,
            Aspect.NICS: self.nics is not None,
            Aspect.DRIVERS: any(nics.driver for nics in self.nics or ()),
            Aspect.ACCELERATORS: self.accelerators is not None,
            Aspect.BMC: self.bmc is not None,
            Aspect.CABLING: self.cabling is not None,
        }
        return frozenset(aspect for aspect, is_wanted in wanted.items() if is_wanted)


Expectations = Mapping[NodeName, Expectation]

ASPECTS = Expectation.__struct_fields__
"""The members of a document, and of a node in it, that expect something."""


class _Part(Struct, frozen=True):
    """What one document expects of one node, or of all nodes with a profile."""

    rendered: RenderedDocument
    path: str
    data: Mapping[str, Any]


def chosen_mode(rendering: Rendering) -> str:
    """Return what happens to servers with wrong hardware, warn or fail; empty if the design expects none, or is off.

    The deployment configuration may not have been checked yet.
    """
    documents = [rendered.document for rendered in rendering.documents]
    if not any(document.schema == SCHEMA for document in documents):
        return ""
    configuration = find(documents, deployment_configuration.SCHEMA, deployment_configuration.NAME)
    match configuration.data if configuration else None:
        case {"physical_provisioner": {"hardware": str(mode)}}:
            return "" if mode == OFF else mode
        case {"physical_provisioner": {"hardware": False}}:  # YAML reads a plain off as false
            return ""
    return WARN


def read_expected(
    rendering: Rendering, check: Callable[[str, object], tuple[Finding, ...]]
) -> tuple[Expectations, tuple[Finding, ...]]:
    """Return what the design expects of each node, and all findings on the documents.

    ``check``: checks a value against a schema that ships with Shipyard. A document with an error counts for no node.
    """
    documents = [rendered for rendered in rendering.documents if rendered.document.schema == SCHEMA]
    if not documents:
        return {}, ()
    findings: list[Finding] = []
    sound = []
    for rendered in documents:
        faults = list(_faults(rendered, check))
        findings += [fault.about(rendered.document.ref) for fault in faults]
        if not faults:
            sound.append(rendered)
    by_profile, by_node = _parts(sound)
    models = {name: node.hardware for name, node in rendering.machines.nodes.items()}
    findings += _unused(by_profile, set(models.values()), "profile")
    findings += _unused(by_node, set(models), "node")
    expected, twice = _merged(models, by_profile, by_node)
    findings += twice
    findings += _shared_ports(expected, by_node)
    return expected, tuple(findings)


def _faults(rendered: RenderedDocument, check: Callable[[str, object], tuple[Finding, ...]]) -> Iterator[Finding]:
    data = rendered.document.data
    if rendered.secret:
        yield error("SecretInDeploymentDocument", f"A {SCHEMA} cannot be secret: differences show it.")
        return
    if faults := check(SHIPPED, data):
        yield from faults
    elif not _CHOICES & data.keys():
        yield error("ExpectedHardwareOfNothing", "Name hardware_profiles or nodes: without them it is for no server.")
    elif "hardware_profiles" not in data and (alone := sorted(data.keys() - _CHOICES)):
        message = f"{', '.join(alone)}: without hardware_profiles this is for no server; write it below a node."
        yield error("ExpectedHardwareOfNothing", message)


def _parts(
    documents: Iterable[RenderedDocument],
) -> tuple[Mapping[str, Sequence[_Part]], Mapping[NodeName, Sequence[_Part]]]:
    by_profile: defaultdict[str, list[_Part]] = defaultdict(list)
    by_node: defaultdict[NodeName, list[_Part]] = defaultdict(list)
    for rendered in documents:
        data = rendered.document.data
        aspects = {name: data[name] for name in ASPECTS if name in data}
        for index, profile in enumerate(data.get("hardware_profiles", ())):
            by_profile[profile].append(_Part(rendered, f"/hardware_profiles/{index}", aspects))
        for node, own in data.get("nodes", {}).items():
            by_node[NodeName(node)].append(_Part(rendered, f"/nodes/{node}", own))
    return by_profile, by_node


def _unused(parts: Mapping[Any, Sequence[_Part]], known: set[Any], what: str) -> Iterator[Finding]:
    for name in sorted(parts.keys() - known):
        message = f"No node of the design has the hardware profile {name}."
        if what == "node":
            message = f"The design has no node {name}; correct the name."
        for part in parts[name]:
            yield warning("ExpectedHardwareUnused", message, path=part.path).about(part.rendered.document.ref)


def _merged(
    models: Mapping[NodeName, str],
    by_profile: Mapping[str, Sequence[_Part]],
    by_node: Mapping[NodeName, Sequence[_Part]],
) -> tuple[Expectations, list[Finding]]:
    """Return the expectation of each node: what is written below the node replaces that of its profile."""
    expected: dict[NodeName, Expectation] = {}
    findings: list[Finding] = []
    of_profile: dict[str, tuple[Mapping[str, Any], Expectation]] = {}
    for profile, parts in by_profile.items():
        data, twice = _joined(parts, f"the hardware profile {profile}")
        findings += twice
        of_profile[profile] = data, msgspec.convert(data, Expectation, strict=False)
    for node, model in models.items():
        inherited, shared = of_profile.get(model, ({}, None))
        own, twice = _joined(by_node.get(node, ()), f"the node {node}")
        findings += twice
        if own:
            expected[node] = msgspec.convert({**inherited, **own}, Expectation, strict=False)
        elif shared is not None and shared.aspects:
            expected[node] = shared
    return expected, findings


def _joined(parts: Sequence[_Part], owner: str) -> tuple[Mapping[str, Any], list[Finding]]:
    joined: dict[str, Any] = {}
    findings = []
    for part in parts:
        if both := sorted(joined.keys() & part.data.keys()):
            message = f"Another document expects {', '.join(both)} of {owner}, too; leave one of them out."
            found = error("ExpectedHardwareTwice", message, path=part.path)
            findings.append(found.about(part.rendered.document.ref))
        joined = {**part.data, **joined}
    return joined, findings


def _shared_ports(expected: Expectations, by_node: Mapping[NodeName, Sequence[_Part]]) -> Iterator[Finding]:
    """Yield an error for each port of a switch that has two cables."""
    ends: dict[tuple[str, str], tuple[NodeName, str]] = {}
    for node, expectation in expected.items():
        for nic, cable in (expectation.cabling or {}).items():
            end = cable.switch.lower(), cable.port.lower()
            other, other_nic = ends.setdefault(end, (node, nic))
            if (other, other_nic) != (node, nic):
                message = f"{cable} has two cables: {other_nic} of {other} and {nic} of {node}."
                found = error("SwitchPortTwice", message, path=f"/nodes/{node}/cabling/{nic}")
                for part in by_node.get(node, ())[:1]:
                    found = found.about(part.rendered.document.ref)
                yield found
