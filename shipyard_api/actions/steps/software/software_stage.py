"""The step that runs the task graph of a site (product, section 7; seed 001, Usage of graph)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Never

from shipyard_api.actions.steps.software.state import StageSoftware, StageState, TaskOnNodes, failures
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.execution import Execution, Place
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, Json, Step, Trouble

_PLAN_SECONDS = 300.0
"""For so long the design is asked for."""


@dataclass(frozen=True, slots=True)
class PlanSoftware:
    """Plan the run, and keep the primaries that it chose. ``selection``: the limits of the run, None for none."""

    action: str
    revision: int
    selection: Json | None = None

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"action": self.action, "revision": self.revision, "selection": self.selection}


@dataclass(frozen=True, slots=True)
class NoPlan:
    """There is no plan, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class SoftwareStage(Step[StageState, Never, PlanSoftware, StageSoftware | NoPlan]):
    """Plans once, then runs batch after batch; each task on up to fifty nodes is a work item.

    A plan follows from the task graph, the roles and tags at the time when the step begins, and stays as it is. A retry
    of the action plans again, and runs all tasks again: they can be repeated (seed 001).
    """

    version: ClassVar[int] = 1

    id: StepId
    plan: Callable[[PlanSoftware], StageSoftware | NoPlan]
    item_kind: TaskItem
    always: bool = False

    def begin(self, inputs: Json) -> StageState:
        """Start without a plan."""
        return StageState(inputs["action"], inputs["revision"], inputs.get("software"))

    def load_state(self, stored: Json) -> StageState:
        """Return a state from its stored form."""
        return StageState.from_json(stored)

    def load_effect(self, stored: Json) -> PlanSoftware:
        """Return an effect from its stored form."""
        return PlanSoftware(stored["action"], stored["revision"], stored["selection"])

    def decide(self, state: StageState, now: datetime) -> Act[PlanSoftware] | Gather | Done | Failed:
        """Plan, run, end."""
        if state.problem:
            return Failed(state.problem)
        if not state.fixed:
            effect = PlanSoftware(state.action, state.revision, state.selection)
            return Act(effect, now + timedelta(seconds=_PLAN_SECONDS), repeatable=True)
        execution = state.execution
        if not execution.has_ended:
            return Gather()
        if execution.stopped is not None:
            return Failed(f"{execution.stopped} {_reasons(state.failed)}")
        return Done(_summary(state))

    def perform(self, effect: PlanSoftware, marker: Marker) -> StageSoftware | NoPlan:
        """Plan."""
        return self.plan(effect)

    def fold(
        self, state: StageState, asked: PlanSoftware, report: StageSoftware | NoPlan | Trouble, now: datetime
    ) -> Folded[StageState]:
        """Take the plan."""
        if isinstance(report, Trouble):
            return Folded(replace(state, problem=report.detail))
        if isinstance(report, NoPlan):
            return Folded(replace(state, problem=report.reason))
        return Folded(replace(state, fixed=report.to_text()))

    def gather(self, state: StageState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[StageState]:
        """Take what has ended, and create the items that may begin."""
        software, execution = state.software, state.execution
        places = {str(place): place for place in state.open}
        over = [(place, _failures(execution, place, one)) for one in ended if (place := places.get(one.id))]
        succeeded = sum(len(execution.nodes_at(place)) - len(failed) for place, failed in over)
        execution, pieces = execution.advance(over)
        state = replace(
            state,
            batch=execution.batch,
            open=execution.open,
            failed=execution.failed,
            stopped=execution.stopped,
            succeeded=state.succeeded + succeeded,
        )
        new = ((piece.place, TaskOnNodes.of(state.action, software, piece)) for piece in pieces)
        return Folded(state, items=tuple(NewItem(ItemId(str(place)), work.to_json()) for place, work in new))


def _failures(execution: Execution, place: Place, ended: EndedItem) -> Mapping[NodeName, str]:
    """Return the nodes that failed; all of them if the item itself broke or was stopped."""
    failed = failures(ended.state) if ended.state is not None else {}
    if ended.outcome is ItemState.SUCCESS or failed:
        return failed
    return dict.fromkeys(execution.nodes_at(place), ended.detail)


def _summary(state: StageState) -> str:
    execution: Execution = state.execution
    if not execution.batches:
        return "; ".join(("no task runs on these nodes", *state.software.warnings))
    ran = f"{state.succeeded} task(s) in {len(execution.batches)} batch(es)"
    failed = f"; {len(state.failed)} node(s) failed within their tolerance: {_reasons(state.failed)}"
    return ran + (failed if state.failed else "")


def _reasons(failed: Mapping[NodeName, str], most: int = 3) -> str:
    shown = [f"{node}: {why}" for node, why in sorted(failed.items())]
    return "; ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
