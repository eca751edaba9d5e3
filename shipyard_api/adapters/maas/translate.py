"""Translation between our values and MAAS's forms, host names and machines; pure (contract maas, 5, 7, 8, 10)."""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.domain.documents.machines import BAREMETAL_NODE
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import MOST_NAMED, DocumentRef, Finding, Level, in_short
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Marker, Operation, Work

from . import Erase
from .client import SYSTEM, Fields
from .decisions import Machine, Rules, Status, Verb
from .deploy_steps import fault

SITE_OPERATIONS = frozenset({Operation.VERIFY_SITE, Operation.PREPARE_SITE})

LIMITS = ProvisionerLimits(
    SYSTEM,
    longest_name=63,
    names=re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"),
    names_are="of letters, digits and inner hyphens",
    ignores_case=True,
    no_rebuild="it deploys only released machines; with preserve-local-storage=true they are released unerased",
    no_power_cycle="its API can only power machines off and, after that, on",
    no_reboot="",
    no_retry="Shipyard keeps no record on its machines of how often work was begun",
    no_service="its scripts run only in the commissioning of machines that are not deployed",
)
_REVISION = "revision:"
_SECRETS = re.compile(
    r"(?i)((?:pass(?:word|wd|phrase)?|secret|token|oauth\w*|api_?key)\W{0,3}[=:]\W{0,2}|-P\s+)[^\s,;&]+"
)
_USERINFO = re.compile(r"//[^/@\s]+@")

_OPERATIONS: Mapping[Verb, str] = {
    Verb.COMMISSION: "commission",
    Verb.OVERRIDE_TESTS: "override_failed_testing",
    Verb.DEPLOY: "deploy",
    Verb.RUN_SCRIPTS: "commission",
    Verb.RELEASE: "release",
    Verb.ERASE: "release",
    Verb.ABORT: "abort",
    Verb.POWER_OFF: "power_off",
    Verb.SWITCH_OFF: "power_off",
    Verb.SWITCH_ON: "power_on",
}


# Of all others, the machine keeps its installation: broken, in rescue mode or tests, or on the way.
_STATES: Mapping[int, MachineState] = {
    Status.DEPLOYED: MachineState.DEPLOYED,
    **dict.fromkeys((Status.DEPLOYING, Status.FAILED_DEPLOYMENT), MachineState.INSTALLING),
    **dict.fromkeys(
        (
            *(Status.NEW, Status.COMMISSIONING, Status.FAILED_COMMISSIONING, Status.MISSING, Status.READY),
            *(Status.RESERVED, Status.RETIRED, Status.ALLOCATED, Status.RELEASING, Status.FAILED_RELEASING),
            *(Status.DISK_ERASING, Status.FAILED_DISK_ERASING),
        ),
        MachineState.FREE,
    ),
}

_ERASE: Mapping[Erase, tuple[str, ...]] = {
    Erase.QUICK: ("erase", "quick_erase"),
    Erase.SECURE: ("erase", "secure_erase", "quick_erase"),
    Erase.FULL: ("erase",),
}


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """How machines are deployed and released. Empty texts leave the choice to MAAS.

    ``user_data``: the cloud-init user data as text. ``comment``: MAAS logs it with every operation. ``threads``:
    concurrent requests. ``starts``: the most machines that one pass starts, so that a large group neither floods the
    rack controllers nor keeps one pass busy for minutes. ``shown``: the machines of 18 kB that a poll may show though
    nothing has changed. ``keep_tags_days``: the age at which tags of jobs are
    deleted, far longer than a job may take.
    """

    distro_series: str = ""
    hwe_kernel: str = ""
    user_data: str = field(default="", repr=False)
    comment: str = ""
    erase: Erase = Erase.FULL
    rules: Rules = field(default_factory=Rules)
    threads: int = 8
    starts: int = 100
    shown: int = 40
    keep_tags_days: float = 7.0


# Requests.


def request(verb: Verb, marker: str, options: MachineOptions) -> tuple[str, Fields]:
    """Return the MAAS operation for the verb and its form, which is never empty."""
    fields = [("comment", options.comment or f"Shipyard job {marker}")]
    if verb is Verb.ERASE:
        fields += [(name, "true") for name in _ERASE[options.erase]]
    if verb is Verb.RUN_SCRIPTS:
        # What an operator configured in MAAS stays.
        fields += [("skip_networking", "1"), ("skip_storage", "1")]
    if verb is Verb.DEPLOY:
        user_data = base64.b64encode(options.user_data.encode()).decode()
        chosen = {"distro_series": options.distro_series, "hwe_kernel": options.hwe_kernel, "user_data": user_data}
        fields += [(name, value) for name, value in chosen.items() if value]
    return _OPERATIONS[verb], fields


