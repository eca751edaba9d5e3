"""The state of a rollout: its limits and summary, and a stored form that leaves out what has not started."""

import json
from collections.abc import Callable

import pytest

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.rollout_state import VERSION, VERSIONS, RolloutState, awaited
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Mode, OnTimeout
from shipyard_api.workflow.step import Act
from tests.factories import group_entry
from tests.unit.actions.steps import rollouts
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, TWO_GROUPS, begun, deploying, ended, poll, running, submit
from tests.unit.tables import every_row

INPUTS = rollouts.site([group_entry("a"), group_entry("b")])


def finished() -> RolloutState:
    state = deploying(TWO_GROUPS)
    return poll(state, at(60), ended("deploy-1", "n1", "n2")).state


def in_flight() -> RolloutState:
    state = begun(TWO_GROUPS, mode=Mode(2, 3, True, OnTimeout.JUDGE_CRITERIA))
    submit(state, "j")
    submit(state, "k", at(5))
    return poll(state, at(10), running("j", "n2"), running("k")).state


def joining() -> RolloutState:
    state = deploying(TWO_GROUPS, join=True)
    return poll(state, at(100), ended("deploy-1", "n1", "n2", "as built")).state


STATES: dict[str, Callable[[], RolloutState]] = {
    "no members": lambda: RolloutState(INPUTS),
    "trouble with the members": lambda: RolloutState(INPUTS, since=T0),
    "kept nodes": lambda: STEP.begin(ActionInputs(site=INPUTS, kept=(NodeName("n1"),), retried="earlier")),
    "members": lambda: begun(TWO_GROUPS),
    "under way": in_flight,
    "joining": joining,
    "a group has ended": finished,
}


def test_the_versions_of_the_state_are_declared_in_one_table_without_a_gap() -> None:
    assert [since.version for since in VERSIONS] == list(range(1, VERSION + 1))


def test_what_a_joining_move_waits_for_has_the_limit_by_which_it_is_judged() -> None:
    state = joining()
    waiting = awaited(state, "Drydock")
    assert (waiting.who, waiting.what) == ("Kubernetes", "nodes of group a to be ready")
    configuration = state.inputs.configuration
    assert waiting.deadline == at(100 + configuration.join_wait + configuration.node_status.timeout) == at(720)


@every_row(STATES)
def test_a_state_that_was_stored_goes_on_as_the_one_in_memory(make: Callable[[], RolloutState]) -> None:
    state = make()
    stored = json.loads(json.dumps(state.to_json()))
    loaded = RolloutState.from_json(stored)
    assert (stored["v"], VERSION) == (4, STEP.version)
    assert STEP.decide(loaded, at(300)) == STEP.decide(state, at(300))
    assert STEP.watch(loaded, at(300)) == STEP.watch(state, at(300))
    assert STEP.leave(loaded, "stopped") == STEP.leave(state, "stopped")
    assert (loaded.since, loaded.failed, loaded.kept, loaded.kept_from) == (
        state.since,
        state.failed,
        state.kept,
        state.kept_from,
    )
    assert loaded.watches == state.watches


def test_two_states_that_were_loaded_from_one_text_share_nothing_that_changes() -> None:
    stored = begun(TWO_GROUPS).to_json()
    one, other = RolloutState.from_json(stored), RolloutState.from_json(stored)
    submit(one, "j")
    poll(one, at(10), ended("j", "n1", "n2"))
    assert one.to_json()["rollout"]["nodes"] == "pfn"
    assert other.to_json() == stored
    assert other.rollout.running == []
    assert isinstance(STEP.decide(other, T0), Act)


MANY = {"a": " ".join(f"n{number:03}" for number in range(600)), "b": "other"}


@every_row(
    {
        "all but the last": "s" * 600 + "n",
        "two in the middle": "n" * 255 + "ps" + "n" * 344,
        "the last": "n" * 600 + "f",
        "none": "n" * 601,
    },
)
def test_statuses_are_read_as_they_are_stored_whatever_was_read_before(letters: str) -> None:
    stored = begun(MANY).to_json()
    for before in ("f" * 601, "n" * 601, letters):
        RolloutState.from_json({**stored, "rollout": {**stored["rollout"], "nodes": before}})
        loaded = RolloutState.from_json({**stored, "rollout": {**stored["rollout"], "nodes": letters}})
        assert loaded.to_json()["rollout"]["nodes"] == letters


@every_row(["nn", "nnnn", ""])
def test_statuses_of_another_number_of_nodes_are_not_read(letters: str) -> None:
    stored = begun(TWO_GROUPS).to_json()
    with pytest.raises(ValueError, match="3 nodes"):
        RolloutState.from_json({**stored, "rollout": {**stored["rollout"], "nodes": letters}})
