"""What is known of the nodes of an action when their failures are compared, and where each of them is."""

import dataclasses
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.actions.steps.cases import FindCases, _Sent, fold, next_look, note
from shipyard_api.actions.steps.rollout_messages import SeekCases, SoughtCases
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.cases.features import Features
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.cases import CaseClosed, CaseOpened, CasesUnknown
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLate, NodesNotLate
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.state.groups import PhaseRecord
from shipyard_api.workflow.step import Done
from tests.unit.actions.steps import rollouts
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 30, tzinfo=UTC)
STEP: Any = "a step of a template"
N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def phase(name: str, nodes: list[str], at: int, ended: int | None = None) -> PhaseRecord:
    """Return a phase that was sent ``at`` seconds, and ended."""
    times = [NOW + timedelta(seconds=at), None, None if ended is None else NOW + timedelta(seconds=ended)]
    return PhaseRecord("g", name, 0, "x", "j", nodes, "", *times)


def test_a_node_is_at_work_in_the_last_phase_that_has_not_ended() -> None:
    groups: Any = [
        SimpleNamespace(phases=[phase("deploy", ["n1"], 20), phase("prepare", ["n1", "n2"], 0, ended=10)]),
        SimpleNamespace(phases=[phase("prepare", ["n3"], 5)]),
    ]
    sent = _Sent.of(groups)
    assert sent.last == {"n1": NOW + timedelta(seconds=20), "n2": NOW, "n3": NOW + timedelta(seconds=5)}
    assert sent.flight == {"n1": Phase.DEPLOY, "n3": Phase.PREPARE}
    at_work = {
        (name, status): sent.works_on(cast(Any, SimpleNamespace(name=name, status=status)))
        for name in (N1, N2, N3)
        for status in (NodeStatus.NOT_STARTED, NodeStatus.PREPARED, NodeStatus.SUCCESS)
    }
    assert {pair for pair, working in at_work.items() if working} == {
        (N1, NodeStatus.PREPARED),
        (N3, NodeStatus.NOT_STARTED),
    }


@every_row(
    [
        # the steps of templates; the templates of each node, or that the question has no meaning
        ({}, None),
        ({N1: (("bios", STEP), ("raid", STEP))}, [{"bios", "raid"}, frozenset()]),
    ]
)
def test_templates_are_a_feature_where_one_is_used(steps: Any, templates: Any) -> None:
    design = Rendering(())
    design.kept[Features] = Features([N1, N2])
    inputs = SiteInputs(3, DeploymentConfiguration(), None, deploy_steps=steps)
    nodes: Any = [SimpleNamespace(name=name, groups=["g"]) for name in (N1, N2)]
    features = FindCases(cast(Any, None), lambda _: design).features(inputs, nodes)
    expected = {"group": [{"g"}, {"g"}], **({"template": templates} if templates else {})}
    assert features == Features([N1, N2], expected)


SITE = SiteInputs(3, DeploymentConfiguration(), None)
FINDER = FindCases(cast(Any, None), cast(Any, None))


@every_row([(FINDER, True, True), (FINDER, False, False), (None, True, False)])
def test_cases_are_looked_for_where_something_is_due(cases: FindCases | None, due: bool, asks: bool) -> None:
    state = RolloutState(SITE, action="A", cases_due=due)
    for ended in (False, True):
        assert next_look(state, cases, ended=ended) == (SeekCases("A", SITE, ended) if asks else None)


def changed(status: NodeStatus) -> NodesChanged:
    return NodesChanged(GroupName("g"), Phase.DEPLOY, status, (N1,))


@every_row(
    [
        # what happened, whether there were cases; whether a look is due
        ([changed(NodeStatus.FAILURE)], False, True),
        ([changed(NodeStatus.SUCCESS)], False, False),
        ([changed(NodeStatus.SUCCESS)], True, True),
        ([NodesLate(GroupName("g"), Phase.DEPLOY, {N1: 100}, 101)], False, True),
        ([NodesNotLate(GroupName("g"), Phase.DEPLOY, (N1,))], False, True),
        ([Noted("a topic", "a text")], True, False),
    ]
)
def test_failures_and_lateness_make_a_look_due_and_progress_only_beside_cases(
    facts: list[Fact], cases: bool, due: bool
) -> None:
    state = RolloutState(SITE, cases=cases)
    note(state, facts)
    assert (state.cases_due, state.cases) == (due, cases)


def test_cases_are_looked_for_once_more_when_the_rollout_has_ended() -> None:
    state = rollouts.deploying({"a": "n1"})
    state = rollouts.poll(state, rollouts.at(40), rollouts.ended("deploy-1", "", "n1")).state
    sought = SoughtCases((CasesUnknown("no answer"),), answered=False)
    step = dataclasses.replace(rollouts.STEP, cases=lambda _: sought)
    asked = step.decide(state, NOW).question
    assert asked == SeekCases("", state.inputs, True)
    assert (step.ask(asked), rollouts.STEP.ask(asked)) == (sought, SoughtCases(()))
    folded = step.fold(state, asked, sought, NOW)
    assert folded.facts == sought.facts
    assert isinstance(step.decide(folded.state, NOW), Done)


OPENED, CLOSED = CaseOpened(cast(Any, None)), CaseClosed("k", "a sentence")


@every_row(
    [
        # what was found, whether all has ended, whether there were cases; whether a look is due, and there are cases
        (None, False, False, (True, False)),
        (SoughtCases((OPENED,)), False, False, (False, True)),
        (SoughtCases((CLOSED, OPENED)), False, False, (False, True)),
        (SoughtCases((CLOSED,)), False, False, (False, False)),
        (SoughtCases((CLOSED,)), False, True, (False, True)),
        (SoughtCases((CasesUnknown("no answer"),), answered=False), False, False, (True, False)),
        (SoughtCases((CasesUnknown("no answer"),), answered=False), True, False, (False, False)),
    ]
)
def test_a_look_without_an_answer_is_repeated_until_the_end(
    sought: SoughtCases | None, ended: bool, cases: bool, expected: tuple[bool, bool]
) -> None:
    state = RolloutState(SITE, cases_due=True, cases=cases)
    assert (fold(state, sought, ended=True) if ended else fold(state, sought)) == (sought.facts if sought else ())
    assert (state.cases_due, state.cases) == expected
