"""Running servers on the first part of their way: they are taken down before the provisioner prepares them again.

A move that begins with such servers takes them through the phases of a teardown, as work items. Those that pass are
then submitted to the provisioner under the same move, so that a group and its pace know one move of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.job_watch import Job
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.actions.steps.settling import finish
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.actions.steps.teardown.teardown_nodes import Phases, TeardownState, item_of
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.items import EndedItem, ItemId, NewItem
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.provisioner import JobId

_LEFT = "not taken down further: its group cannot meet its criteria any more"


class TakesDown(Struct, frozen=True):
    """How servers are taken down: the phases, what the item of a node works from, and the kind of the items.

    ``members``: returns which of some nodes have members of each etcd cluster, by the design of a revision; asks peers.
    """

    phases: Phases
    task: Callable[[NodeName, tuple[Operation, ...]], TeardownTask]
    kind: NodeTeardown
    members: Callable[[int, Sequence[NodeName]], Mapping[str, tuple[NodeName, ...]]]

    def left(self, items: Iterable[ItemId], ways: Ways) -> Ways:
        """Return the ways without the servers that these items, of earlier tries, have taken down."""
        ended = frozenset(items)
        left = (node for node in ways.reinstalled if item_of(node, self.phases[-1]) not in ended)
        return replace(ways, reinstalled=tuple(left))


def one_way(state: RolloutState, move: Move) -> Move:
    """Return the move with those of its nodes that have the same way as the first."""
    return replace(move, nodes=state.inputs.ways.alike(move.nodes))


def begins(state: RolloutState, move: Move) -> bool:
    """Return whether the nodes of a move are taken down before they are prepared."""
    return move.phase is Phase.PREPARE and state.way(move).takes_down


def is_at_work(state: RolloutState, takes: TakesDown | None) -> bool:
    """Return whether any node is being taken down."""
    passages = (watch.passage for watch in state.watches.values())
    return takes is not None and any(passage and not passage.is_over(takes.phases) for passage in passages)


def next_submission(state: RolloutState, rollout: Rollout, takes: TakesDown | None) -> Move | None:
    """Return what is left of a move whose nodes were taken down, and may be prepared now."""
    for move, watch in state.watches.items() if takes else ():
        if takes and watch.passage and watch.passage.is_over(takes.phases):
            return replace(move, nodes=rollout.unsettled(move))
    return None


def running(state: RolloutState, submitted: Move) -> Move | None:
    """Return the running move whose nodes were taken down and are submitted; None for a move that begins with it."""
    moves = (move for move, watch in state.watches.items() if watch.passage is not None)
    return next((move for move in moves if submitted.is_part_of(move)), None)


def submitted(
    state: RolloutState, rollout: Rollout, move: Move, nodes: Sequence[NodeName], job: JobId, now: datetime
) -> Move:
    """Watch the job of nodes that were taken down, and return their move; others of it are submitted later."""
    watch = state.watches.pop(move)
    later = [node for node in rollout.unsettled(move) if node not in nodes]
    if later:
        rest, move = rollout.split(move, later)
        state.watches[rest] = replace(watch)
    state.watches[move] = replace(watch, job=Job.submitted(job, now), passage=None)
    return move


def gather(
    state: RolloutState, rollout: Rollout, takes: TakesDown | None, ended: tuple[EndedItem, ...], now: datetime
) -> tuple[tuple[Fact, ...], tuple[NewItem, ...]]:
    """Take what has ended, and else begin the next move; return the items that may begin.

    A move ends early if its group is lost.
    """
    if takes is None:
        raise AssertionError("the step takes no server down")
    facts, items = list[Fact](), list[NewItem]()
    if not ended and (move := rollout.next_move(now)) is not None and begins(state, move := one_way(state, move)):
        facts.extend(rollout.start(move))
        state.watches[move] = Watch(Job.submitted(JobId(""), now), passage=TeardownState(move.nodes))
    for move, watch in list(state.watches.items()):
        if watch.passage is None:
            continue
        watch.passage, failed = watch.passage.ended(takes.phases, ended)
        if failed:
            facts.extend(rollout.progress(move, Outcome(reasons=dict(failed)), dict(failed)))
        if not watch.passage.open and watch.passage.phase >= 0 and (left := rollout.unsettled(move)):
            if not rollout.is_lost(move.group):
                continue
            facts.extend(
                finish(state.watches.pop(move), rollout, move, Outcome(reasons=dict.fromkeys(left, _LEFT)), "")
            )
        elif not watch.passage.open and not rollout.unsettled(move):
            facts.extend(finish(state.watches.pop(move), rollout, move, Outcome(), ""))
    for watch in state.watches.values():
        if watch.passage is None or watch.passage.is_over(takes.phases):
            continue
        watch.passage, new = watch.passage.advanced(takes.phases, is_free=_is_free(state, takes.phases))
        phase = takes.phases[watch.passage.phase]
        items += [NewItem(item_of(node, phase), takes.task(node, phase.operations).to_json()) for node in new]
    return tuple(facts), tuple(items)


def never_begun(state: RolloutState, rollout: Rollout, *, can_service: bool) -> tuple[Fact, ...]:
    """Return that servers stay as they are which a rollout that has ended would have changed, and never sent.

    ``can_service``: whether the provisioner runs steps on running servers.
    """
    waiting = (node for node in sorted(state.inputs.ways.changed & rollout.nodes.keys()))
    never = tuple(node for node in waiting if rollout.nodes[node] is NodeStatus.NOT_STARTED and node not in state.left)
    if not never or not rollout.done:
        return ()
    state.left = (*state.left, *never)
    differs = {node: aspects for node in never if (aspects := state.inputs.ways.differs.get(node))}
    unknown = tuple(node for node in never if node not in differs)
    return (NodesLeft(tuple(differs), unknown, differs, can_service),)


def _is_free(state: RolloutState, phases: Phases) -> bool:
    """Return whether no node is in a phase in which servers go one by one."""
    passages = (watch.passage for watch in state.watches.values())
    return not any(passage and passage.open and phases[passage.phase].one_by_one for passage in passages)
