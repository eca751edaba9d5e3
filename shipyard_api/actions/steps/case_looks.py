"""When the rollout of an action looks for what its failures have in common, and what it keeps of the answer."""

from collections.abc import Iterable
from dataclasses import replace

from shipyard_api.actions.steps.cases import FindCases
from shipyard_api.actions.steps.rollout_messages import Answers, SeekCases, SoughtCases
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.cases import CaseOpened
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLate, NodesNotLate
from shipyard_api.domain.nodes import NodeStatus


def next_look(state: RolloutState, cases: FindCases | None, *, ended: bool = False) -> SeekCases | None:
    """Return the question if it is due, None otherwise. ``ended``: nothing of the rollout is left."""
    return SeekCases(state.action, state.inputs, ended) if cases is not None and state.cases_due else None


def seek(cases: FindCases | None, question: SeekCases) -> SoughtCases:
    """Return how the open cases have changed."""
    return SoughtCases(cases.changes(question.action, question.inputs, ended=question.ended) if cases else ())


def answered(answers: Answers, cases: FindCases | None, question: SeekCases | None) -> Answers:
    """Return the answers of a poll, with the cases if it asks for them."""
    return replace(answers, cases=seek(cases, question).facts) if question else answers


def note(state: RolloutState, facts: Iterable[Fact]) -> None:
    """Remember that there may be another case after these facts; figures of open ones change with every node."""
    for fact in facts:
        match fact:
            case NodesChanged(status=status) if state.cases or status is NodeStatus.FAILURE:
                state.cases_due = True
            case NodesLate() | NodesNotLate():
                state.cases_due = True


def fold(state: RolloutState, facts: tuple[Fact, ...] | None) -> tuple[Fact, ...]:
    """Return the facts about cases; None: it was not asked for them."""
    if facts is None:
        return ()
    state.cases_due = False
    state.cases = state.cases or any(fact.kind == CaseOpened.kind for fact in facts)
    return facts
