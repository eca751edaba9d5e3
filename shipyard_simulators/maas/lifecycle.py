"""The lifecycle operations of a machine. Each answers at once; clients poll for the result."""

import base64
import binascii

from shipyard_simulators.maas import plans
from shipyard_simulators.maas.calls import Call, Operations
from shipyard_simulators.maas.errors import FORBIDDEN, LOCKED, MaasError, conflict, invalid, unavailable
from shipyard_simulators.maas.images import DEFAULT_SERIES, IMAGES, find_image, is_kernel
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.statuses import (
    COMMISSIONABLE,
    RELEASABLE,
    RELEASED_ALREADY,
    RESCUABLE,
    TESTABLE,
    Status,
)
from shipyard_simulators.outcomes import NodeOutcomeKind

_ABORTED = {
    Status.COMMISSIONING: Status.NEW,
    Status.DEPLOYING: Status.ALLOCATED,
    Status.DISK_ERASING: Status.FAILED_DISK_ERASING,
}


def commission(call: Call) -> Machine:
    """Commission a machine, which includes its tests."""
    machine, form = call.administered(), call.form
    if machine.locked:
        raise invalid("__all__", LOCKED)
    if machine.status not in COMMISSIONABLE:
        raise unavailable("Commission")
    scripts = form.get("testing_scripts")
    begin_commissioning(call, machine, tests=scripts != "none", stays_on=form.flag("enable_ssh"))
    return machine


def begin_commissioning(call: Call, machine: Machine, *, tests: bool = True, stays_on: bool = False) -> None:
    """Start commissioning the machine."""
    machine.previous = machine.status
    _begin(call, machine, Status.COMMISSIONING, scripts=0)
    machine.owner = call.account.name
    plans.plan_commissioning(call.region, machine, call.now, tests=tests, stays_on=stays_on)


def run_tests(call: Call) -> Machine:
    """Test a machine."""
    machine, form = call.administered(), call.form
    if machine.locked:
        raise MaasError(403, LOCKED)
    if machine.status not in TESTABLE:
        raise unavailable("Test")
    stays_on = form.flag("enable_ssh")
    if machine.status is not Status.FAILED_TESTING:
        machine.previous = machine.status
    _begin(call, machine, Status.TESTING, scripts=2)
    plans.plan_test_run(call.region, machine, call.now, stays_on=stays_on)
    return machine


def deploy(call: Call) -> Machine:
    """Deploy a machine; a Ready one is allocated first."""
    machine, form = call.editable(), call.form
    if machine.status not in (Status.READY, Status.ALLOCATED):
        raise conflict(f"Can't deploy a machine that is in the '{machine.status.label}' state")
    series = form.get("distro_series") or DEFAULT_SERIES
    image = find_image(series)
    if image is None:
        known = ", ".join(f"'{each.name}'" for each in IMAGES)
        raise invalid("distro_series", f"'{series}' is not a valid distro_series.  It should be one of: {known}.")
    kernel = form.get("hwe_kernel")
    if kernel and not is_kernel(kernel):
        raise invalid("hwe_kernel", f"{kernel} is not available for {image.name} on {machine.architecture}.")
    try:
        user_data = base64.b64decode(form.get("user_data"), validate=False).decode("utf-8", "replace")
    except binascii.Error as cause:
        raise invalid("user_data", "This is no base64.") from cause
    ephemeral = form.flag("ephemeral_deploy")
    if call.region.scenario.node_outcome(machine.hostname, "deploy").kind is NodeOutcomeKind.REFUSE:
        outcome = plans.outcome_of(call.region, machine, "deploy")
        if outcome.kind is NodeOutcomeKind.REFUSE:
            raise MaasError(503, outcome.reason or "No more IPs available in the subnet.")
    if machine.status is Status.READY:
        allocate(call, machine)
    machine.agent_name = form.get("agent_name") or machine.agent_name
    machine.osystem, machine.distro_series = image.system, image.series
    machine.hwe_kernel, machine.user_data = kernel or image.kernel, user_data
    machine.ephemeral_deploy = ephemeral
    _begin(call, machine, Status.DEPLOYING, scripts=1)
    plans.plan_deployment(call.region, machine, call.now)
    return machine


def allocate(call: Call, machine: Machine) -> None:
    """Allocate the machine to the user."""
    machine.owner = call.account.name
    machine.agent_name = call.form.get("agent_name")
    call.region.change(machine, Status.ALLOCATED, call.now, call.cause, call.form.get("comment"))


def release(call: Call) -> Machine:
    """Release a machine; erase its disks first if the request or the site's setting says so."""
    machine, form = call.editable(), call.form
    must_be_releasable(call, machine)
    if machine.status in RELEASED_ALREADY:
        return machine
    quickly = form.flag("quick_erase") or form.flag("secure_erase")
    begin_release(call, machine, erase=form.flag("erase") or quickly, quickly=quickly)
    return machine


def begin_release(call: Call, machine: Machine, *, erase: bool = False, quickly: bool = False) -> None:
    """Start releasing the machine; erase its disks first if the request or the site's setting says so."""
    if erase or erases_always(call):
        _begin(call, machine, Status.DISK_ERASING)
        plans.plan_erasing(call.region, machine, call.now, quickly=quickly)
    else:
        _begin(call, machine, Status.RELEASING)
        plans.plan_release(call.region, machine, call.now)


