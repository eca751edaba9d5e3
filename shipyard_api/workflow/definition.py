"""An action's steps, in order, and which of them a failure skips."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.workflow.step import AnyStep, Json

StepsFor = Callable[[Json], tuple[AnyStep, ...]]
"""Return the steps of an action with these inputs, in order. Pure: the same inputs give the same steps."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The steps of one action. They run one after another; after a failure only those that always run.

    ``steps_for``: the steps may follow from the inputs, such as one per target node. ``missing`` says what people may
    expect of the action that it does not do; every such action carries it as a note.
    """

    name: ActionName
    steps_for: StepsFor
    missing: str = ""

    def step_ids(self, inputs: Json) -> list[StepId]:
        """Return the names of the steps of an action with these inputs, in order."""
        return [step.id for step in self.steps_for(inputs)]


def fixed(*steps: AnyStep) -> StepsFor:
    """Return the same steps for all inputs."""
    return lambda _inputs: steps


def skipped_by_failure(steps: Mapping[StepId, AnyStep], remaining: Sequence[StepId]) -> tuple[StepId, ...]:
    """Return which of the remaining steps will not run because a step before them failed."""
    return tuple(step_id for step_id in remaining if not steps[step_id].always)