def check_work(work: Work, marker: Marker) -> None:
    """Raise Refused for site work that names nodes, and for node work that names none."""

    def refuse(why: str) -> Refused:
        return Refused(SYSTEM, work.operation.value, why, marker=marker)

    if work.operation in SITE_OPERATIONS:
        if work.nodes is not None:
            raise refuse("the operation is about the whole site and takes no nodes")
        return
    if work.operation is Operation.REBUILD_NODES:
        raise refuse(f"MAAS cannot rebuild machines: {LIMITS.no_rebuild}")
    if work.operation is Operation.SERVICE_NODES:
        raise refuse(f"MAAS runs no steps on deployed machines: {LIMITS.no_service}")
    if work.operation is Operation.PREPARE_NODES and work.steps:
        raise refuse(f"MAAS runs no steps on machines before it deploys them: {LIMITS.no_clean}")
    if work.operation is Operation.RELABEL_NODES:
        raise refuse("MAAS knows no labels of Kubernetes nodes")
    for node, steps in work.steps.items():
        if why := fault(steps):
            raise refuse(f"{node}: {why}")
    if not work.nodes:
        raise refuse("no node is named")


def revision(design: str) -> int:
    """Return the revision of a design address. Raises Refused for an address that is not ours."""
    number = design.removeprefix(_REVISION)
    if not design.startswith(_REVISION) or not (number.isascii() and number.isdecimal()):
        raise Refused(SYSTEM, "design", f"{design!r} is not a design address; write {_REVISION}NUMBER")
    return int(number)


def design_reference(number: int) -> str:
    """Return the address of a revision, which only this adapter resolves."""
    return f"{_REVISION}{number}"


def hostname(node: NodeName) -> str:
    """Return the name under which MAAS lists the node."""
    return node.lower()


# Machines.


def read_machine(entry: JsonObject) -> Machine:
    """Parse a machine. Raises Unavailable if it is no machine object."""
    system_id, status = entry.get("system_id"), entry.get("status")
    if not isinstance(system_id, str) or not isinstance(status, int):
        raise Unavailable(SYSTEM, "machines", "a machine lacks a valid system_id or status")
    notes = (str(entry.get(key) or "").strip() for key in ("status_message", "error_description"))
    tags = entry.get("tag_names")
    return Machine(
        system_id=system_id,
        hostname=str(entry.get("hostname") or "").lower(),
        status=status,
        label=str(entry.get("status_name") or f"in status {status}"),
        owner=str(entry.get("owner") or ""),
        locked=bool(entry.get("locked")),
        power=str(entry.get("power_state") or "unknown"),
        tags=frozenset(map(str, tags)) if isinstance(tags, list) else frozenset(),
        notes=tuple(dict.fromkeys(filter(None, notes))),
        installation=str(entry.get("current_installation_result_id") or ""),
    )


def by_hostname(entries: Iterable[JsonObject]) -> dict[str, list[Machine]]:
    """Return the machines by lower-case host name; names are unique only within one domain."""
    machines: defaultdict[str, dict[str, Machine]] = defaultdict(dict)
    for machine in map(read_machine, entries):
        machines[machine.hostname][machine.system_id] = machine
    return {name: list(alike.values()) for name, alike in machines.items()}


def short_name(status: int) -> str:
    """Return the name of a status in MAAS's filters."""
    return Status(status).name.lower()


def condition(machine: Machine) -> ObservedMachine:
    """Return a machine with MAAS's own label as status; every deployment has an installation of its own."""
    power = machine.power if machine.power in ("on", "off") else "unknown"
    installed = f"installation {machine.installation}" if machine.installation else ""
    state = _STATES.get(machine.status, MachineState.OTHER)
    return ObservedMachine(machine.hostname, machine.label, power, state, machine.system_id, installed)


def reason(machine: Machine, why: str, event: JsonObject | None = None) -> str:
    """Return in one line why a machine failed, with MAAS's notes and event, without secrets."""
    parts = [f"{machine.hostname}: {why}", *machine.notes]
    if event is not None and (text := str(event.get("description") or event.get("type") or "").strip()):
        entry = f"{event.get('level')} of {event.get('created')}: {text}"
        parts += [entry] if text not in machine.notes else []
    return without_secrets(" ".join("; ".join(parts).split()))


def without_secrets(text: str) -> str:
    """Return a text of MAAS without the credentials that power drivers are known to quote."""
    return _USERINFO.sub("//…@", _SECRETS.sub(r"\1…", text))


# Designs and sites.


def findings(inventory: Inventory, machines: Iterable[str]) -> tuple[Finding, ...]:
    """Return findings on a design, given the host names (lower case) of the machines in MAAS.

    Names that MAAS cannot have are left out: they break a limit, which has its own finding.
    """
    names, known = sorted(inventory.nodes), frozenset(machines)
    missing = [name for name in names if hostname(name) not in known and LIMITS.accepts(name)]
    if not missing:
        return ()
    text = f"{len(missing)} of {len(names)} nodes are not enlisted in MAAS: {in_short(missing)}"
    documents = tuple(DocumentRef(BAREMETAL_NODE, node) for node in missing[:MOST_NAMED])
    return (Finding("NodeNotInProvisioner", Level.WARNING, text, documents=documents, source=SYSTEM),)


def site_faults(
    user: JsonObject, images: Sequence[JsonObject] | None, racks: Sequence[JsonObject], distro_series: str
) -> list[str]:
    """Return what keeps this MAAS from deploying at all."""
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
    """Return whether a rack controller works; one without a reported status counts as working."""
    services: Any = rack.get("service_set")
    states = [
        service.get("status")
        for service in services or ()
        if isinstance(service, Mapping) and service.get("name") == "rackd"
    ]
    return not states or states[0] in ("running", "degraded", "unknown")