def must_be_releasable(call: Call, machine: Machine) -> None:
    """Raise MaasError unless the machine can be released."""
    refused = machine.status in RELEASABLE and (
        call.region.scenario.node_outcome(machine.hostname, "release").kind is NodeOutcomeKind.REFUSE
        and plans.outcome_of(call.region, machine, "release").kind is NodeOutcomeKind.REFUSE
    )
    if refused or machine.status not in RELEASABLE | RELEASED_ALREADY:
        label = machine.status.label
        raise conflict(f"Machine cannot be released in its current state ('{label}').")


def erases_always(call: Call) -> bool:
    """Return whether the site's setting erases disks with every release."""
    name = "enable_disk_erasing_on_release"
    return bool(call.region.settings.get(name, call.region.scenario.region.erase_on_release))


def abort(call: Call) -> Machine:
    """Abort the running operation, if its status allows that."""
    machine = call.editable()
    status = machine.previous if machine.status is Status.TESTING else _ABORTED.get(machine.status)
    if status is None:
        raise conflict(f"Cannot abort a machine that is in the '{machine.status.label}' state.")
    comment = call.form.get("comment")
    machine.interrupt(call.now)
    call.region.change(machine, status, call.now, call.cause, comment)
    if status is not Status.DEPLOYED:
        plans.switch(call.region, machine, "off", call.now)
    return machine


def mark_broken(call: Call) -> Machine:
    """Mark a machine as broken, which only its owner may; it loses its owner."""
    machine = call.editable()
    if machine.owner != call.account.name:
        raise MaasError(403, FORBIDDEN)
    comment = call.form.get("comment")
    machine.interrupt(call.now)
    if machine.status in RELEASABLE - {Status.BROKEN}:
        call.region.change(machine, Status.RELEASING, call.now, call.cause)
    if machine.status is not Status.BROKEN:
        call.region.change(machine, Status.BROKEN, call.now, call.cause, comment)
    machine.owner, machine.error_description = None, comment
    if machine.power_state == "on":
        plans.switch(call.region, machine, "off", call.now)
    return machine


def mark_fixed(call: Call) -> Machine:
    """Mark a broken machine as fixed."""
    machine = call.editable()
    call.must_administer()
    if machine.status is not Status.BROKEN:
        raise conflict(f"Can't mark a non-broken machine as 'fixed'. It is in the '{machine.status.label}' state.")
    call.region.change(machine, Status.READY, call.now, call.cause, call.form.get("comment"))
    return machine


def override_failed_testing(call: Call) -> Machine:
    """Ignore failed tests."""
    machine = call.editable()
    call.must_administer()
    if machine.status is not Status.FAILED_TESTING:
        raise conflict(f"Cannot override the tests of a machine that is in the '{machine.status.label}' state.")
    status = Status.DEPLOYED if machine.previous is Status.DEPLOYED else Status.READY
    call.region.change(machine, status, call.now, call.cause, call.form.get("comment"))
    return machine


def rescue_mode(call: Call) -> Machine:
    """Boot a machine into rescue mode."""
    machine = call.administered()
    if machine.locked or machine.status not in RESCUABLE:
        raise conflict(f"Cannot enter rescue mode from the '{machine.status.label}' state.")
    machine.previous = machine.status
    _rescue(call, machine, Status.ENTERING_RESCUE_MODE, Status.RESCUE_MODE, "on")
    return machine


def exit_rescue_mode(call: Call) -> Machine:
    """End rescue mode; the machine returns to its former status."""
    machine = call.administered()
    if machine.status is not Status.RESCUE_MODE:
        raise conflict(f"Cannot exit rescue mode from the '{machine.status.label}' state.")
    power = "on" if machine.previous is Status.DEPLOYED else "off"
    _rescue(call, machine, Status.EXITING_RESCUE_MODE, machine.previous, power)
    return machine


def _rescue(call: Call, machine: Machine, begin: Status, end: Status, power: str) -> None:
    _begin(call, machine, begin)
    failed = {
        Status.ENTERING_RESCUE_MODE: Status.FAILED_ENTERING_RESCUE_MODE,
        Status.EXITING_RESCUE_MODE: Status.FAILED_EXITING_RESCUE_MODE,
    }
    answered = plans.switch(call.region, machine, power, call.now)
    machine.pending[-1].status = end if answered else failed[begin]


def _begin(call: Call, machine: Machine, status: Status, *, scripts: int | None = None) -> None:
    machine.interrupt(call.now)
    if scripts is not None:
        call.region.run_scripts(machine, scripts, call.now)
    comment = call.body.get("comment") if call.body else ""
    call.region.change(machine, status, call.now, call.cause, comment)


OPERATIONS: Operations = {
    ("POST", "commission"): commission,
    ("POST", "test"): run_tests,
    ("POST", "deploy"): deploy,
    ("POST", "release"): release,
    ("POST", "abort"): abort,
    ("POST", "mark_broken"): mark_broken,
    ("POST", "mark_fixed"): mark_fixed,
    ("POST", "override_failed_testing"): override_failed_testing,
    ("POST", "rescue_mode"): rescue_mode,
    ("POST", "exit_rescue_mode"): exit_rescue_mode,
}
