"""The planned changes of a machine: from the outcomes of the scenario, and from MAAS's own limits."""

from shipyard_simulators.maas.machine import Change, Machine
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.statuses import KEPT_BY_TESTS, Status
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

_SLOW_FACTOR = 10
_OK = NodeOutcome(NodeOutcomeKind.OK)
_FINE = (NodeOutcomeKind.OK, NodeOutcomeKind.SLOW)
_NO_BMC = "the BMC did not answer"


def outcome_of(region: Region, machine: Machine, phase: str) -> NodeOutcome:
    """Return the outcome of this attempt at the phase, and count the attempt."""
    attempt = machine.attempts[phase] = machine.attempts.get(phase, 0) + 1
    region.touch()
    outcome = region.scenario.node_outcome(machine.hostname, phase)
    return _OK if outcome.times is not None and attempt > outcome.times else outcome


def bmc_answers(region: Region, machine: Machine) -> bool:
    """Return whether the BMC answers this time; a flapping one answers every other time."""
    kind = outcome_of(region, machine, "bmc").kind
    if kind is NodeOutcomeKind.FLAPS:
        return machine.attempts["bmc"] % 2 == 0
    return kind in _FINE


def switch(region: Region, machine: Machine, state: str, now: float) -> bool:
    """Switch the machine on or off, which takes a moment; return whether its BMC answers."""
    moment = now + seconds(region, "power")
    if bmc_answers(region, machine):
        machine.schedule(Change(moment, f"power {state}", power=state))
        return True
    machine.schedule(Change(moment, f"power {state}", power="error", text=_NO_BMC))
    return False


def plan_commissioning(region: Region, machine: Machine, now: float, *, tests: bool, stays_on: bool) -> None:
    """Plan the commissioning of a machine, with its tests."""
    outcome = outcome_of(region, machine, "prepare")
    if not switch(region, machine, "on", now):
        _fail_without_bmc(region, machine, now, Status.FAILED_COMMISSIONING)
        return
    if outcome.kind is NodeOutcomeKind.NEVER:
        _fail_of_silence(region, machine, now, Status.FAILED_COMMISSIONING)
        return
    moment = now + _duration(region, outcome, "prepare_nodes")
    if outcome.kind not in _FINE:
        text = outcome.reason or "commissioning scripts failed"
        machine.schedule(Change(moment, "commissioning ended", status=Status.FAILED_COMMISSIONING, text=text))
    elif tests:
        machine.schedule(Change(moment, "commissioning ended", status=Status.TESTING))
        _plan_tests(region, machine, moment, Status.READY, stays_on=stays_on)
    else:
        machine.schedule(_end(moment, "commissioning ended", Status.READY, stays_on=stays_on))


def plan_test_run(region: Region, machine: Machine, now: float, *, stays_on: bool) -> None:
    """Plan tests outside of a commissioning."""
    if switch(region, machine, "on", now):
        end = machine.previous if machine.previous in KEPT_BY_TESTS else Status.READY
        _plan_tests(region, machine, now, end, stays_on=stays_on or end is Status.DEPLOYED)
    else:
        _fail_without_bmc(region, machine, now, Status.FAILED_TESTING)


def _plan_tests(region: Region, machine: Machine, start: float, end: Status, *, stays_on: bool) -> None:
    outcome = outcome_of(region, machine, "test")
    if outcome.kind is NodeOutcomeKind.NEVER:
        _fail_of_silence(region, machine, start, Status.FAILED_TESTING)
        return
    moment = start + _duration(region, outcome, "test_machines")
    if outcome.kind is NodeOutcomeKind.FAIL:
        text = outcome.reason or "a test script failed"
        machine.schedule(Change(moment, "tests ended", status=Status.FAILED_TESTING, text=text))
        return
    machine.schedule(_end(moment, "tests ended", end, stays_on=stays_on))


def _is_crowded(region: Region) -> bool:
    room = region.scenario.region.deployments_at_once
    if room is None:
        return False
    return sum(each.status is Status.DEPLOYING for each in region.machines.values()) > room


def plan_deployment(region: Region, machine: Machine, now: float) -> None:
    """Plan the deployment of a machine."""
    outcome = outcome_of(region, machine, "deploy")
    limit = now + seconds(region, "deploy_timeout")
    moment = now + _duration(region, outcome, "deploy_nodes")
    if not switch(region, machine, "on", now):
        _fail_without_bmc(region, machine, now, Status.FAILED_DEPLOYMENT)
    elif _is_crowded(region):
        text = "could not fetch the image: too many at once"
        machine.schedule(Change(moment, "deployment ended", status=Status.FAILED_DEPLOYMENT, text=text))
    elif outcome.kind is NodeOutcomeKind.NEVER or moment > limit:
        text = outcome.reason or "the deployment took too long"
        machine.schedule(Change(limit, "deploy_timeout", status=Status.FAILED_DEPLOYMENT, text=text))
    elif outcome.kind in _FINE or outcome.kind is NodeOutcomeKind.REFUSE:
        machine.schedule(Change(moment, "deployment ended", status=Status.DEPLOYED))
    else:
        text = outcome.reason or "the installation failed"
        machine.schedule(Change(moment, "deployment ended", status=Status.FAILED_DEPLOYMENT, text=text))


