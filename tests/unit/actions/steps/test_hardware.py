"""The hardware gate of a rollout: what is asked before a move, and what the answers do."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.rollout_messages import Answers, CompareHardware, PollJobs
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.nodes import NodesChanged, NodesFailed
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.compare import Compared
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.ways import Way
from shipyard_api.workflow.step import Act, Folded, Look, PeerFailure
from tests.unit.actions.steps import rollouts
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, ended, names, of, poll, submit
from tests.unit.tables import every_row

N1, N2 = names("n1 n2")
GATED = dataclasses.replace(STEP, hardware=cast(Hardware, object()))
WRONG = "1 CPU socket seen, 2 expected"
LENIENT = {"a": {"success_criteria": {"minimum_successful_nodes": 1}}}


def begun(mode: str) -> RolloutState:
    state = rollouts.begun({"a": "n1 n2"}, groups=LENIENT)
    state.inputs = replace(state.inputs, hardware=mode)
    state.fixed = ""
    return rollouts.reread(state)


def asked(state: RolloutState) -> CompareHardware:
    question = GATED.decide(state, T0)
    assert isinstance(question, Look)
    assert isinstance(question.question, PollJobs)
    assert question.question.hardware is not None
    return question.question.hardware


def answer(state: RolloutState, compared: Compared | PeerFailure) -> Folded[RolloutState]:
    question = GATED.decide(state, T0)
    assert isinstance(question, Look)
    return GATED.fold(state, question.question, Answers({}, None, hardware=compared), T0)


def sends(state: RolloutState) -> Any:
    decision = GATED.decide(rollouts.reread(state), T0)
    return decision.effect.move.nodes if isinstance(decision, Act) else None


def test_a_design_that_expects_nothing_asks_nothing_and_stores_nothing() -> None:
    state = begun("")
    assert sends(state) == (N1, N2)
    assert "hardware" not in state.to_json()
    assert "hardware" not in str(state.to_json()["fixed"])


@every_row([Way.REBUILD, Way.SERVICE])
def test_what_runs_already_is_not_compared(way: Way) -> None:
    gated = dataclasses.replace(GATED, way=way)
    assert isinstance(gated.decide(gated.load_state(begun("fail").to_json()), T0), Act)


def test_right_nodes_are_asked_for_once() -> None:
    state = begun("fail")
    assert asked(state) == CompareHardware(Move(rollouts.GroupName("a"), Phase.PREPARE, (N1, N2)), (N1, N2), 7)
    assert answer(state, Compared(right=(N1, N2))).facts == ()
    assert sends(state) == (N1, N2)
    submit(state, "j1")
    assert poll(state, at(30), ended("j1", "n1 n2")).state
    assert sends(state) == (N1, N2)
    assert state.to_json()["hardware"] == {"checked": [], "unknown": []}


def test_a_wrong_node_is_only_noted_unless_it_has_to_fail() -> None:
    state = begun("warn")
    folded = answer(state, Compared({N1: (WRONG,)}, right=(N2,)))
    assert folded.facts == (Noted("Hardware Differs", f"n1: {WRONG}."),)
    assert sends(state) == (N1, N2)


def test_a_wrong_node_fails_without_being_sent_and_no_failure_of_a_deployment_is_counted() -> None:
    state = begun("fail")
    state.inputs = replace(state.inputs, configuration=replace(state.inputs.configuration, hold_after=1))
    folded = answer(state, Compared({N1: (WRONG,)}, right=(N2,)))
    (changed,) = of(folded.facts, NodesChanged)
    assert changed == NodesChanged(
        rollouts.GroupName("a"), Phase.PREPARE, NodeStatus.FAILURE, (N1,), reasons={N1: WRONG}, hardware=True
    )
    assert of(folded.facts, NodesFailed) == []
    assert sends(state) == (N2,)


@every_row([Compared(unknown={N1: "not inspected", N2: "not inspected"}), PeerFailure("503", refused=False)])
def test_unknown_nodes_are_prepared_and_asked_for_again_before_they_are_deployed(
    unknown: Compared | PeerFailure,
) -> None:
    state = begun("fail")
    assert answer(state, unknown).facts == ()
    assert sends(state) == (N1, N2)
    submit(state, "j1")
    poll(state, at(30), ended("j1", "n1 n2"))
    assert (asked(state).move.phase, asked(state).nodes) == (Phase.DEPLOY, (N1, N2))

    folded = answer(state, Compared({N1: (WRONG,)}, {N2: "no LLDP"}))
    assert of(folded.facts, Noted) == [
        Noted("Hardware Unknown", "not compared: n2: no LLDP."),
        Noted("Hardware Differs", f"n1: {WRONG}."),
    ]
    assert sends(state) == (N2,)


def test_reading_goes_on_a_moment_later_until_all_nodes_were_read() -> None:
    state = begun("warn")
    folded = answer(state, Compared(right=(N1,), unread=(N2,)))
    assert folded.wait_until == T0 + timedelta(seconds=1)
    assert asked(state).nodes == (N2,)
    assert answer(state, Compared(right=(N2,))).wait_until is None
    assert sends(state) == (N1, N2)
