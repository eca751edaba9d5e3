"""The step that takes nodes out of their cluster: a work item for each node and phase (product, sections 6 and 10)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Never

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesGivenUp
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.workflow.step import Done, Failed, Folded, Gather, Json, PeerFailure, Step


@dataclass(frozen=True, slots=True)
class PhaseOfTeardown:
    """Operations that each node goes through as one work item. ``one_by_one``: never two nodes at a time."""

    name: str
    operations: tuple[Operation, ...]
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class TeardownState(ByFields):
    """``phase``: the index of the current one. ``todo``: its nodes without an item; ``open``: items at work.

    ``failed``: nodes whose item failed, with its sentence; no further item begins after one has failed.
    """

    STORED_VERSION: ClassVar = 1

    nodes: tuple[NodeName, ...]
    phase: int = -1
    todo: tuple[NodeName, ...] = ()
    open: tuple[NodeName, ...] = ()
    failed: tuple[tuple[NodeName, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TeardownNodes(Step[TeardownState, Never, Never, Never]):
    """Takes these nodes through the phases, all of them through one before any enters the next.

    ``task`` returns what the item of a node works from, given the operations. Nodes that an earlier try of the action
    has taken through all phases (``kept_items``) are left out.
    """

    version: ClassVar[int] = 1

    id: StepId
    nodes: tuple[NodeName, ...]
    phases: tuple[PhaseOfTeardown, ...]
    task: Callable[[NodeName, tuple[Operation, ...]], TeardownTask]
    item_kind: NodeTeardown
    always: bool = False

    def begin(self, inputs: ActionInputs) -> TeardownState:
        """Start with every node that is not kept."""
        kept = frozenset(inputs.kept_items.get(self.id, ()))
        last = len(self.phases) - 1
        return TeardownState(tuple(node for node in self.nodes if self._item(node, last) not in kept))

    def load_state(self, stored: Json) -> TeardownState:
        """Return a state from its stored form."""
        return TeardownState.from_json(stored)

    def decide(self, state: TeardownState, now: datetime) -> Gather | Done | Failed:
        """Wait for items, begin the next phase, or end."""
        if state.open:
            return Gather()
        if state.failed:
            return Failed("; ".join(f"{node}: {why}" for node, why in state.failed))
        if state.nodes and (state.todo or state.phase < len(self.phases) - 1):
            return Gather()
        return Done(
            f"{len(state.nodes)} node(s): {', '.join(state.nodes)}" if state.nodes else "nothing was left to do"
        )

    def fold(self, state: TeardownState, asked: Never, report: PeerFailure, now: datetime) -> Folded[TeardownState]:
        """Never called: the step sends no request itself."""
        raise TypeError("this step asks nothing")

    def gather(self, state: TeardownState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[TeardownState]:
        """Take what has ended, and create the items that may begin."""
        ends = {item.id: item for item in ended}
        phase = state.phase
        over = {node: ends[item] for node in state.open if (item := self._item(node, phase)) in ends}
        failed = tuple((node, item.detail) for node, item in over.items() if item.outcome is not ItemState.SUCCESS)
        at_work = tuple(node for node in state.open if node not in over)
        facts = tuple(NodesGivenUp((node,), why) for node, why in failed)
        state = replace(state, open=at_work, failed=(*state.failed, *failed))
        if state.failed:
            return Folded(replace(state, todo=()), (*facts, *self._left(state)))
        if not state.open and not state.todo and phase < len(self.phases) - 1:
            phase += 1
            state = replace(state, phase=phase, todo=state.nodes)
        one_by_one = self.phases[phase].one_by_one
        new = state.todo[: 0 if state.open else 1] if one_by_one else state.todo
        items = tuple(NewItem(self._item(node, phase), self._task(node, phase).to_json()) for node in new)
        state = replace(state, todo=state.todo[len(new) :], open=(*state.open, *new))
        return Folded(state, items=items)

    def give_up(self, why: str) -> tuple[Fact, ...]:
        """Return that the nodes stay as they are."""
        return (NodesGivenUp(self.nodes, why),) if self.nodes else ()

    def _left(self, state: TeardownState) -> tuple[Fact, ...]:
        """Return that the step goes on with none of its nodes, once the last one at work has ended."""
        failed = {node for node, _ in state.failed}
        left = tuple(node for node in state.nodes if node not in failed)
        why = f"{self.id} failed: {'; '.join(f'{node}: {why}' for node, why in state.failed)}"
        return (NodesGivenUp(left, why),) if left and not state.open else ()

    def _task(self, node: NodeName, phase: int) -> TeardownTask:
        """Return what an item works from; a node begins with its first phase."""
        task = self.task(node, self.phases[phase].operations)
        return task if phase == 0 else replace(task, windows=None)

    def _item(self, node: NodeName, phase: int) -> ItemId:
        return ItemId(f"{node}/{self.phases[phase].name}")
