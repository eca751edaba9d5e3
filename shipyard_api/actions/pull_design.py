"""pull_design: what became of a commit that the site pulled, as an action that has nothing left to do.

So it has a line in the journal, an event, a place among the actions, and a time after which it is forgotten.
"""

from collections.abc import Sequence

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import PULL_DESIGN as NAME
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.findings import Finding, error, info
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.pulls import NO_PULL, Pull
from shipyard_api.workflow.step import AnyStep


class PullInputs(ActionInputs, frozen=True, kw_only=True):
    """``pull``: what the action reports."""

    pull: Pull = NO_PULL


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    match inputs:
        case PullInputs(pull=pull):
            pass
        case _:
            pull = NO_PULL

    def said(_revision: int) -> Sequence[Finding]:
        return [(info if pull.is_fine else error)("DesignPulled", pull.text)]

    return (parts.site.check(StepId(NAME), said),)


PULL_DESIGN = Action(name=NAME, work={NodeWork.OTHER}, steps=_steps, frozen=PullInputs, listed=False, exclusive=False)
