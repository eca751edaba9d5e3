"""Our words into MAAS's forms and host names, and its machines back; pure (contract maas, 5, 7, 8, 10)."""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.domain.documents.machines import BAREMETAL_NODE
from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Marker, NodeCondition, Operation, Work

from .client import SYSTEM, Fields, JsonObject
from .decisions import Machine, Rules, Verb
from .options import Erase

MOST_NAMED = 10  # nodes in one finding

SITE_OPERATIONS = frozenset({Operation.VERIFY_SITE, Operation.PREPARE_SITE})

_HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_REVISION = "revision:"
_SECRETS = re.compile(
    r"(?i)((?:pass(?:word|wd|phrase)?|secret|token|oauth\w*|api_?key)\W{0,3}[=:]\W{0,2}|-P\s+)[^\s,;&]+"
)
_USERINFO = re.compile(r"//[^/@\s]+@")

_OPERATIONS: Mapping[Verb, str] = {
    Verb.COMMISSION: "commission",
    Verb.OVERRIDE_TESTS: "override_failed_testing",
    Verb.DEPLOY: "deploy",
    Verb.RELEASE: "release",
    Verb.ERASE: "release",
    Verb.ABORT: "abort",
    Verb.POWER_OFF: "power_off",
}


_ERASE: Mapping[Erase, tuple[str, ...]] = {
    Erase.QUICK: ("erase", "quick_erase"),
    Erase.SECURE: ("erase", "secure_erase", "quick_erase"),
    Erase.FULL: ("erase",),
}


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """What an operator decides for a MAAS. Empty texts leave the choice to MAAS.

    ``user_data`` is cloud-init's text as it is; ``comment`` is what MAAS notes beside everything done. ``threads``:
    requests in flight; ``starts``: how many machines one look sets in motion at most, so that a large group neither
    floods the rack controllers nor keeps one look busy for minutes; ``keep_marks``: days after which the marks of a job
    are removed, far longer than a job may take.
    """

    distro_series: str = ""
    hwe_kernel: str = ""
    user_data: str = field(default="", repr=False)
    comment: str = ""
    erase: Erase = Erase.QUICK
    rules: Rules = field(default_factory=Rules)
    threads: int = 8
    starts: int = 100
    keep_marks: float = 7.0


# Requests.


def request(verb: Verb, marker: str, options: MachineOptions) -> tuple[str, Fields]:
    """Return MAAS's operation for the verb and its form, which is never empty."""
    fields = [("comment", options.comment or f"Shipyard job {marker}")]
    if verb is Verb.ERASE:
        fields += [(name, "true") for name in _ERASE[options.erase]]
    if verb is Verb.DEPLOY:
        user_data = base64.b64encode(options.user_data.encode()).decode()
        chosen = {"distro_series": options.distro_series, "hwe_kernel": options.hwe_kernel, "user_data": user_data}
        fields += [(name, value) for name, value in chosen.items() if value]
    return _OPERATIONS[verb], fields


def check_work(work: Work, marker: Marker) -> None:
    """Raise Refused for work that names nodes where none belong, or none where some do."""

    def refuse(why: str) -> Refused:
        return Refused(SYSTEM, work.operation.value, why, marker=marker)

    if work.operation in SITE_OPERATIONS:
        if work.nodes is not None:
            raise refuse("the operation is about the whole site and takes no nodes")
        return
    if not work.nodes:
        raise refuse("no node is named")


def revision(design: str) -> int:
    """Return the revision behind a design's address. Raises Refused if it is not one of ours."""
    number = design.removeprefix(_REVISION)
    if not design.startswith(_REVISION) or not (number.isascii() and number.isdecimal()):
        raise Refused(SYSTEM, "design", f"{design!r} is not the address of a design: that is {_REVISION}NUMBER")
    return int(number)


def design_reference(number: int) -> str:
    """Return the address of a revision of the design, which only we follow."""
    return f"{_REVISION}{number}"


def hostname(node: NodeName) -> str:
    """Return the name under which MAAS lists the node."""
    return node.lower()


# Machines.


def read_machine(found: JsonObject) -> Machine:
    """Return what counts of a machine. Raises Unavailable for what is no machine object."""
    system_id, status = found.get("system_id"), found.get("status")
    if not isinstance(system_id, str) or not isinstance(status, int):
        raise Unavailable(SYSTEM, "machines", "a machine is not described in a way we understand (system_id, status)")
    notes = (str(found.get(key) or "").strip() for key in ("status_message", "error_description"))
    tags = found.get("tag_names")
    return Machine(
        system_id=system_id,
        hostname=str(found.get("hostname") or "").lower(),
        status=status,
        label=str(found.get("status_name") or f"in status {status}"),
        owner=str(found.get("owner") or ""),
        locked=bool(found.get("locked")),
        power=str(found.get("power_state") or "unknown"),
        tags=frozenset(map(str, tags)) if isinstance(tags, list) else frozenset(),
        notes=tuple(dict.fromkeys(filter(None, notes))),
    )


