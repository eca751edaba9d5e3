"""Operations on one machine outside of its lifecycle: read, change, delete, power, lock and annotations."""

from typing import Any

from shipyard_simulators.maas import bson, lifecycle, plans
from shipyard_simulators.maas.calls import Call, Operations, Reply
from shipyard_simulators.maas.errors import FORBIDDEN, MaasError, conflict, invalid
from shipyard_simulators.maas.hardware import addresses_of
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.site import HOSTNAME
from shipyard_simulators.maas.statuses import Status
from shipyard_simulators.outcomes import NodeOutcomeKind
from shipyard_simulators.parts import lldp, lshw

_BMC_PATIENCE = 60
_PARAMETER = "power_parameters_"


def read(call: Call) -> Machine:
    """Return the machine."""
    return call.machine()


def update(call: Call) -> Machine:
    """Change a machine's name, its place, or its power parameters."""
    machine, form, region = call.administered(), call.form, call.region
    if machine.locked:
        raise MaasError(403, FORBIDDEN)
    hostname, domain = form.get("hostname", machine.hostname), form.get("domain", machine.domain)
    check_hostname(call, hostname, domain, machine)
    for name, places in (("zone", region.zones), ("pool", region.pools)):
        if name in form and form.get(name) not in places:
            raise invalid(name, "Select a valid choice. That choice is not one of the available choices.")
    machine.hostname, machine.domain = hostname, domain
    for name in ("zone", "pool", "description", "power_type", "architecture"):
        if name in form:
            setattr(machine, name, form.get(name))
    machine.power_parameters |= power_parameters_of(call)
    region.touch()
    return machine


def check_hostname(call: Call, hostname: str, domain: str, machine: Machine | None = None) -> None:
    """Raise MaasError for a name that is invalid or taken in the domain."""
    if not HOSTNAME.fullmatch(hostname):
        raise invalid("hostname", f"Name contains disallowed characters: '{hostname}'.")
    taken = {each.fqdn for each in call.region.machines.values() if each is not machine}
    if f"{hostname}.{domain}" in taken:
        raise invalid("hostname", f"Node with hostname '{hostname}' already exists")


def power_parameters_of(call: Call) -> dict[str, str]:
    """Return the power parameters of a form."""
    return {name.removeprefix(_PARAMETER): value for name, value in call.form.pairs() if name.startswith(_PARAMETER)}


def delete(call: Call) -> Reply:
    """Delete a machine in any status; the hardware is not touched."""
    machine = call.administered()
    outcome = plans.outcome_of(call.region, machine, "delete")
    if outcome.kind is NodeOutcomeKind.REFUSE:
        raise MaasError(400, outcome.reason or f"Cannot delete {machine.hostname}: something depends on it.")
    call.region.remove(machine, call.now, call.cause)
    return Reply(status=204)


def power_on(call: Call) -> Machine:
    """Switch on a machine that has an owner."""
    machine, _ = call.editable(), call.form
    if machine.owner is None:
        raise conflict(f"Cannot start a machine that is in the '{machine.status.label}' state: it is not allocated.")
    call.region.note(machine, call.now, "Powering on", _comment(call), user=call.account.name)
    plans.switch(call.region, machine, "on", call.now)
    return machine


def power_off(call: Call) -> Machine | None:
    """Switch off a machine; a running operation stops reporting."""
    machine, _ = call.editable(), call.form
    if machine.power_type in ("", "manual"):
        return None
    call.region.note(machine, call.now, "Powering off", _comment(call), user=call.account.name)
    plans.silence(call.region, machine, call.now)
    plans.switch(call.region, machine, "off", call.now)
    return machine


def query_power_state(call: Call) -> Reply:
    """Query the BMC, which may be slow."""
    machine = call.machine()
    kind = call.region.scenario.node_outcome(machine.hostname, "bmc").kind
    patience = call.region.clock.scaled(_BMC_PATIENCE)
    if not plans.bmc_answers(call.region, machine):
        call.region.power(machine, "error", call.now, call.cause, "the BMC did not answer")
        return Reply({"state": "error"}, wait=patience if kind is NodeOutcomeKind.NEVER else 0)
    if machine.power_state == "error":
        # The former power state was not kept; the status implies it.
        on = machine.status in (Status.DEPLOYED, Status.DEPLOYING, Status.COMMISSIONING, Status.TESTING)
        call.region.power(machine, "on" if on else "off", call.now, call.cause)
    return Reply({"state": machine.power_state}, wait=patience / 2 if kind is NodeOutcomeKind.SLOW else 0)


def power_parameters(call: Call) -> dict[str, Any]:
    """Return the power parameters, secrets included."""
    return dict(call.administered().power_parameters)


def details(call: Call) -> Reply:
    """Return the hardware details, as BSON."""
    machine = call.machine()
    parts = call.region.scenario.parts(machine.hostname)
    inventory = f'<list><node id="{machine.hostname}" class="system"/></list>'
    neighbours = '<lldp label="LLDP neighbors"/>'
    if parts is not None:
        macs = addresses_of(machine, len(parts.nics))
        inventory, neighbours = lshw(machine.hostname, parts, macs), lldp(parts)
    content = {"lshw": inventory.encode(), "lldp": neighbours.encode()}
    return Reply(bson.dumps(content), content_type="application/bson")


def annotate(call: Call) -> Machine:
    """Set annotations of the user's own machine; an empty value removes one."""
    machine = call.editable()
    if machine.owner != call.account.name:
        raise conflict("Cannot set workload annotations: the machine is not owned by the caller.")
    for key, value in call.form.pairs():
        if key == "op":
            continue
        machine.annotations.pop(key, None)
        if value:
            machine.annotations[key] = value
    call.region.touch()
    return machine


def lock(call: Call) -> Machine:
    """Lock the machine against changes."""
    machine = call.machine()
    machine.locked = True
    call.region.note(machine, call.now, "Locked", _comment(call), user=call.account.name)
    return machine


def unlock(call: Call) -> Machine:
    """Unlock the machine."""
    machine = call.machine()
    machine.locked = False
    call.region.note(machine, call.now, "Unlocked", _comment(call), user=call.account.name)
    return machine


def configure(call: Call) -> Machine:
    """Accept a change of network or storage from an administrator while the machine is Ready; it has no effect here."""
    machine = call.editable()
    call.must_administer()
    if machine.status is not Status.READY:
        raise conflict(f"Cannot change a machine that is in the '{machine.status.label}' state: it is not Ready.")
    return machine


def _comment(call: Call) -> str:
    return call.body.get("comment") if call.body else ""


OPERATIONS: Operations = {
    ("GET", None): read,
    ("PUT", None): update,
    ("DELETE", None): delete,
    **lifecycle.OPERATIONS,
    ("POST", "power_on"): power_on,
    ("POST", "power_off"): power_off,
    ("GET", "query_power_state"): query_power_state,
    ("GET", "power_parameters"): power_parameters,
    ("GET", "details"): details,
    ("POST", "set_workload_annotations"): annotate,
    ("POST", "set_owner_data"): annotate,
    ("POST", "lock"): lock,
    ("POST", "unlock"): unlock,
    ("POST", "restore_networking_configuration"): configure,
    ("POST", "restore_storage_configuration"): configure,
    ("POST", "restore_default_configuration"): configure,
    ("POST", "set_storage_layout"): configure,
    ("POST", "clear_default_gateways"): configure,
}
