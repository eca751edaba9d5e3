"""Servers that a rollout takes down before it prepares them: first their items, then the provisioner, in one move."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.job_watch import Submitted
from shipyard_api.actions.steps.rollout_messages import Members, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.taking_down import TakesDown
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.items import EndedItem, ItemId, ItemState
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.rollout.ways import Way, Ways
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.provisioner import JobId
from shipyard_api.workflow.step import Act, Folded, Gather, Look, PeerFailure
from tests.factories import group_entry
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import ended, names, poll, reread, site, step
from tests.unit.actions.steps.teardown import test_node_teardown

PHASES = (
    PhaseOfTeardown("drain", (Operation.DRAIN,)),
    PhaseOfTeardown("leave", (Operation.REMOVE_ETCD,), one_by_one=True),
    PhaseOfTeardown("destroy", (Operation.DESTROY_NODE,)),
)
STEP = dataclasses.replace(
    step(),
    takes_down=TakesDown(
        PHASES,
        lambda node, operations: TeardownTask(node, ActionId("a"), 7, operations),
        test_node_teardown.Item().kind,
        lambda _revision, _nodes: {},
    ),
)


def known(
    members: dict[str, str], ways: Ways, *, kept_items: str = "", mode: Mode = SERIAL, **criteria: int
) -> RolloutState:
    """Return a state whose members are known. ``ways``: with the clusters, as etcd shows them."""
    groups = [group_entry(name, success_criteria=criteria) if criteria else group_entry(name) for name in members]
    inputs = replace(site(groups, mode=mode), ways=replace(ways, clusters={}))
    kept = {STEP.id: tuple(ItemId(f"{node}/destroy") for node in names(kept_items))}
    state = STEP.begin(ActionInputs(site=inputs, kept_items=kept))
    found = {GroupName(name): frozenset(names(nodes)) for name, nodes in members.items()}
    return STEP.fold(state, SelectMembers(state.inputs), Members(found, clusters=ways.clusters), T0).state


def gathered(state: RolloutState, ended: str = "", *failed: str) -> tuple[RolloutState, list[str]]:
    """Gather items that succeeded or failed; return the state as it is read again, and the items that begin."""
    items = [EndedItem(ItemId(item), ItemState.SUCCESS, "", None) for item in ended.split()]
    items += [EndedItem(ItemId(item), ItemState.FAILED, "drain: no", None) for item in failed]
    folded = STEP.gather(state, tuple(items), T0)
    assert folded.wait_until is None
    return reread(folded.state), [item.id for item in folded.items]


def sent(state: RolloutState) -> tuple[str, str, Way]:
    decision = STEP.decide(state, T0)
    assert isinstance(decision, Act), decision
    move = decision.effect.move
    return move.phase.value, " ".join(move.nodes), decision.effect.way


def accepted(state: RolloutState, job: str, part: str = "") -> RolloutState:
    decision = STEP.decide(state, T0)
    folded: Folded[RolloutState] = STEP.fold(
        state, decision.effect, Submitted(JobId(job), names(part) if part else None), T0
    )
    return reread(folded.state)


def status(state: RolloutState) -> dict[str, str]:
    assert state.rollout
    return {str(node): status.value for node, status in state.rollout.nodes.items()}


def taken_down(nodes: str, ways: Ways | None = None, **criteria: int) -> RolloutState:
    """Return the state of a group whose servers were taken down."""
    state = known({"a": nodes}, ways or Ways(names(nodes)), **criteria)
    state, items = gathered(state)
    while items:
        state, items = gathered(state, " ".join(items))
    return state


def test_servers_are_drained_together_leave_one_by_one_and_are_prepared_by_the_same_move() -> None:
    assert (STEP.item_kind, step().item_kind) == (STEP.takes_down and STEP.takes_down.kind, None)
    state = known({"a": "n1 n2"}, Ways(names("n1 n2")))
    assert STEP.decide(state, T0) == Gather(begins=True)
    state, items = gathered(state)
    assert (items, STEP.decide(state, T0)) == (["n1/drain", "n2/drain"], Gather())
    state, items = gathered(state, "n1/drain")
    assert items == []
    state, items = gathered(state, "n2/drain")
    assert items == ["n1/leave"]
    state, items = gathered(state, "n1/leave")
    assert items == ["n2/leave"]
    state, items = gathered(state, "n2/leave")
    assert items == ["n1/destroy", "n2/destroy"]
    state, items = gathered(state, "n1/destroy n2/destroy")
    assert items == []
    assert sent(state) == ("prepare", "n1 n2", Way.REINSTALL)
    state = accepted(state, "j1")
    assert isinstance(STEP.decide(state, T0), Look)
    state = reread(poll(state, at(30), ended("j1", "n1 n2")).state)
    assert (status(state), sent(state)[:2]) == (dict.fromkeys(("n1", "n2"), "prepared"), ("deploy", "n1 n2"))


def test_members_of_one_etcd_cluster_are_never_away_together() -> None:
    state = known({"a": "n1 n2 n3"}, Ways(names("n1 n2 n3"), clusters={"etcd": names("n1 n2")}))
    assert gathered(state)[1] == ["n1/drain", "n3/drain"]


@pytest.mark.parametrize(
    ("in_flight", "at_once", "items"),
    [(1, 0, ["n1/drain"]), (2, 3, ["n1/drain", "n2/drain"]), (None, 1, ["n1/drain"])],
)
def test_no_more_servers_than_are_allowed_are_away(in_flight: int | None, at_once: int, items: list[str]) -> None:
    ways = Ways(names("n1 n2 n3"), at_once=at_once)
    state = known({"a": "n1 n2 n3"}, ways, mode=Mode(max_nodes_in_flight=in_flight))
    state, begun = gathered(state)
    assert begun == items
    while begun:
        state, begun = gathered(state, " ".join(begun))
    state = reread(poll(accepted(state, "j1"), at(30), ended("j1", "n1 n2")).state)
    assert sent(state)[:2] == ("deploy", " ".join(item.partition("/")[0] for item in items))


def test_a_server_that_fails_to_leave_fails_and_the_others_go_on() -> None:
    state, _ = gathered(known({"a": "n1 n2"}, Ways(names("n1 n2"))))
    state, items = gathered(state, "n2/drain", "n1/drain")
    assert (status(state)["n1"], items) == ("failure", ["n2/leave"])


def test_a_group_that_is_lost_takes_no_server_down_further() -> None:
    state, _ = gathered(known({"a": "n1 n2", "b": "n3"}, Ways(names("n1 n2 n3")), percent_successful_nodes=100))
    state, items = gathered(state, "n2/drain", "n1/drain")
    assert (items, status(state)) == ([], {"n1": "failure", "n2": "failure", "n3": "not_started"})
    assert state.rollout
    assert state.rollout.groups["a"] is GroupStatus.FAILED
    # And no other group interrupts a server after it.
    assert state.rollout.withheld.keys() == {"n3"}


def test_servers_that_never_begin_are_left_with_an_older_specification() -> None:
    ways = Ways(names("n1"), names("n2 n3"), differs={NodeName("n2"): ("steps:BIOS",)})
    state, _ = gathered(known({"a": "n1", "b": "n2 n3 n4"}, ways, percent_successful_nodes=100))
    failed = EndedItem(ItemId("n1/drain"), ItemState.FAILED, "drain: no", None)
    folded = STEP.gather(state, (failed,), T0)
    assert [fact for fact in folded.facts if isinstance(fact, NodesLeft)] == []
    state = reread(folded.state)
    state = accepted(state, "j1")  # n4 is new
    folded = poll(state, at(30), ended("j1", "n4"))
    left = NodesLeft(names("n2"), names("n3"), {NodeName("n2"): ("steps:BIOS",)})
    assert [fact for fact in folded.facts if isinstance(fact, NodesLeft)] == [left]
    assert "2 servers run an older specification: n2, n3" in reread(folded.state).summary()


def test_each_way_is_a_move_of_its_own() -> None:
    state = known({"a": "n1 n2 n3 n4"}, Ways(names("n3"), names("n2"), drain_timeout=60))
    assert sent(state) == ("prepare", "n1 n4", Way.NEW)
    state = accepted(state, "j1")
    assert sent(state) == ("prepare", "n2", Way.SERVICE)
    state = accepted(state, "j2")
    assert STEP.decide(state, T0) == Gather(begins=True)
    state, items = gathered(state)
    assert items == ["n3/drain"]
    assert STEP.decide(state, T0) == Gather()
    look = STEP.watch(state, T0)  # what the engine polls meanwhile
    assert look
    operations = {job: work.operation.value for job, work in look.question.jobs.items()}
    assert (operations, look.question.drains) == ({"j1": "prepare_nodes"}, {"j2": names("n2")})


def test_a_job_of_some_of_the_servers_that_were_taken_down_leaves_the_others_to_the_next() -> None:
    state = accepted(taken_down("n1 n2"), "j1", "n1")
    assert sent(state)[:2] == ("prepare", "n2")
    state = accepted(state, "j2")
    state = reread(poll(state, at(30), ended("j1", "n1"), ended("j2", "n2")).state)
    assert sent(state)[:2] == ("deploy", "n1 n2")


REFUSED = PeerFailure("403 no", refused=True)
FAILURES: dict[str, tuple[PeerFailure, dict[str, str]]] = {
    "refused": (REFUSED, {"n1": "failure", "n2": "failure"}),
    "no answer": (PeerFailure("no answer", refused=False), {"n1": "failure", "n2": "failure"}),
    "one is held": (replace(REFUSED, nodes={NodeName("n1"): "held"}), {"n1": "failure", "n2": "not_started"}),
    "all are held": (
        replace(REFUSED, nodes=dict.fromkeys(names("n1 n2"), "held")),
        {"n1": "failure", "n2": "failure"},
    ),
}


@pytest.mark.parametrize(("trouble", "expected"), FAILURES.values(), ids=FAILURES)
def test_servers_that_the_provisioner_was_not_given_have_failed(trouble: PeerFailure, expected: Any) -> None:
    state = taken_down("n1 n2")
    folded = STEP.fold(state, STEP.decide(state, T0).effect, trouble, T0)
    state = reread(folded.state)
    assert status(state) == expected
    if NodeStatus.NOT_STARTED.value in expected.values():
        assert sent(state)[:2] == ("prepare", "n2")


def test_a_retry_does_not_take_down_what_was_taken_down_before() -> None:
    state = known({"a": "n1 n2"}, Ways(names("n1 n2")), kept_items="n1")
    assert sent(state)[:2] == ("prepare", "n1")


def test_a_stop_leaves_servers_that_are_being_taken_down_as_they_are() -> None:
    state, _ = gathered(known({"a": "n1 n2"}, Ways(names("n1 n2"))))
    STEP.leave(state, "stopped by ann")
    assert status(state) == {"n1": "failure", "n2": "failure"}
