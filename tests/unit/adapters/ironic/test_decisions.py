"""What becomes of a node in each state: the tables of a prepare, a deployment, a destroy and a stop."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.adapters.ironic.decisions import (
    Decision,
    Do,
    Done,
    Failed,
    Job,
    NodePolicy,
    Verb,
    Waiting,
    begins_again,
    decide,
    interruption,
    not_at_work,
)
from shipyard_api.adapters.ironic.patches import Payload, patch_before
from shipyard_api.adapters.ironic.translate import Mark, Node, claim
from shipyard_api.domain.burn_in import BurnIn
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation
from tests.unit.tables import every_row

N1 = NodeName("n1")
MINE, EARLIER, LATER = "mine", "earlier", "later"
BEFORE, SINCE = "2026-03-02T12:00:00+00:00", "2026-03-02T12:00:01+00:00"
PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES
REBUILD, SERVICE, CYCLE = Operation.REBUILD_NODES, Operation.SERVICE_NODES, Operation.POWER_CYCLE_NODES
EVERY_STATE = (
    *("enroll", "verifying", "manageable", "inspecting", "inspect wait", "inspect failed", "cleaning", "clean wait"),
    *("clean failed", "clean hold", "available", "deploying", "wait call-back", "deploy hold", "deploy failed"),
    *("active", "deleting", "error", "adopting", "adopt failed", "rescuing", "rescue wait", "rescue"),
    *("rescue failed", "unrescuing", "unrescue failed", "servicing", "service wait", "service failed"),
    *("service hold", "a state of tomorrow", ""),
)


def node(state: str, *, mark: Mark | None = None, **more: Any) -> Node:
    return Node("u1", "n1", state, SINCE, "it broke", mark=mark, **more)


def tried(operation: Operation, *verbs: Verb, claimed: str = "") -> Mark:
    """The mark of this job, which asked for these verbs before the node changed its state."""
    return Mark(MINE, operation.value, {verb.value: BEFORE for verb in verbs}, claim=claimed)


def job(operation: Operation, **more: Any) -> Job:
    return Job(MINE, operation, **more)


def owned(state: str, by: str = MINE, mark: Mark | None = None, **more: Any) -> Node:
    """A node with an instance that Shipyard made."""
    return node(state, mark=mark or Mark(by, DEPLOY.value, claim=by), instance=claim(by, "n1"), **more)


def kind(decision: Decision) -> object:
    """Return the verb, or which of the other three it is."""
    return decision.verb if isinstance(decision, Do) else type(decision)


def table(operation: Operation, expected: Mapping[str, object], **more: Any) -> None:
    """Compare every state there is; those that are not named fail."""
    found = {state: kind(decide(node(state, **more), N1, job(operation))) for state in EVERY_STATE}
    assert found == {state: expected.get(state, Failed) for state in EVERY_STATE}


_BUSY = ("verifying", "inspecting", "inspect wait", "cleaning", "clean wait", "deleting")


def test_a_node_seen_for_the_first_time_is_prepared_from_any_state_that_allows_it() -> None:
    expected: dict[str, object] = dict.fromkeys(_BUSY, Waiting)
    expected |= {
        "enroll": Verb.MANAGE,
        "manageable": Verb.PROVIDE,
        "inspect failed": Verb.MANAGE,
        "clean failed": Verb.MANAGE,
        "available": Done,
        "deploy failed": Verb.UNDEPLOY,
        "error": Verb.UNDEPLOY,
    }
    table(PREPARE, expected)


def test_a_node_that_failed_in_our_own_try_has_failed() -> None:
    mark = tried(PREPARE, Verb.MANAGE, Verb.INSPECT, Verb.PROVIDE, Verb.UNDEPLOY)
    table(PREPARE, dict.fromkeys(_BUSY, Waiting) | {"manageable": Verb.PROVIDE, "available": Done}, mark=mark)


@every_row(["enroll", "inspect failed", "clean failed", "deploy failed", "error"])
def test_a_verb_that_was_noted_and_never_sent_is_sent_as_is_one_of_earlier_work(state: str) -> None:
    """The mark is written before the verb: a crash between both leaves the state as it was."""
    unsent = Mark(MINE, PREPARE.value, {verb.value: SINCE for verb in Verb})
    earlier = Mark(EARLIER, PREPARE.value, {verb.value: BEFORE for verb in Verb})
    for mark in (unsent, earlier):
        assert isinstance(decide(node(state, mark=mark), N1, job(PREPARE)), Do)


STEPS = {N1: [DeployStep(Interface.BIOS, "factory_reset", {}, 1)]}
INSPECT = {"policy": NodePolicy(inspect=True)}
ONCE: list[tuple[dict[str, Any], str, tuple[Verb, ...], object]] = [
    ({"steps": STEPS}, "available", (), Verb.MANAGE),
    ({"steps": STEPS}, "manageable", (Verb.MANAGE,), Verb.CLEAN),
    ({"steps": STEPS}, "cleaning", (Verb.MANAGE, Verb.CLEAN), Waiting),
    ({"steps": STEPS}, "clean hold", (Verb.MANAGE, Verb.CLEAN), Failed),
    ({"steps": STEPS}, "clean failed", (Verb.MANAGE,), Verb.MANAGE),
    ({"steps": STEPS}, "clean failed", (Verb.MANAGE, Verb.CLEAN), Failed),
    ({"steps": STEPS}, "manageable", (Verb.MANAGE, Verb.CLEAN), Verb.PROVIDE),
    ({"steps": STEPS}, "available", (Verb.MANAGE, Verb.CLEAN, Verb.PROVIDE), Done),
    ({"steps": {NodeName("n2"): STEPS[N1]}}, "manageable", (), Verb.PROVIDE),
    (INSPECT, "available", (), Verb.MANAGE),
    (INSPECT, "manageable", (Verb.MANAGE,), Verb.INSPECT),
    (INSPECT, "inspecting", (Verb.MANAGE, Verb.INSPECT), Waiting),
    (INSPECT, "manageable", (Verb.MANAGE, Verb.INSPECT), Verb.PROVIDE),
    (INSPECT, "available", (Verb.MANAGE, Verb.INSPECT, Verb.PROVIDE), Done),
    (INSPECT, "inspect failed", (), Verb.INSPECT),
    (INSPECT, "inspect failed", (Verb.MANAGE, Verb.INSPECT), Failed),
]


@every_row(ONCE)
def test_a_node_is_cleaned_by_steps_or_inspected_once_before_it_is_available(
    work: dict[str, Any], state: str, verbs: tuple[Verb, ...], expected: object
) -> None:
    assert kind(decide(node(state, mark=tried(PREPARE, *verbs)), N1, job(PREPARE, **work))) == expected


BURN_IN = BurnIn({"cpu": 600, "memory": 60})


@every_row(
    [
        ("", "available", Verb.MANAGE),
        ("burnin_cpu=600 burnin_memory=60", "available", Done),
        ("burnin_cpu=600 burnin_memory=60", "manageable", Verb.PROVIDE),
        ("burnin_cpu=600 burnin_memory=60", "deploy failed", Verb.UNDEPLOY),
        ("burnin_cpu=60 burnin_memory=60", "available", Verb.MANAGE),
        ("", "active", Done),
    ],
)
def test_a_node_is_burned_in_until_it_has_passed(passed: str, state: str, expected: object) -> None:
    """Whatever other action it passed in."""
    mark = Mark(EARLIER, DEPLOY.value, claim=EARLIER, burned_in=passed)
    steps = {N1: [one.step for one in BURN_IN.steps]}
    assert kind(decide(owned(state, EARLIER, mark), N1, job(PREPARE, steps=steps))) == expected


def test_a_node_that_failed_its_burn_in_has_failed_although_someone_manages_it() -> None:
    mark = tried(PREPARE, Verb.MANAGE, Verb.CLEAN)
    found = node("manageable", mark=mark, maintenance=True, fault="clean failure")
    steps = {N1: [one.step for one in BURN_IN.steps]}
    assert decide(found, N1, job(PREPARE, steps=steps)) == Failed(
        "n1 is manageable: it broke; a step of its cleaning failed, and someone managed it since"
    )


FAULTY = {"maintenance": True, "fault": "clean failure"}
UNSENT = {"mark": Mark(MINE, DEPLOY.value, {Verb.DEPLOY.value: SINCE}, claim=MINE)}
UNSENT_REBUILD = Mark(MINE, Operation.REBUILD_NODES.value, {Verb.REBUILD.value: SINCE}, claim=EARLIER)
KEPT_FAILED = {"policy": NodePolicy(undo_failed=False)}
DROPPED = {"left_out": {N1: ("deploy.hold",)}}
NOTED = Mark(MINE, DEPLOY.value, claim=MINE, unsupported=("deploy.hold",))
UNDEPLOYED = tried(DESTROY, Verb.UNDEPLOY)
SINGLE: dict[str, tuple[Operation, dict[str, Any], Node | None, object]] = {
    "a failed deployment that is not to be undone": (PREPARE, KEPT_FAILED, node("error"), "n1 is error: it broke"),
    "deployed by us": (PREPARE, {}, owned("active"), Done),
    "deployed by earlier work of ours": (PREPARE, {}, owned("active", EARLIER), Done),
    "a failed cleaning is managed": (PREPARE, {}, node("clean failed", **FAULTY), Verb.MANAGE),
    "its maintenance is ended on the way": (PREPARE, {}, node("manageable", **FAULTY), Verb.END_MAINTENANCE),
    "its maintenance is ended at the end": (PREPARE, {}, node("available", **FAULTY), Verb.END_MAINTENANCE),
    "a deployment that somebody undid": (
        *(DEPLOY, {}),
        node("available", mark=tried(DEPLOY, Verb.DEPLOY, claimed=MINE)),
        Failed,
    ),
    "a deployment that never began": (DEPLOY, {}, owned("available", **UNSENT), Verb.DEPLOY),
    "steps are dropped while it deploys": (DEPLOY, DROPPED, owned("deploying"), Waiting),
    "they are noted when it stands still": (DEPLOY, DROPPED, owned("active"), Verb.NOTE),
    "and fail it": (DEPLOY, {}, owned("active", mark=NOTED), "n1: not supported by the node: deploy.hold"),
    "deployed before its maintenance": (DEPLOY, {}, owned("active", maintenance=True), Done),
    "data may be left": (
        *(DESTROY, {}),
        node("clean failed", **FAULTY, mark=UNDEPLOYED),
        "n1 is clean failed: it broke; the disks may hold data",
    ),
    **{
        f"a destroy that failed by ourselves: {state}": (DESTROY, {}, node(state, mark=UNDEPLOYED), Failed)
        for state in ("active", "error", "deploy failed", "clean failed")
    },
    "gone": (DESTROY, {}, None, Done),
    "gone before its preparation": (PREPARE, {}, None, Failed),
    "gone before its deployment": (DEPLOY, {}, None, Failed),
    "protected, to be prepared": (PREPARE, {}, node("error", protected=True), "n1 is protected in Ironic"),
    "protected, to be destroyed": (DESTROY, {}, node("error", protected=True), "n1 is protected in Ironic"),
    "in maintenance by a person": (
        *(PREPARE, {}),
        node("available", maintenance=True, maintenance_reason="fan"),
        "n1 is in maintenance: fan",
    ),
    "a rebuild that was never sent": (
        *(Operation.REBUILD_NODES, {}),
        owned("active", EARLIER, UNSENT_REBUILD),
        Verb.REBUILD,
    ),
    "a rebuild of nobody's node": (Operation.REBUILD_NODES, {}, node("active"), Failed),
    "a rebuild of a protected node": (Operation.REBUILD_NODES, {}, owned("active", EARLIER, protected=True), Failed),
    "a rebuild in maintenance": (Operation.REBUILD_NODES, {}, owned("active", EARLIER, maintenance=True), Failed),
    "a service of nobody's node": (Operation.SERVICE_NODES, {}, node("active"), Failed),
    "a service in maintenance": (Operation.SERVICE_NODES, {}, owned("active", EARLIER, maintenance=True), Failed),
    "a service that failed before": (
        *(Operation.SERVICE_NODES, {}),
        owned("service failed", EARLIER, maintenance=True, fault="service failure"),
        Verb.END_MAINTENANCE,
    ),
    "a second deployment in maintenance": (
        *(DEPLOY, {"again": frozenset({N1})}),
        owned("deploy failed", mark=tried(DEPLOY, Verb.DEPLOY, claimed=MINE), maintenance=True),
        "n1 is in maintenance: no reason given",
    ),
}

BROKE, STAYS = "n1 is {}: it broke", "n1 is {}, and this work cannot continue from there (it broke)"
HOLDS = "n1 is in {}: it waits for an operator"
WHY: list[tuple[Operation, Node, str]] = [
    (DEPLOY, node("deploy failed"), BROKE),
    (DEPLOY, owned("deploy failed"), BROKE),
    (DEPLOY, owned("deploy failed", EARLIER), BROKE + " (from earlier work; prepare the node first)"),
    (DEPLOY, owned("cleaning", EARLIER), STAYS),
    (DEPLOY, node("deploy hold"), HOLDS),
    (PREPARE, replace(node("rescue"), last_error=""), STAYS.removesuffix(" (it broke)")),
    (
        DESTROY,
        replace(node(""), last_error=" a\n b "),
        "n1 is in no state, and this work cannot continue from there (a b)",
    ),
    (REBUILD, owned("error", EARLIER, tried(REBUILD, Verb.REBUILD, claimed=EARLIER)), BROKE),
    (REBUILD, owned("cleaning", EARLIER), STAYS),
    (SERVICE, owned("service failed", EARLIER, tried(SERVICE, Verb.SERVICE, claimed=EARLIER)), BROKE),
    (SERVICE, owned("cleaning", EARLIER), STAYS),
    (CYCLE, node("active"), "n1 is active, and not deployed by Shipyard: it is not power-cycled"),
]


@every_row(WHY)
def test_a_failed_node_says_why_it_failed(operation: Operation, one: Node, why: str) -> None:
    assert decide(one, N1, job(operation)) == Failed(why.format(one.state))


@every_row(SINGLE)
def test_what_becomes_of_a_node(operation: Operation, more: dict[str, Any], one: Node | None, expected: object) -> None:
    decision = decide(one, N1, job(operation, **more))
    assert decision == Failed(expected) if isinstance(expected, str) else kind(decision) == expected


# Deploying


def test_a_node_of_nobody_is_deployed_from_available_only() -> None:
    table(DEPLOY, {"available": Verb.DEPLOY})


@pytest.mark.parametrize("by", [MINE, EARLIER])
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("available", Verb.DEPLOY),
        ("deploying", Waiting),
        ("wait call-back", Waiting),
        ("active", Done),
        ("deploy failed", Failed),
        ("deploy hold", Failed),
        ("cleaning", Failed),
    ],
)
def test_a_deployment_of_shipyard_is_joined(state: str, by: str, expected: object) -> None:
    assert kind(decide(owned(state, by), N1, job(DEPLOY))) == expected


# Destroying

_UNDEPLOYED = ("active", "deploy failed", "error", "wait call-back", "rescue", "rescue wait", "rescue failed")


def test_a_node_is_destroyed_from_every_state_in_which_it_is_deployed() -> None:
    expected: dict[str, object] = dict.fromkeys((*_UNDEPLOYED, "unrescue failed"), Verb.UNDEPLOY)
    expected |= dict.fromkeys(("service wait", "service failed"), Verb.UNDEPLOY)
    expected |= dict.fromkeys((*_BUSY, "deploying", "adopting", "rescuing", "unrescuing", "servicing"), Waiting)
    expected |= dict.fromkeys(("available", "manageable", "enroll", "inspect failed"), Done)
    table(DESTROY, expected | {"clean failed": Verb.MANAGE})


@every_row(
    [
        ("clean failed", "clean failure", (), Verb.MANAGE),
        ("clean failed", None, (), Failed),  # a person's maintenance
        ("manageable", "clean failure", (Verb.MANAGE,), Verb.END_MAINTENANCE),
        ("manageable", None, (Verb.MANAGE,), Failed),
        ("manageable", "", (Verb.MANAGE,), Verb.PROVIDE),
        ("cleaning", "", (Verb.MANAGE, Verb.PROVIDE), Waiting),
        ("clean failed", "clean failure", (Verb.MANAGE, Verb.PROVIDE), Failed),
        ("available", "", (Verb.MANAGE, Verb.PROVIDE), Done),
    ],
)
def test_a_cleaning_that_failed_in_earlier_work_is_done_again(
    state: str, fault: str | None, verbs: Sequence[Verb], expected: object
) -> None:
    mark = tried(DESTROY, *verbs) if verbs else None
    one = node(state, maintenance=fault != "", fault=fault or "", mark=mark)
    assert kind(decide(one, N1, job(DESTROY))) == expected


@every_row(
    [
        ({"power": "power on"}, NodePolicy(), Verb.POWER_OFF),
        ({"power": "power on", "power_target": "power off"}, NodePolicy(), Waiting),
        ({"power": "power on", "mark": tried(DESTROY, Verb.POWER_OFF)}, NodePolicy(), Failed),
        ({"power": "power off"}, NodePolicy(), Done),
        ({"power": ""}, NodePolicy(), Done),
        ({"power": "power off", "mark": Mark(MINE, "", kept={"automated_clean": None})}, NodePolicy(), Verb.PUT_BACK),
        ({"power": "power off"}, NodePolicy(remove=True), Verb.REMOVE),
    ],
)
def test_an_undeployed_node_is_switched_off_put_right_and_removed(
    more: dict[str, Any], policy: NodePolicy, expected: object
) -> None:
    assert kind(decide(node("available", **more), N1, job(DESTROY, policy=policy))) == expected


# All of them


@every_row([PREPARE, DEPLOY, DESTROY])
def test_a_node_of_somebody_else_is_never_touched(operation: Operation) -> None:
    for mark in (None, Mark(MINE, operation.value), Mark(EARLIER, DEPLOY.value, claim=EARLIER)):
        table(operation, {}, mark=mark, instance="7d4b")


@every_row(product([PREPARE, DEPLOY, DESTROY], ["", "power failure", "service failure"]))
def test_a_node_in_maintenance_is_never_touched(operation: Operation, fault: str) -> None:
    of_ironic = (operation, fault) == (DESTROY, "service failure")
    expected = {"service failed": Verb.END_MAINTENANCE} if of_ironic else {}
    table(operation, expected, maintenance=True, maintenance_reason="fan", fault=fault)


@every_row(
    [
        (None, PREPARE, "n1 is not enrolled in Ironic, or not visible to Shipyard's user"),
        (None, DESTROY, "n1 is not in Ironic"),
        (node("deploying", mark=Mark(MINE, DEPLOY.value, claim=MINE), instance=claim(MINE, "n1")), DEPLOY, ""),
        (owned("active", protected=True), DESTROY, "n1 is protected in Ironic"),
        (
            node("available"),
            *(DEPLOY, "Ironic does not work on it for this job any more: it is available"),
        ),
        (
            node("available", mark=Mark(MINE, DEPLOY.value)),
            *(DEPLOY, "Ironic does not work on it for this job any more: it is available"),
        ),
        (node("cleaning"), PREPARE, "Ironic does not work on it for this job any more: it is cleaning"),
    ]
)
def test_why_ironic_does_not_work_on_a_node_is_what_keeps_it(one: Node | None, operation: Operation, why: str) -> None:
    assert not_at_work(one, N1, job(operation)) == why


@every_row([PREPARE, DEPLOY, DESTROY])
def test_a_node_that_later_work_took_over_is_left_to_it(operation: Operation) -> None:
    table(operation, {}, mark=Mark(LATER, operation.value, after=(EARLIER, MINE)))


@every_row([PREPARE, DEPLOY, DESTROY])
def test_stopped_work_begins_nothing(operation: Operation) -> None:
    going, stopped = (
        {state: decide(node(state), N1, job(operation, stopped=one)) for state in EVERY_STATE} for one in (False, True)
    )
    expected = {state: Failed if isinstance(one, Do) else kind(one) for state, one in going.items()}
    assert {state: kind(one) for state, one in stopped.items()} == expected


@every_row([PREPARE, DEPLOY, DESTROY, REBUILD, SERVICE, CYCLE])
def test_what_ironic_refused_is_not_asked_again(operation: Operation) -> None:
    mark = Mark(MINE, operation.value, refused="n1: no")
    decisions = {state: decide(node(state, mark=mark), N1, job(operation)) for state in EVERY_STATE}
    assert decisions == dict.fromkeys(EVERY_STATE, Failed("n1: no"))


@every_row(
    [
        ("wait call-back", 110, Verb.ABORT),
        ("wait call-back", 109, Verb.UNDEPLOY),
        ("clean wait", 69, Verb.ABORT),
        ("inspect wait", 69, Verb.ABORT),
        ("deploying", 115, None),
        ("cleaning", 115, None),
        ("inspecting", 115, None),
        ("available", 115, None),
        ("active", 115, None),
    ],
)
def test_what_waits_is_interrupted(state: str, version: int, expected: Verb | None) -> None:
    assert interruption(node(state, mark=Mark(MINE, "")), job(PREPARE), version) is expected
    assert interruption(node(state, mark=Mark(LATER, "")), job(PREPARE), version) is None
    assert interruption(node(state), job(PREPARE), version) is None


OURS: list[tuple[Operation, str, tuple[Verb, ...], object]] = [
    (REBUILD, "active", (), Verb.REBUILD),
    (REBUILD, "deploy failed", (), Verb.REBUILD),
    (REBUILD, "error", (), Verb.REBUILD),
    (REBUILD, "deploying", (Verb.REBUILD,), Waiting),
    (REBUILD, "wait call-back", (Verb.REBUILD,), Waiting),
    (REBUILD, "active", (Verb.REBUILD,), Done),
    (REBUILD, "deploy failed", (Verb.REBUILD,), Failed),
    (REBUILD, "error", (Verb.REBUILD,), Failed),
    (REBUILD, "available", (), Failed),
    (REBUILD, "cleaning", (), Failed),
    (SERVICE, "active", (), Verb.SERVICE),
    (SERVICE, "service failed", (), Verb.SERVICE),
    (SERVICE, "servicing", (), Waiting),
    (SERVICE, "servicing", (Verb.SERVICE,), Waiting),
    (SERVICE, "service wait", (Verb.SERVICE,), Waiting),
    (SERVICE, "active", (Verb.SERVICE,), Done),
    (SERVICE, "service failed", (Verb.SERVICE,), Failed),
    (SERVICE, "service hold", (Verb.SERVICE,), Failed),
    (SERVICE, "available", (), Failed),
    (SERVICE, "deploying", (), Failed),
]


@every_row(OURS)
def test_a_node_of_ours_is_rebuilt_or_serviced_once(
    operation: Operation, state: str, verbs: tuple[Verb, ...], expected: object
) -> None:
    mark = tried(operation, *verbs, claimed=EARLIER) if verbs else None
    assert kind(decide(owned(state, EARLIER, mark), N1, job(operation))) == expected


OFF, ON = (Verb.POWER_OFF,), (Verb.POWER_OFF, Verb.POWER_ON)
POWER: list[tuple[str, str, tuple[Verb, ...], dict[str, Any], object]] = [
    ("active", "power on", (), {}, Verb.POWER_OFF),
    ("active", "power on", OFF, {"power_target": "power off"}, Waiting),
    ("active", "power on", OFF, {}, Verb.POWER_OFF),  # it never arrived
    ("active", "power on", OFF, {"last_error": "no BMC"}, Failed),
    ("active", "power off", OFF, {}, Verb.POWER_ON),
    ("active", "power off", OFF, {"stopped": True}, Verb.POWER_ON),
    ("active", "power off", ON, {"power_target": "power on"}, Waiting),
    ("active", "power off", ON, {}, Verb.POWER_ON),  # it never arrived
    ("active", "error", ON, {"last_error": "no BMC"}, Failed),
    ("active", "power on", ON, {}, Done),
    ("active", "power off", (), {}, Verb.POWER_ON),
    ("active", "power on", (), {"stopped": True}, Failed),
    ("active", "power off", (), {"stopped": True}, Failed),
    ("active", "power on", (), {"maintenance": True}, Failed),
    ("service wait", "power on", (), {}, Failed),
    ("available", "power off", (), {}, Failed),
]


@every_row(POWER)
def test_a_deployed_node_is_switched_off_and_on_once(
    state: str, power: str, verbs: tuple[Verb, ...], values: dict[str, Any], expected: object
) -> None:
    """Power leaves the provision state as it is, so the mark, the power and its target are all there is."""
    how = {"stopped": True} if values.get("stopped") else {}
    values = {name: value for name, value in values.items() if name != "stopped"}
    mark = tried(CYCLE, *verbs, claimed=EARLIER) if verbs else None
    entry = replace(owned(state, EARLIER, mark, power=power), **{"last_error": "", **values})
    assert kind(decide(entry, N1, job(CYCLE, **how))) == expected


def of_action(action: str, operation: Operation, **effect: Any) -> str:
    return marker_of(action, operation.value, effect=effect)


@every_row(
    {
        "deployed again: not destroyed": (DEPLOY, "A", DESTROY, "active", Done),
        "its deployment failed: not undone": (DEPLOY, "A", PREPARE, "deploy failed", Done),
        "prepared again": (PREPARE, "A", DESTROY, "available", Done),
        "another action has it": (DEPLOY, "B", DESTROY, "active", Failed),
        "an earlier operation": (DESTROY, "A", DEPLOY, "available", Verb.DEPLOY),
    },
)
def test_a_node_with_which_the_action_has_gone_on_has_succeeded(
    marked: Operation, by: str, operation: Operation, state: str, expected: object
) -> None:
    """The record of the job on the node may be lost, and this one is reported on, or sent, once more."""
    mine, later = of_action("A", operation), of_action(by, marked)
    mark = Mark(later, marked.value, {}, after=(of_action("A", DESTROY),), claim=later if marked is DEPLOY else "")
    found = decide(node(state, mark=mark, instance=claim(later, "n1") if mark.claim else ""), N1, Job(mine, operation))
    assert kind(found) is expected


def test_a_deployment_that_the_action_began_with_other_nodes_is_the_jobs_own() -> None:
    mine, other = (of_action("A", DEPLOY, nodes=nodes) for nodes in (["n1"], ["n1", "n2"]))
    mark = Mark(other, DEPLOY.value, {Verb.DEPLOY.value: BEFORE}, claim=other)
    for state, expected in (("deploying", Waiting), ("active", Done), ("deploy failed", Failed), ("available", Failed)):
        found = decide(node(state, mark=mark, instance=claim(other, "n1")), N1, Job(mine, DEPLOY))
        assert kind(found) is expected, state
        assert state != "deploy failed" or found == Failed("n1 is deploy failed: it broke")


AGAIN = {
    # An interrupted deployment fails, and one that is undone, below version 1.110, ends as an available node.
    "a deployment is interrupted": (DEPLOY, "wait call-back", Verb.ABORT),
    "one that waits for no agent goes on": (DEPLOY, "deploying", Waiting),
    "one that ended meanwhile has ended": (DEPLOY, "active", Done),
    "an interrupted one begins": (DEPLOY, "deploy failed", Verb.DEPLOY),
    "one that is being undone is awaited": (DEPLOY, "cleaning", Waiting),
    "an undone one begins": (DEPLOY, "available", Verb.DEPLOY),
    "a preparation is interrupted": (PREPARE, "clean wait", Verb.ABORT),
    "an inspection is interrupted": (PREPARE, "inspect wait", Verb.ABORT),
    "an interrupted preparation begins": (PREPARE, "clean failed", Verb.MANAGE),
    "an interrupted inspection begins": (PREPARE, "inspect failed", Verb.MANAGE),
    "a preparation that ended meanwhile has ended": (PREPARE, "available", Done),
}


@every_row(AGAIN)
def test_work_that_is_to_begin_again_is_interrupted_and_begun_once_more(
    operation: Operation, state: str, expected: object
) -> None:
    verbs = (Verb.DEPLOY,) if operation is DEPLOY else (Verb.CLEAN, Verb.PROVIDE)
    mark = tried(operation, *verbs, claimed=MINE if operation is DEPLOY else "")
    free = operation is PREPARE or state in ("cleaning", "available")
    first = node(state, mark=mark) if free else owned(state, mark=mark)
    again = job(operation, again=frozenset({N1}))
    assert kind(decide(first, N1, again)) == expected
    if not isinstance(expected, Verb) or expected is Verb.ABORT:
        return

    second, patch = patch_before(first, again, expected, Payload())
    assert (second.begun_again, second.tried, bool(patch)) == (True, {expected.value: SINCE}, True)
    # The patch has arrived, and the verb has not; then the second try fails as the first one did.
    assert kind(decide(replace(first, mark=second), N1, again)) == expected
    failed = "deploy failed" if operation is DEPLOY else "clean failed"
    ended = replace(owned(failed) if operation is DEPLOY else node(failed), since="later", mark=second)
    if operation is PREPARE:
        ended = replace(ended, mark=replace(second, tried={Verb.CLEAN.value: SINCE}))
    assert kind(decide(ended, N1, again)) is Failed


@every_row(["wait call-back", "clean wait", "deploy failed", "clean failed"])
def test_work_is_not_begun_a_third_time_nor_for_other_nodes_or_jobs(state: str) -> None:
    for operation in (PREPARE, DEPLOY):
        mark = tried(operation, Verb.DEPLOY, Verb.CLEAN, claimed=MINE)
        plain = kind(decide(owned(state, mark=mark), N1, job(operation)))
        begun = owned(state, mark=replace(mark, begun_again=True))
        mine, others = (job(operation, again=frozenset({NodeName(name)})) for name in ("n1", "n2"))
        assert kind(decide(begun, N1, mine)) == plain
        assert kind(decide(owned(state, mark=mark), N1, others)) == plain
        assert not any((begins_again(begun, mine), begins_again(owned(state, mark=mark), others)))
        assert not begins_again(node(state), mine)


def test_a_second_try_is_remembered_by_the_next_operation_of_the_action_and_not_by_another_action() -> None:
    first, second, other = (marker_of(action, effect={"n": n}) for action, n in (("A", 1), ("A", 2), ("B", 1)))
    mark = Mark(first, PREPARE.value, begun_again=True)

    assert mark.followed_by(second, DEPLOY).begun_again
    assert not mark.followed_by(other, DEPLOY).begun_again
    assert Mark.read(mark.json()) == mark
