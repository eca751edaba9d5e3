"""Operations on all machines: list, create, allocate, release and accept."""

import json
from typing import Any

from shipyard_simulators.maas import lifecycle
from shipyard_simulators.maas.calls import Call, Operations
from shipyard_simulators.maas.errors import FORBIDDEN, LOCKED, MaasError, conflict, invalid
from shipyard_simulators.maas.forms import Fields
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.machine_filters import is_mac, select
from shipyard_simulators.maas.machine_operations import check_hostname, power_parameters_of
from shipyard_simulators.maas.statuses import RELEASABLE, RELEASED_ALREADY, Status

_NAMES = ("swift", "brave", "calm", "eager", "noble", "quick", "sunny", "witty")
_ANIMALS = ("ant", "bee", "crab", "dove", "eel", "fox", "gull", "hare", "ibis")

# The names of constraints that allocate spells differently from the list.
_CONSTRAINTS = {"name": "hostname", "system_id": "id"}
_NO_CONSTRAINTS = ("agent_name", "comment", "op")


def visible(call: Call) -> list[Machine]:
    """Return the machines that the user may see, in order."""
    return sorted(filter(call.sees, call.region.machines.values()), key=lambda machine: machine.number)


def read(call: Call) -> list[Machine]:
    """Return the machines that match all filters."""
    return select(call.region, visible(call), call.query)


def list_allocated(call: Call) -> list[Machine]:
    """Return the machines that the user has allocated but not deployed."""
    mine = [each for each in visible(call) if each.owner == call.account.name and each.status is Status.ALLOCATED]
    return select(call.region, mine, Fields((key, value) for key, value in call.query.pairs() if key == "id"))


def power_parameters(call: Call) -> dict[str, Any]:
    """Return the power parameters of each machine, secrets included."""
    call.must_administer()
    wanted = call.query.all("id")
    return {
        each.system_id: dict(each.power_parameters) for each in visible(call) if not wanted or each.system_id in wanted
    }


def create(call: Call) -> Machine:
    """Enlist a machine; an administrator's is commissioned at once unless the request says otherwise."""
    form, region = call.form, call.region
    if not form.get("architecture"):
        raise invalid("architecture", "This field is required.")
    macs = [mac.strip().lower() for value in form.all("mac_addresses") for mac in value.split(",") if mac.strip()]
    if not macs:
        raise invalid("mac_addresses", "This field is required.")
    for mac in macs:
        if not is_mac(mac):
            raise invalid(
                "mac_addresses", f"One or more MAC addresses is invalid. ('{mac}' is not a valid MAC address.)"
            )
        if any(mac in each.mac_addresses for each in region.machines.values()):
            raise invalid("mac_addresses", f"MAC address {mac} already in use.")
    number = region.counter + 1
    hostname = form.get("hostname") or f"{_NAMES[number % len(_NAMES)]}-{_ANIMALS[number % len(_ANIMALS)]}"
    if any(each.hostname == hostname for each in region.machines.values()) and not form.get("hostname"):
        hostname = f"{hostname}-{number}"
    domain = form.get("domain") or "maas"
    check_hostname(call, hostname, domain)
    deployed, commission = form.flag("deployed"), form.flag("commission", default=True)
    power = {**_as_json(form), **power_parameters_of(call)}
    machine = region.add(hostname)
    machine.domain, machine.mac_addresses, machine.architecture = domain, macs, form.get("architecture")
    machine.power_type = form.get("power_type")
    machine.power_parameters = power
    region.change(machine, Status.NEW, call.now, call.cause, "enlisted", new=True)
    if deployed:
        region.change(machine, Status.DEPLOYED, call.now, call.cause, "enlisted as deployed")
        machine.owner, machine.power_state = call.account.name, "on"
    elif commission and call.account.administrator:
        lifecycle.begin_commissioning(call, machine)
    return machine


def _as_json(form: Fields) -> dict[str, Any]:
    try:
        value = json.loads(form.get("power_parameters") or "{}")
    except ValueError as cause:
        raise invalid("power_parameters", "Failed to parse JSON power_parameters.") from cause
    return value if isinstance(value, dict) else {}


def allocate(call: Call) -> Machine:
    """Allocate the first Ready machine that meets all constraints."""
    form = call.form
    constraints = [
        (_CONSTRAINTS.get(key, key), value) for key, value in form.pairs() if key not in _NO_CONSTRAINTS and value
    ]
    candidates = select(call.region, visible(call), Fields(constraints))
    free = [each for each in candidates if each.status is Status.READY and each.owner is None and not each.locked]
    if not free:
        if form.get("system_id"):
            raise conflict(f"No machine with system ID {form.get('system_id')} available.")
        wanted = " ".join(f"{key}={value}" for key, value in constraints)
        raise conflict(f"No available machine matches constraints: {wanted}" if wanted else "No machine available.")
    if not form.flag("dry_run"):
        lifecycle.allocate(call, free[0])
    return free[0]


def release(call: Call) -> list[str]:
    """Release several machines, all or none. Disks are erased only if the site's setting says so."""
    machines = _named(call)
    for machine in machines:
        if machine.locked:
            raise MaasError(403, LOCKED)
    wrong = [
        f"{each.system_id} ('{each.status.label}')"
        for each in machines
        if each.status not in RELEASABLE | RELEASED_ALREADY
    ]
    if wrong:
        raise conflict(f"Machine(s) cannot be released in their current state: {', '.join(wrong)}.")
    released = [each for each in machines if each.status in RELEASABLE]
    for machine in released:
        lifecycle.must_be_releasable(call, machine)
    for machine in released:
        lifecycle.begin_release(call, machine)
    return [each.system_id for each in released]


def accept(call: Call) -> list[Machine]:
    """Commission new machines."""
    call.must_administer()
    machines = _named(call)
    wrong = [each.system_id for each in machines if each.status is not Status.NEW]
    if wrong:
        raise conflict(f"Cannot accept machines that are not New: {', '.join(wrong)}.")
    return _accepted(call, machines)


def accept_all(call: Call) -> list[Machine]:
    """Commission every new machine."""
    call.must_administer()
    return _accepted(call, [each for each in visible(call) if each.status is Status.NEW])


def _accepted(call: Call, machines: list[Machine]) -> list[Machine]:
    for machine in machines:
        lifecycle.begin_commissioning(call, machine)
    return machines


def _named(call: Call) -> list[Machine]:
    wanted = list(dict.fromkeys(call.form.all("machines")))
    unknown = [each for each in wanted if each not in call.region.machines]
    if unknown:
        raise MaasError(400, f"Unknown machine(s): {', '.join(unknown)}.")
    machines = [call.region.machines[each] for each in wanted]
    if not all(map(call.sees, machines)):
        raise MaasError(403, FORBIDDEN)
    return machines


OPERATIONS: Operations = {
    ("GET", None): read,
    ("POST", None): create,
    ("POST", "create"): create,
    ("GET", "list_allocated"): list_allocated,
    ("GET", "power_parameters"): power_parameters,
    ("POST", "allocate"): allocate,
    ("POST", "release"): release,
    ("POST", "accept"): accept,
    ("POST", "accept_all"): accept_all,
}
