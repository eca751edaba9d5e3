"""The step that deploys nodes: deployed nodes count once they are ready in the cluster."""

from collections.abc import Mapping
from typing import Any

import pytest

from shipyard_api.actions.steps.joining import Joining
from shipyard_api.actions.steps.rollout_messages import PollJobs, SubmitMove
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import JoinAwaited, PhaseEnded
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Mode, Move, OnTimeout
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import JobId, Operation, Work
from shipyard_api.workflow.step import Act, Folded, Look
from tests.unit.actions.steps.instants import MOMENT, at
from tests.unit.actions.steps.rollouts import (
    DESIGN,
    SILENCE,
    STEP,
    begun,
    deploying,
    ended,
    names,
    of,
    poll,
    prepared,
    question,
    queued,
    running,
    submit,
)
from tests.unit.tables import every_row, table

A = GroupName("a")
DEPLOY = Move(A, Phase.DEPLOY, names("n1 n2"))
STREAM = Mode(deploy_as_prepared=True)
LATE = "not ready in Kubernetes within 620 s after its deployment: "


def ready(words: str, **waiting: str) -> Mapping[NodeName, ObservedMember]:
    return {node: ObservedMember(ready=True) for node in names(words)} | {
        NodeName(node): ObservedMember(ready=False, why=why) for node, why in waiting.items()
    }


def joining(succeeded: str = "n1 n2", failed: str = "", **keywords: Any) -> RolloutState:
    """Return a state whose deployment of n1 and n2 ended at second 100: polls begin at 220, the deadline is 720."""
    state = deploying({"a": "n1 n2"}, join=True, **keywords)
    return poll(state, at(100), ended("deploy-1", succeeded, failed, "as built")).state


def test_deployed_nodes_are_awaited_from_the_first_poll_on() -> None:
    state = deploying({"a": "n1 n2"}, join=True)
    folded = poll(state, at(100), ended("deploy-1", "n1 n2", message="as built"))
    assert folded == Folded(state, (JoinAwaited(A, names("n1 n2"), 1),), wait_until=at(220), watch_at=at(220))
    assert state.watches[DEPLOY].joining == Joining(at(100), frozenset(names("n1 n2")), False, "as built")


def test_a_node_whose_deployment_failed_fails_at_once_and_is_not_awaited() -> None:
    state = deploying({"a": "n1 n2"}, join=True)
    folded = poll(state, at(100), ended("deploy-1", "n1", "n2", n2="no disk"))
    assert folded.facts == (
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, names("n2"), reasons={NodeName("n2"): "no disk"}),
        JoinAwaited(A, names("n1"), 1),
    )


# --- When the cluster is asked ----------------------------------------------------------------------------------------


@every_row(
    {
        "just-before-the-first-poll": (at(220) - MOMENT, ()),
        "at-the-first-poll": (at(220), names("n1 n2")),
        "at-the-deadline": (at(720), names("n1 n2")),
    },
)
def test_the_cluster_is_asked_from_the_first_poll_on_and_the_provisioner_no_more(
    now: Any, expected: tuple[NodeName, ...]
) -> None:
    state = joining()
    assert STEP.decide(state, now) == Look(PollJobs({}, expected))
    assert STEP.watch(state, now) == Look(PollJobs({}, expected))


def test_nodes_that_join_and_jobs_that_run_are_polled_together() -> None:
    state = begun({"a": "n1", "b": "n2"}, mode=Mode(max_parallel_groups=2), join=True)
    submit(state, "j")
    submit(state, "k")
    poll(state, at(30), ended("j", "n1"), running("k"))
    submit(state, "j2", at(30))
    poll(state, at(100), ended("j2", "n1"), running("k"))
    work = Work(Operation.PREPARE_NODES, DESIGN, names("n2"))
    assert question(state, at(220)) == PollJobs({JobId("k"): work}, names("n1"))
    # Before the first poll of the cluster, the job sets the pace; from then on the first that is due.
    assert poll(state, at(120), running("k")).watch_at == at(150)
    assert poll(state, at(200), running("k")).watch_at == at(220)


# --- What its answers mean --------------------------------------------------------------------------------------------


