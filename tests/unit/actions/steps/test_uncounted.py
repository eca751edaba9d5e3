"""Nodes that no criterion counts: when a rollout learns of them, and what it makes of their outcomes."""

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import uncounted
from shipyard_api.actions.steps.rollout_messages import Members, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.targets import TARGET_GROUP
from shipyard_api.workflow.step import Act, Done, Failed
from tests.factories import group_entry, node
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps import rollouts
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, begun, ended, names, poll, reread, running, step, submit
from tests.unit.tables import every_row

EVERY = {"a": {"critical": True, "success_criteria": {"percent_successful_nodes": 100}}}
A = GroupName("a")


def started(nodes: str = "n1 n2") -> RolloutState:
    return submit(begun({"a": nodes}, groups=EVERY), "j").state


def said(facts: object) -> list[str]:
    assert isinstance(facts, tuple)
    return [f"{fact.topic}: {fact.text}" for fact in facts if isinstance(fact, Noted)]


@every_row(
    [
        ("", "n1", GroupStatus.FAILED),
        ("n1", "n1", GroupStatus.SUCCESS),
        ("n2", "n1", GroupStatus.FAILED),
        ("n1 n2", "n1 n2", GroupStatus.SUCCESS),
        ("n1 other", "", GroupStatus.SUCCESS),
    ],
)
def test_a_node_that_is_held_while_the_action_runs_counts_no_more(held: str, failing: str, status: GroupStatus) -> None:
    good = [name for name in ("n1", "n2") if name not in failing]
    state = poll(started(), at(10), running("j"), uncounted=frozenset(names(held))).state
    state = poll(reread(state), at(20), ended("j", " ".join(good))).state
    if good and status is GroupStatus.SUCCESS:
        state = submit(reread(state), "k", at(30)).state
        state = poll(reread(state), at(40), ended("k", " ".join(good))).state

    assert state.rollout.groups == {A: status}
    assert isinstance(STEP.decide(state, at(50)), Done if status is GroupStatus.SUCCESS else Failed)


def test_the_change_is_noted_once_and_the_end_of_the_hold_too() -> None:
    held = frozenset(names("n2 other n1"))
    first = poll(started("n1 n2 n3"), at(10), running("j"), uncounted=held)
    again = poll(reread(first.state), at(20), running("j"), uncounted=held)
    unknown = poll(reread(again.state), at(30), running("j"), uncounted=None)
    over = poll(reread(unknown.state), at(40), running("j"), uncounted=frozenset(names("n2")))

    assert said(first.facts) == ["Nodes Not Counted: held, and in no criteria or budget from now on: n1, n2"]
    assert said(again.facts) == said(unknown.facts) == []
    assert said(over.facts) == ["Nodes Counted: counted again, because the hold has ended: n1"]


def test_members_that_are_held_before_the_action_are_not_counted() -> None:
    provisioner = FakeProvisioner(nodes=[node("n1"), node("n2")])
    site = rollouts.site([group_entry("a", selectors=[{"node_names": ["n1", "n2"]}], **EVERY["a"])])
    asked = SelectMembers(site)
    found = step(provisioner, store=rollouts.Held("n1")).ask(asked)
    assert isinstance(found, Members)
    state = STEP.fold(STEP.begin(ActionInputs.from_json(site.to_json())), asked, found, T0).state

    assert state.rollout.uncounted == {"n1"}
    assert isinstance(STEP.decide(state, T0), Act)


def test_an_action_that_names_its_servers_counts_them_all() -> None:
    state = STEP.begin(ActionInputs.from_json({**rollouts.site([group_entry("a")]).to_json(), "targets": ["n1"]}))
    members = Members({TARGET_GROUP: frozenset(names("n1"))}, uncounted=frozenset(names("n1")))
    state = STEP.fold(state, SelectMembers(state.inputs), members, T0).state

    assert state.rollout.uncounted == frozenset()
    assert uncounted.apply(state, frozenset(names("n1"))) == ()
