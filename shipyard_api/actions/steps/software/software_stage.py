"""The step that runs the task graph of a site (product, section 7; seed 001, Usage of graph)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Never

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.software.state import StageSoftware, StageState, TaskOnNodes, TaskState
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.software import SoftwareGiven
from shipyard_api.domain.findings import in_short, warning
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.task_graph.execution import Ended, Execution, Piece
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, Json, PeerFailure, Step

_PLAN_SECONDS = 300.0
"""The time limit for reading the design."""


class PlanSoftware(ByFields, Struct, frozen=True):
    """Plan the run, and keep the primaries that it chose. ``selection``: the limits of the run, None for none.

    ``retried``: the action whose failed run this one continues.
    """

    OPTIONAL: ClassVar = frozenset({"retried"})

    action: str
    revision: int
    selection: Json | None = None
    retried: str | None = None


class NoPlan(Struct, frozen=True):
    """There is no plan, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class SoftwareStage(Step[StageState, Never, PlanSoftware, StageSoftware | NoPlan]):
    """Plans once, then lets each node go on at its own pace; a task on up to fifty nodes is a work item.

    An item ends as soon as its nodes go different ways. The nodes that have ended go on with their next tasks, and the
    others with the same task in an item of their own, under the same marker (ADR 0026).

    ``windows``: those in which a node begins, with its first task; None if no policy binds the action.

    A plan follows from the task graph, the roles and tags at the time when the step begins, and stays as it is. A retry
    of the action plans again, and runs what did not succeed and what depends on it.
    """

    version: ClassVar[int] = 2

    id: StepId
    plan: Callable[[PlanSoftware], StageSoftware | NoPlan]
    item_kind: TaskItem
    always: bool = False
    windows: ServerWindows | None = None

    def begin(self, inputs: ActionInputs) -> StageState:
        """Start without a plan."""
        return StageState(inputs.action, inputs.revision, inputs.software, retried=inputs.retried or None)

    load_state = staticmethod(StageState.from_json)
    load_effect = staticmethod(PlanSoftware.from_json)

    def decide(self, state: StageState, now: datetime) -> Act[PlanSoftware] | Gather | Done | Failed:
        """Plan, run, end."""
        if state.older:
            return Gather()
        if state.problem:
            return Failed(state.problem)
        if not state.fixed:
            effect = PlanSoftware(state.action, state.revision, state.selection, state.retried)
            return Act(effect, now + timedelta(seconds=_PLAN_SECONDS), repeatable=True)
        if not state.begun or state.open:
            return Gather()
        return _verdict(state)

    def perform(self, effect: PlanSoftware, marker: Marker) -> StageSoftware | NoPlan:
        """Plan."""
        return self.plan(effect)

    def fold(
        self, state: StageState, asked: PlanSoftware, report: StageSoftware | NoPlan | PeerFailure, now: datetime
    ) -> Folded[StageState]:
        """Take the plan."""
        if isinstance(report, PeerFailure):
            return Folded(replace(state, problem=report.detail))
        if isinstance(report, NoPlan):
            return Folded(replace(state, problem=report.reason))
        return Folded(replace(state, fixed=report.to_text(), done=report.kept), _nothing(report))

    def gather(self, state: StageState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[StageState]:
        """Take what has ended, and create the items that may begin."""
        if state.older:
            return Folded(replace(state, older=state.older - {item.id for item in ended}))
        software, execution = state.software, state.execution
        states = {item.id: TaskState.from_json(item.state) for item in ended if item.state is not None}
        execution, pieces = execution.advance(_ended(execution, item, states.get(item.id)) for item in ended)
        state = replace(
            state,
            begun=True,
            done=execution.done,
            open=execution.open,
            failed=execution.failed,
            stopped=execution.stopped,
            pieces=execution.pieces,
        )

        is_first = _first_nodes(state)

        def work(piece: Piece) -> TaskOnNodes:
            first = [node for node in piece.nodes if is_first(node)]
            new = software.work(state.action, piece.task, piece.nodes, first)
            new = replace(new, windows=self.windows) if first else new
            before = states[ItemId(piece.goes_on)] if piece.goes_on is not None else None
            return new if before is None else replace(new, before=before.part(piece.nodes))

        items = tuple(NewItem(ItemId(piece.id), work(piece).to_json()) for piece in pieces)
        return Folded(state, (*_tolerated(state), *_given(state)), items=items)


def _first_nodes(state: StageState) -> Callable[[NodeName], bool]:
    """Return whether a node has done no task of this run yet; kept tasks of an earlier run do not count."""
    software = state.software
    begun = [0] * len(software.flow.nodes)
    for index, bits in state.done.items():
        begun[software.flow.cells[index].number] |= bits & ~software.kept.get(index, 0)

    def is_first(node: NodeName) -> bool:
        number, bit = software.flow.class_of[node]
        return not begun[number] & bit

    return is_first


def _ended(execution: Execution, item: EndedItem, state: TaskState | None) -> Ended:
    """Return how a piece ended; if the item itself broke or was stopped, all nodes that had not ended failed."""
    nodes = execution.nodes_of(item.id)
    if item.outcome is ItemState.SUCCESS or (item.outcome is ItemState.FAILED and state is not None and state.failed):
        return Ended(item.id, state.failed if state else {}, state.parts if state else ())
    left = [node for part in state.parts for node in part] if state else nodes
    return Ended(item.id, {**dict.fromkeys(left, item.detail), **(state.failed if state else {})})


def _verdict(state: StageState) -> Done | Failed:
    """Return how the run ended: only failures within a tolerance that groups state are no failure of the run."""
    execution = state.execution
    unmet = execution.unmet()
    if execution.stopped is not None:
        return Failed(f"{execution.stopped} {reasons(state.failed, unmet)}")
    if not execution.flow.cells:
        return Done("; ".join(state.software.warnings) or "no task runs on these nodes")
    kept = sum(bits.bit_count() for bits in state.software.kept.values())
    succeeded = sum(bits.bit_count() for bits in state.done.values()) - kept
    ran = f"{succeeded} task(s) on {len(execution.flow.class_of)} node(s)"
    if kept:
        ran += f", {kept} kept of action {state.retried}"
    ran += "; they showed what they would do, and changed nothing" if state.software.noop else ""
    if not state.failed and not unmet:
        return Done(ran)
    count, why = len({*state.failed, *unmet}), reasons(state.failed, unmet)
    if not execution.is_good(unmet):
        return Failed(f"{ran}; {count} node(s) failed or lack a task: {why}")
    return Done(f"{ran}; {count} node(s) failed within their tolerance: {why}")


def _nothing(software: StageSoftware) -> tuple[Fact, ...]:
    """Return the warning that a run has nothing to run: its step succeeds, and nothing was installed."""
    if software.flow.cells:
        return ()
    message = " ".join(["The software stage had nothing to run.", *software.warnings])
    return (FindingReported(warning("NothingToRun", message)),)


def tolerates(state: StageState) -> bool:
    """Return whether the run has ended well: the nodes that failed did so within their tolerance."""
    return bool(state.begun and state.execution.has_ended and isinstance(_verdict(state), Done))


def _tolerated(state: StageState) -> tuple[Fact, ...]:
    """Return the note that names the nodes which failed within their tolerance."""
    text = reasons(state.failed, state.execution.unmet()) if tolerates(state) else ""
    return (Noted("Failures Tolerated", text),) if text else ()


def _given(state: StageState) -> tuple[Fact, ...]:
    """Return the nodes on which every task has succeeded, once the run has ended."""
    execution, software = state.execution, state.software
    if not software.given or not execution.has_ended:
        return ()
    lacking = {*state.failed, *execution.unmet()}
    given = {node: digest for node, digest in software.given.items() if node not in lacking}
    return (SoftwareGiven(sum(map(bool, given.values())), given),) if given else ()


def reasons(failed: Mapping[NodeName, str], unmet: Mapping[NodeName, str], most: int = 3) -> str:
    """Return why nodes failed, and after them why others lack a task."""
    shown = [f"{node}: {why}" for nodes in (failed, unmet) for node, why in sorted(nodes.items())]
    return in_short(shown, most, "; ")