def plan_erasing(region: Region, machine: Machine, now: float, *, quickly: bool) -> None:
    """Plan the erasing of the disks, and the release after it. It has no time limit: it may never end."""
    outcome = outcome_of(region, machine, "erase")
    if outcome.kind is NodeOutcomeKind.OK:
        outcome = outcome_of(region, machine, "destroy")
    if not switch(region, machine, "on", now):
        _fail_without_bmc(region, machine, now, Status.FAILED_DISK_ERASING)
        return
    if outcome.kind is NodeOutcomeKind.NEVER:
        return
    moment = now + _duration(region, outcome, "quick_erase" if quickly else "full_erase")
    if outcome.kind not in _FINE:
        text = outcome.reason or "a disk could not be erased"
        machine.schedule(Change(moment, "erasing ended", status=Status.FAILED_DISK_ERASING, text=text))
        return
    machine.schedule(Change(moment, "erasing ended", status=Status.RELEASING))
    _plan_release(region, machine, moment, outcome_of(region, machine, "release"))


def plan_release(region: Region, machine: Machine, now: float) -> None:
    """Plan the release of a machine without erasing."""
    outcome = outcome_of(region, machine, "release")
    if outcome.kind is NodeOutcomeKind.OK:
        outcome = outcome_of(region, machine, "destroy")
    _plan_release(region, machine, now, outcome)


def _plan_release(region: Region, machine: Machine, start: float, outcome: NodeOutcome) -> None:
    limit = start + seconds(region, "release_timeout")
    moment = start + _duration(region, outcome, "release_machines")
    if outcome.kind is NodeOutcomeKind.NEVER or moment > limit:
        text = outcome.reason or "the release took too long"
        machine.schedule(Change(limit, "release_timeout", status=Status.FAILED_RELEASING, text=text))
    elif outcome.kind not in (*_FINE, NodeOutcomeKind.REFUSE):
        text = outcome.reason or "the release failed"
        machine.schedule(Change(moment, "release ended", status=Status.FAILED_RELEASING, text=text))
    elif machine.power_state == "off" and not machine.pending:
        machine.schedule(Change(start, "release ended", status=Status.READY))
    elif bmc_answers(region, machine):
        machine.schedule(Change(moment, "release ended", status=Status.READY, power="off"))
    else:
        machine.schedule(
            Change(start + seconds(region, "power"), "power off", power="error", text=_NO_BMC),
            Change(limit, "release_timeout", status=Status.FAILED_RELEASING, text=_NO_BMC),
        )


def silence(region: Region, machine: Machine, now: float) -> None:
    """Stop all reports of a machine: running work ends at MAAS's time limits, if it has one."""
    limits = {
        Status.COMMISSIONING: ("node_timeout", Status.FAILED_COMMISSIONING),
        Status.TESTING: ("node_timeout", Status.FAILED_TESTING),
        Status.DEPLOYING: ("deploy_timeout", Status.FAILED_DEPLOYMENT),
    }
    if machine.status in limits:
        name, status = limits[machine.status]
        machine.pending = [Change(now + seconds(region, name), name, status=status, power="off")]
    elif machine.status is Status.DISK_ERASING:
        machine.pending = []


def seconds(region: Region, name: str) -> float:
    """Return the usual duration, in real seconds."""
    return region.clock.scaled(region.scenario.durations[name])


def _duration(region: Region, outcome: NodeOutcome, name: str) -> float:
    if outcome.seconds is not None:
        return region.clock.scaled(outcome.seconds)
    return seconds(region, name) * (_SLOW_FACTOR if outcome.kind is NodeOutcomeKind.SLOW else 1)


def _end(moment: float, cause: str, status: Status, *, stays_on: bool) -> Change:
    return Change(moment, cause, status=status, power=None if stays_on else "off")


def _fail_without_bmc(region: Region, machine: Machine, now: float, status: Status) -> None:
    moment = now + seconds(region, "power")
    machine.schedule(Change(moment, "power", status=status, text=_NO_BMC))


def _fail_of_silence(region: Region, machine: Machine, start: float, status: Status) -> None:
    moment = start + seconds(region, "node_timeout")
    text = "nothing was heard of it for too long"
    machine.schedule(Change(moment, "node_timeout", status=status, power="off", text=text))
