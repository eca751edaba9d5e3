"""An action's steps, in order, which of them a failure skips, and what of an action only another release knows."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.workflow.step import AnyStep, Inputs, Json

Steps = Mapping[StepId, AnyStep]

StepsFor = Callable[[Inputs], tuple[AnyStep, ...]]
"""Return the steps of an action with these inputs, in order. Pure: the same inputs give the same steps."""

FactsFor = Callable[[Inputs], tuple[Fact, ...]]


class Definition(Struct, frozen=True):
    """The steps of one action. Steps run in sequence; after a failure only those that always run.

    ``steps_for``: the steps may follow from the inputs, such as one per target node. ``missing`` says what people may
    expect of the action that it does not do without a task graph; every such action carries it as a note.
    ``first_facts``: facts that follow from the inputs alone, recorded when the action is created. ``read``: returns
    the inputs of the action, as its steps take them, from their stored form.
    """

    name: ActionName
    steps_for: StepsFor
    missing: str = ""
    first_facts: FactsFor = lambda _inputs: ()
    read: Callable[[Json], Inputs] = dict

    def steps(self, inputs: Inputs) -> Steps:
        """Return the steps of an action with these inputs by id, in order."""
        return {step.id: step for step in self.steps_for(inputs)}

    def step_ids(self, inputs: Inputs) -> list[StepId]:
        """Return the names of the steps of an action with these inputs, in order."""
        return list(self.steps(inputs))


def fixed(*steps: AnyStep) -> StepsFor:
    """Return the same steps for all inputs."""
    return lambda _inputs: steps


def unknown_part(name: str, steps: Steps | None, open_steps: Sequence[StepId], version: int) -> str:
    """Return the part of an unfinished action that this release does not know; empty if it knows all remaining steps.

    ``steps``: the steps in this release, None if it lacks the action. ``open_steps``: steps that have not ended, in
    order. ``version``: the version of the first open step's stored state, 1 before the step begins.
    """
    if steps is None:
        return f"action {name}"
    for step in open_steps:
        if step not in steps:
            return f"step {step}"
    if open_steps and not 1 <= version <= steps[open_steps[0]].version:
        return f"version {version} of the state of step {open_steps[0]}"
    return ""


def skipped_by_failure(steps: Steps, remaining: Sequence[StepId]) -> tuple[StepId, ...]:
    """Return which of the remaining steps will not run because a step before them failed."""
    return tuple(step_id for step_id in remaining if not steps[step_id].always)