def by_hostname(found: Iterable[JsonObject]) -> dict[str, list[Machine]]:
    """Return the machines by lower-case host name, of which only those within one domain are unique."""
    machines: defaultdict[str, list[Machine]] = defaultdict(list)
    for machine in map(read_machine, found):
        machines[machine.hostname].append(machine)
    return dict(machines)


def condition(machine: Machine) -> NodeCondition:
    """Return how MAAS sees a machine, in its own words."""
    power = machine.power if machine.power in ("on", "off") else "unknown"
    return NodeCondition(machine.hostname, machine.label, power)


def reason(machine: Machine, why: str, event: JsonObject | None = None) -> str:
    """Return in one line why a machine failed, with what MAAS says of it, without secrets."""
    parts = [f"{machine.hostname}: {why}", *machine.notes]
    if event is not None and (text := str(event.get("description") or event.get("type") or "").strip()):
        told = f"{event.get('level')} of {event.get('created')}: {text}"
        parts += [told] if text not in machine.notes else []
    return without_secrets(" ".join("; ".join(parts).split()))


def without_secrets(text: str) -> str:
    """Return a text of MAAS without what power drivers are known to quote."""
    return _USERINFO.sub("//…@", _SECRETS.sub(r"\1…", text))


# Designs and sites.


def findings(inventory: Inventory, machines: Iterable[str]) -> tuple[Finding, ...]:
    """Return what there is to say of a design beside the machines (lower-case host names) that MAAS has."""
    found: list[Finding] = []
    names = sorted(inventory.nodes)
    twins: defaultdict[str, list[NodeName]] = defaultdict(list)
    for name in names:
        twins[hostname(name)].append(name)
    for host, nodes in twins.items():
        if not _HOSTNAME.fullmatch(host):
            text = f"MAAS cannot hold a machine named {nodes[0]!r}: letters, digits and inner hyphens, at most 63"
            found.append(_finding("NodeNameNotAHostname", Level.ERROR, text, nodes))
        elif len(nodes) > 1:
            text = f"the nodes {', '.join(nodes)} are one machine to MAAS, which does not tell cases apart"
            found.append(_finding("NodesShareHostname", Level.ERROR, text, nodes))
    known = frozenset(machines)
    if missing := [name for name in names if hostname(name) not in known and _HOSTNAME.fullmatch(hostname(name))]:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        text = f"{len(missing)} of {len(names)} nodes are not enlisted in MAAS: {', '.join(missing[:MOST_NAMED])}{more}"
        found.append(_finding("NodeNotInProvisioner", Level.WARNING, text, missing[:MOST_NAMED]))
    return tuple(found)


def site_faults(
    user: JsonObject, images: Sequence[JsonObject] | None, racks: Sequence[JsonObject], distro_series: str
) -> list[str]:
    """Return what keeps this MAAS from deploying anything."""
    faults = []
    if not user.get("is_superuser"):
        faults.append(
            f"the MAAS user {user.get('username')} is no administrator: it may not commission or tag machines"
        )
    series = {str(image.get("name") or "") for image in images or ()}
    if images is not None and not images:
        faults.append("MAAS has no boot images")
    elif (
        images and distro_series and not {distro_series, f"ubuntu/{distro_series}", f"custom/{distro_series}"} & series
    ):
        faults.append(f"MAAS has no boot image of {distro_series!r}, only of {', '.join(sorted(series)[:MOST_NAMED])}")
    if not any(map(_connected, racks)):
        faults.append(f"none of MAAS's {len(racks)} rack controllers is connected")
    return faults


def _connected(rack: JsonObject) -> bool:
    """Say whether a rack controller works; one of which nothing is told counts as working."""
    services: Any = rack.get("service_set")
    stands = [one.get("status") for one in services or () if isinstance(one, Mapping) and one.get("name") == "rackd"]
    return not stands or stands[0] in ("running", "degraded", "unknown")


def _finding(name: str, level: Level, message: str, nodes: Sequence[NodeName]) -> Finding:
    documents = tuple(DocumentRef(BAREMETAL_NODE, node) for node in nodes)
    return Finding(name, level, message, documents=documents, source=SYSTEM)
