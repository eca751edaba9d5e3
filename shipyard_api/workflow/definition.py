"""An action's steps, in order, and where a failure leads."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.workflow.step import Step


@dataclass(frozen=True, slots=True)
class Definition:
    """The steps of one action. They run one after another; after a failure only those that always run.

    ``missing`` says what people may expect of the action that it does not do; every such action is told so.
    """

    name: ActionName
    steps: tuple[Step, ...]
    missing: str = ""

    def step(self, step_id: StepId) -> Step:
        """Return the step of that name; raises KeyError."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)

    def skipped_by_failure(self, remaining: Sequence[StepId]) -> tuple[StepId, ...]:
        """Return which of the remaining steps will not run because one before them failed."""
        return tuple(step_id for step_id in remaining if not self.step(step_id).always)