def test_a_ready_node_counts_at_once_and_the_others_are_polled_again() -> None:
    state = joining()
    folded = poll(state, at(220), readiness=ready("n1", n2="no network"))
    changed = NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, names("n1"))
    assert folded == Folded(state, (changed,), wait_until=at(270), watch_at=at(270))
    assert question(state, at(270)).joining == names("n2")
    assert STEP.awaits(state, question(state, at(270))).who == "Kubernetes"
    assert state.watches[DEPLOY].done == names("n1")


def test_a_provisioner_in_trouble_does_not_stand_for_a_cluster_that_was_not_asked() -> None:
    """The first poll of the cluster becomes due between the question and its outcome."""
    state = joining()
    asked = question(state, at(220) - MOMENT)
    folded = STEP.fold(state, asked, SILENCE, at(720))
    assert folded == Folded(state, (), wait_until=at(720), watch_at=at(720))


# --- Joining with other modes and limits ------------------------------------------------------------------------------


def out_of_time(mode: Mode) -> RolloutState:
    """Return a state in which n1 was deployed when the time of the deployment was up, and joins."""
    state = deploying({"a": "n1 n2"}, join=True, mode=mode)
    poll(state, at(30), running("deploy-1"))
    folded = poll(state, at(430), running("deploy-1", "n1"))
    assert of(folded.facts, WorkLeftBehind, JoinAwaited) == [
        WorkLeftBehind("deploy_nodes", "deploy-1", DESIGN, names("n2"), "limit 400 s since it started"),
        JoinAwaited(A, names("n1"), 1),
    ]
    return state


@pytest.mark.parametrize("on_timeout", list(OnTimeout), ids=lambda one: str(one.value))
@table(
    ("now", "readiness"),
    {
        "joined": (at(550), ready("n1")),
        "not-joined": (at(1050), ready("", n1="no network")),
    },
)
def test_a_phase_whose_time_was_up_before_its_nodes_joined_has_timed_out(
    on_timeout: OnTimeout, now: Any, readiness: Mapping[NodeName, ObservedMember]
) -> None:
    state = out_of_time(Mode(on_timeout=on_timeout))
    folded = poll(state, now, readiness=readiness)
    (phase,) = (fact for fact in folded.facts if isinstance(fact, PhaseEnded))
    assert phase.status is PhaseStatus.TIMEOUT


def streaming(mode: Mode = STREAM) -> RolloutState:
    state = prepared({"a": "n1 n2"}, join=True, mode=mode)
    submit(state, "deploy-1", at(30))
    return state


def test_with_deploy_as_prepared_an_unready_node_fails() -> None:
    state = streaming()
    poll(state, at(60), running("deploy-1", "n1 n2"))
    poll(state, at(100), ended("deploy-1", "n1 n2"))
    folded = poll(state, at(720), readiness=ready("n1", n2="no network"))
    assert of(folded.facts, NodesChanged, PhaseEnded) == [
        NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, names("n1")),
        PhaseEnded(A, Phase.DEPLOY, PhaseStatus.PARTIAL_SUCCESS, "1 not ready"),
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, names("n2"), reasons={NodeName("n2"): f"{LATE}no network"}),
    ]


def test_while_nodes_join_the_next_group_starts_where_the_site_allows_it() -> None:
    state = deploying({"a": "n1", "b": "n2"}, join=True, mode=Mode(max_parallel_groups=1))
    poll(state, at(100), ended("deploy-1", "n1"))
    assert isinstance(STEP.decide(state, at(100)), Look)
    state = begun({"a": "n1", "b": "n2"}, join=True, mode=Mode(max_parallel_groups=2))
    submit(state, "j")
    submit(state, "k")
    poll(state, at(30), ended("j", "n1"), queued("k"))
    submit(state, "j2", at(30))
    folded = poll(state, at(100), ended("j2", "n1"), ended("k", "n2"))
    assert (folded.wait_until, folded.watch_at) == (None, at(220))
    assert STEP.decide(state, at(100)) == Act(
        SubmitMove(Move(GroupName("b"), Phase.DEPLOY, names("n2")), DESIGN), give_up_at=at(500)
    )
