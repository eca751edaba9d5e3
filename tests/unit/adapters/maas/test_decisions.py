"""What is done about a machine: every status, for every operation, whoever has it (contract maas, 11)."""

from itertools import product

import pytest

from shipyard_api.adapters.maas.decisions import (
    DONE,
    WAIT,
    Decision,
    History,
    Kind,
    Machine,
    Owner,
    Rules,
    Status,
    Verb,
    arrived,
    decide,
    decide_missing,
    holds_nothing_to_release,
    start,
)
from shipyard_api.ports.provisioner import Operation, Wipe
from tests.unit.tables import every_row

PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
FAIL = "fail"
COMMISSION, DEPLOYS, RELEASE, ERASE = map(start, (Verb.COMMISSION, Verb.DEPLOY, Verb.RELEASE, Verb.ERASE))
ABORT, OVERRIDE, DELETE, OFF = map(start, (Verb.ABORT, Verb.OVERRIDE_TESTS, Verb.DELETE, Verb.POWER_OFF))
Expected = Decision | str

# Columns: prepare, deploy and destroy of a machine that is ours, then of one that nobody has.
TABLE: dict[Status, tuple[Expected, Expected, Expected, Expected, Expected, Expected]] = {
    Status.NEW: (COMMISSION, FAIL, DELETE, COMMISSION, FAIL, DELETE),
    Status.COMMISSIONING: (WAIT, FAIL, ABORT, WAIT, FAIL, ABORT),
    Status.FAILED_COMMISSIONING: (COMMISSION, FAIL, DELETE, COMMISSION, FAIL, DELETE),
    Status.MISSING: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.READY: (DONE, DEPLOYS, DELETE, DONE, DEPLOYS, DELETE),
    Status.RESERVED: (FAIL, FAIL, ERASE, FAIL, FAIL, ERASE),
    Status.DEPLOYED: (DONE, DONE, ERASE, FAIL, FAIL, ERASE),
    Status.RETIRED: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.BROKEN: (COMMISSION, FAIL, ERASE, COMMISSION, FAIL, ERASE),
    Status.DEPLOYING: (DONE, WAIT, ABORT, FAIL, FAIL, ABORT),
    Status.ALLOCATED: (DONE, DEPLOYS, ERASE, FAIL, FAIL, ERASE),
    Status.FAILED_DEPLOYMENT: (RELEASE, FAIL, ERASE, RELEASE, FAIL, ERASE),
    Status.RELEASING: (WAIT, FAIL, WAIT, WAIT, FAIL, WAIT),
    Status.FAILED_RELEASING: (RELEASE, FAIL, ERASE, RELEASE, FAIL, ERASE),
    Status.DISK_ERASING: (WAIT, FAIL, WAIT, WAIT, FAIL, WAIT),
    Status.FAILED_DISK_ERASING: (ERASE, FAIL, ERASE, ERASE, FAIL, ERASE),
    Status.RESCUE_MODE: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.ENTERING_RESCUE_MODE: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.FAILED_ENTERING_RESCUE_MODE: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.EXITING_RESCUE_MODE: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.FAILED_EXITING_RESCUE_MODE: (FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
    Status.TESTING: (WAIT, FAIL, ABORT, WAIT, FAIL, ABORT),
    Status.FAILED_TESTING: (FAIL, FAIL, OVERRIDE, FAIL, FAIL, DELETE),
}

# What changes once the job has taken the machine on: what it shows then is the job's own doing.
BEGUN: dict[tuple[Operation, Status], Expected] = {
    (PREPARE, Status.NEW): FAIL,
    (PREPARE, Status.FAILED_COMMISSIONING): FAIL,
    (PREPARE, Status.BROKEN): FAIL,
    (PREPARE, Status.FAILED_DEPLOYMENT): FAIL,
    (PREPARE, Status.FAILED_RELEASING): FAIL,
    (PREPARE, Status.FAILED_DISK_ERASING): FAIL,
    (DEPLOY, Status.READY): FAIL,
    (DEPLOY, Status.ALLOCATED): FAIL,
    (DESTROY, Status.FAILED_DISK_ERASING): FAIL,
    (DESTROY, Status.FAILED_RELEASING): FAIL,
}


def machine(status: int, **values: object) -> Machine:
    return Machine("abc123", "n1", status, Status(status).name.capitalize(), **{"power": "off", **values})  # type: ignore[arg-type]


def expected(status: Status, operation: Operation, owner: Owner) -> Expected:
    column = (PREPARE, DEPLOY, DESTROY).index(operation) + (3 if owner is Owner.NOBODY else 0)
    return TABLE[status][column]


def plain(decision: Decision) -> Expected:
    """A decision without its reason, which each failure must have."""
    return FAIL if decision.kind is Kind.FAIL and decision.why else decision


def assert_is(decision: Decision, wanted: Expected) -> None:
    assert plain(decision) == wanted


def asked(status: int, owner: Owner, operation: Operation, **how: object) -> Decision:
    history = History(claimed=bool(how.pop("begun", False)), stopped=bool(how.pop("stopped", False)))
    rules, wipe = how.pop("rules", Rules()), how.pop("wipe", Wipe.ALL)
    names = {Owner.US: "shipyard", Owner.NOBODY: "", Owner.OTHER: "alice"}
    return decide(machine(status, owner=names[owner], **how), owner, history, operation, rules, wipe)  # type: ignore[arg-type]


def test_the_table_holds_every_status_that_maas_has() -> None:
    assert sorted(TABLE) == list(range(23))


@pytest.mark.parametrize("operation", [PREPARE, DEPLOY, DESTROY], ids=lambda one: one.value)
@pytest.mark.parametrize("owner", [Owner.US, Owner.NOBODY], ids=lambda owner: owner.value)
class TestEachStatus:
    def test_what_a_job_finds_is_decided_by_the_table(self, operation: Operation, owner: Owner) -> None:
        found = {status: plain(asked(status, owner, operation)) for status in Status}
        assert found == {status: expected(status, operation, owner) for status in Status}

    def test_what_a_job_has_taken_on_fails_by_its_own_doing(self, operation: Operation, owner: Owner) -> None:
        found = {status: plain(asked(status, owner, operation, begun=True)) for status in Status}
        at_first = {status: expected(status, operation, owner) for status in Status}
        assert found == {status: BEGUN.get((operation, status), wanted) for status, wanted in at_first.items()}

    @pytest.mark.parametrize("how", ["locked", "stopped"])
    def test_a_locked_machine_is_never_touched_and_a_stopped_job_begins_nothing(
        self, operation: Operation, owner: Owner, how: str
    ) -> None:
        found = {status: plain(asked(status, owner, operation, **{how: True})) for status in Status}
        free = {status: expected(status, operation, owner) for status in Status}
        assert found == {
            status: FAIL if isinstance(wanted, Decision) and wanted.verb else wanted for status, wanted in free.items()
        }


ON = History(claimed=True, begun=True, switches_on=True)
OFF_AGAIN, SWITCH_ON = start(Verb.SWITCH_OFF), start(Verb.SWITCH_ON)
POWER: dict[str, tuple[Status, str, History, Expected]] = {
    "at first": (Status.DEPLOYED, "on", History(), OFF_AGAIN),
    "it never arrived": (Status.DEPLOYED, "on", History(begun=True), OFF_AGAIN),
    "its power goes off": (Status.DEPLOYED, "on", History(begun=True, claimed=True), WAIT),
    "no BMC": (Status.DEPLOYED, "error", History(begun=True, claimed=True), FAIL),
    "off": (Status.DEPLOYED, "off", History(begun=True, claimed=True), SWITCH_ON),
    "off, and stopped": (Status.DEPLOYED, "off", History(begun=True, claimed=True, stopped=True), SWITCH_ON),
    "its power comes on": (Status.DEPLOYED, "off", ON, SWITCH_ON),  # its events say that it must not be sent again
    "on again": (Status.DEPLOYED, "on", ON, DONE),
    "no BMC any more": (Status.DEPLOYED, "error", ON, FAIL),
    "off from the start": (Status.DEPLOYED, "off", History(), SWITCH_ON),
    "stopped before": (Status.DEPLOYED, "on", History(stopped=True), FAIL),
    "off, and stopped before": (Status.DEPLOYED, "off", History(stopped=True), FAIL),
    "released meanwhile": (Status.READY, "off", ON, FAIL),
}


@every_row(POWER)
def test_a_deployed_machine_is_switched_off_and_on_once(
    status: Status, power: str, history: History, wanted: Expected
) -> None:
    found = decide(machine(status, power=power), Owner.US, history, Operation.POWER_CYCLE_NODES, Rules())
    assert_is(found, wanted)
    nobodys = decide(machine(status, power=power), Owner.NOBODY, history, Operation.POWER_CYCLE_NODES, Rules())
    assert_is(nobodys, FAIL)


SCRIPTS: dict[str, tuple[Status, History, Expected]] = {
    "they run first": (Status.READY, History(wants_scripts=True), start(Verb.RUN_SCRIPTS)),
    "they run": (Status.COMMISSIONING, History(wants_scripts=True), WAIT),
    "tests run": (Status.TESTING, History(wants_scripts=True, started_scripts=True), WAIT),
    "asked about later": (Status.COMMISSIONING, History(started_scripts=True), WAIT),
    "they ran": (Status.READY, History(wants_scripts=True, started_scripts=True), start(Verb.DEPLOY)),
    "they failed": (Status.FAILED_COMMISSIONING, History(wants_scripts=True, started_scripts=True), FAIL),
    "a test failed": (Status.FAILED_TESTING, History(wants_scripts=True, started_scripts=True), FAIL),
    "deploying": (Status.DEPLOYING, History(claimed=True, wants_scripts=True, started_scripts=True), WAIT),
    "undone": (Status.READY, History(claimed=True, wants_scripts=True, started_scripts=True), FAIL),
    "stopped before": (Status.READY, History(stopped=True, wants_scripts=True), FAIL),
    "stopped after": (Status.READY, History(stopped=True, wants_scripts=True, started_scripts=True), FAIL),
    "deployed": (Status.DEPLOYED, History(wants_scripts=True), DONE),
}


@every_row(SCRIPTS)
def test_commissioning_scripts_of_a_template_run_once_before_the_deployment(
    status: Status, history: History, wanted: Expected
) -> None:
    assert_is(decide(machine(status, owner="shipyard"), Owner.US, history, DEPLOY, Rules()), wanted)


@every_row(product([PREPARE, DEPLOY, DESTROY], [False, True]))
def test_a_machine_of_another_user_is_never_touched(operation: Operation, begun: bool) -> None:
    decisions = {status: asked(status, Owner.OTHER, operation, begun=begun) for status in Status}
    if operation is PREPARE:
        assert decisions.pop(Status.COMMISSIONING) == WAIT  # whoever commissions a machine has it for that long
    assert {decision.kind for decision in decisions.values()} == {Kind.FAIL}
    assert [status for status, decision in decisions.items() if "alice" not in decision.why] == []


@every_row(product([PREPARE, DEPLOY, DESTROY], Owner, [-1, 23, 99]))
def test_a_status_of_a_later_release_fails(operation: Operation, owner: Owner, status: int) -> None:
    strange = Machine("abc123", "n1", status, "Levitating", owner="" if owner is Owner.NOBODY else "someone")
    assert decide(strange, owner, History(), operation, Rules()).kind is Kind.FAIL


RULED = [
    (PREPARE, Status.FAILED_TESTING, Rules(override_failed_testing=True), OVERRIDE),
    (PREPARE, Status.FAILED_DEPLOYMENT, Rules(release_failed=False), FAIL),
    (PREPARE, Status.FAILED_RELEASING, Rules(release_failed=False), FAIL),
    (PREPARE, Status.FAILED_DISK_ERASING, Rules(release_failed=False), FAIL),
    (DESTROY, Status.READY, Rules(keep_enlisted=True), DONE),
    (DESTROY, Status.NEW, Rules(keep_enlisted=True), DONE),
    (DESTROY, Status.DEPLOYED, Rules(keep_enlisted=True), ERASE),
]


@every_row(RULED)
def test_what_an_operator_may_decide(operation: Operation, status: Status, rules: Rules, wanted: Expected) -> None:
    assert_is(asked(status, Owner.NOBODY, operation, rules=rules), wanted)


RELEASED = [status for status, row in TABLE.items() if row[2] == ERASE]


@every_row(RELEASED)
def test_disks_that_are_to_be_kept_are_never_erased(status: Status) -> None:
    assert asked(status, Owner.US, DESTROY, wipe=Wipe.OS_DISK_ONLY) == RELEASE


@every_row(product(Owner, [False, True]))
def test_only_failed_erasing_is_erased_again_by_a_prepare(owner: Owner, begun: bool) -> None:
    erased = {status for status in Status if asked(status, owner, PREPARE, begun=begun).verb is Verb.ERASE}
    assert erased <= {Status.FAILED_DISK_ERASING}


@every_row([("on", OFF), ("error", OFF), ("off", DELETE), ("unknown", DELETE)])
def test_a_machine_is_switched_off_before_it_is_removed(power: str, wanted: Decision) -> None:
    assert asked(Status.READY, Owner.NOBODY, DESTROY, power=power) == wanted


def test_a_machine_that_maas_does_not_know_is_destroyed_and_nothing_else() -> None:
    assert decide_missing(DESTROY) == DONE
    assert decide_missing(PREPARE).why == decide_missing(DEPLOY).why == "not enlisted in MAAS"


@every_row(Status)
def test_what_cannot_be_erased_is_what_a_destroy_would_not_release(status: Status) -> None:
    unowned = machine(status)
    passive = status in {Status.NEW, Status.COMMISSIONING, Status.FAILED_COMMISSIONING, Status.READY}
    assert holds_nothing_to_release(unowned, Owner.NOBODY) == (passive or status is Status.FAILED_TESTING)
    assert holds_nothing_to_release(unowned, Owner.US) == passive


@every_row(
    [
        (Verb.COMMISSION, "Commissioning"),
        (Verb.COMMISSION, "User starting node commissioning"),
        (Verb.RUN_SCRIPTS, "Failed commissioning"),
        (Verb.DEPLOY, "User starting deployment"),
        (Verb.RELEASE, "User releasing node"),
        (Verb.RELEASE, "Disk erasing"),
        (Verb.ERASE, "User erasing disk"),
        (Verb.SWITCH_OFF, "User powering down node"),
        (Verb.SWITCH_OFF, "Powering off"),
        (Verb.SWITCH_ON, "User powering up node"),
        (Verb.SWITCH_ON, "Powering on"),
    ],
)
def test_an_event_of_its_kind_shows_that_an_operation_arrived(verb: Verb, event: str) -> None:
    assert arrived(verb, ["Power cycling", event])
    assert not arrived(verb, ["Power cycling", "Node changed status", "Testing"])
    assert not arrived(verb, [])
