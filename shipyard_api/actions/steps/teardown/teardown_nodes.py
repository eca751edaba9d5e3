"""The step that takes nodes out of their cluster: a work item for each node and phase (product, sections 6 and 10)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Never

from msgspec import Struct
from msgspec.structs import replace

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
from shipyard_api.workflow.step import Done, Failed, Folded, Gather, PeerFailure, Step


class PhaseOfTeardown(Struct, frozen=True):
    """Operations that each node goes through as one work item. ``one_by_one``: never two nodes at a time."""

    name: str
    operations: tuple[Operation, ...]
    one_by_one: bool = False


Phases = Sequence[PhaseOfTeardown]


def item_of(node: NodeName, phase: PhaseOfTeardown) -> ItemId:
    """Return the id of the item that takes a node through a phase."""
    return ItemId(f"{node}/{phase.name}")


class TeardownState(ByFields, Struct, frozen=True):
    """Nodes on their way through the phases of a teardown, all through one before any enters the next.

    ``phase``: the index of the current one. ``todo``: its nodes without an item; ``open``: items at work. ``failed``:
    nodes whose item failed, with its sentence.
    """

    STORED_VERSION: ClassVar = 1

    nodes: tuple[NodeName, ...]
    phase: int = -1
    todo: tuple[NodeName, ...] = ()
    open: tuple[NodeName, ...] = ()
    failed: tuple[tuple[NodeName, str], ...] = ()

    def ended(
        self, phases: Phases, ended: Iterable[EndedItem]
    ) -> "tuple[TeardownState, Sequence[tuple[NodeName, str]]]":
        """Return the state after items have ended, and the nodes that failed now, each with its sentence."""
        if self.phase < 0:
            return self, ()
        ends = {item.id: item for item in ended}
        over = {node: ends[item] for node in self.open if (item := item_of(node, phases[self.phase])) in ends}
        failed = tuple((node, item.detail) for node, item in over.items() if item.outcome is not ItemState.SUCCESS)
        at_work = tuple(node for node in self.open if node not in over)
        return replace(self, open=at_work, failed=(*self.failed, *failed)), failed

    def advanced(self, phases: Phases, *, is_free: bool = True) -> "tuple[TeardownState, Sequence[NodeName]]":
        """Return the state with the nodes whose item begins now, all that succeeded through one phase before the next.

        ``is_free``: whether a node may begin a phase in which they go one by one.
        """
        state = self
        if not state.open and not state.todo and not state.is_over(phases):
            state = replace(state, phase=state.phase + 1, todo=state.left)
        one_by_one = phases[state.phase].one_by_one
        new = state.todo[: 0 if state.open or not is_free else 1] if one_by_one else state.todo
        return replace(state, todo=state.todo[len(new) :], open=(*state.open, *new)), new

    @property
    def left(self) -> tuple[NodeName, ...]:
        """The nodes that have not failed."""
        failed = dict(self.failed)
        return tuple(node for node in self.nodes if node not in failed)

    def is_over(self, phases: Phases) -> bool:
        """Return whether every node has passed the last phase, or failed."""
        last = self.phase == len(phases) - 1
        return not self.open and not self.todo and (last or not self.left)


@dataclass(frozen=True, slots=True)
class TeardownNodes(Step[TeardownState, Never, Never, Never]):
    """Takes these nodes through the phases. No further item begins after one has failed.

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
        return TeardownState(tuple(node for node in self.nodes if item_of(node, self.phases[-1]) not in kept))

    load_state = staticmethod(TeardownState.from_json)

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
        state, failed = state.ended(self.phases, ended)
        facts = tuple(NodesGivenUp((node,), why) for node, why in failed)
        if state.failed:
            return Folded(replace(state, todo=()), (*facts, *self._left(state)))
        state, new = state.advanced(self.phases)
        items = tuple(
            NewItem(item_of(node, self.phases[state.phase]), self._task(node, state.phase).to_json()) for node in new
        )
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
