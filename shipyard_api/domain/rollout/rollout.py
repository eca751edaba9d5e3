"""Deploying a strategy: which nodes move next, and what an outcome means (seed 000, Process; product, section 3).

A rollout only changes by ``start``, ``refuse``, ``hold``, ``progress`` and ``finish``; all return facts. It knows no
clock and no provisioner. A phase sends those members whose node status fits at that moment (prepare: not started;
deploy: prepared) and that no other group has in flight, so a node is sent at most once per phase, by whichever of its
groups comes first. A group is judged when all its members are settled, whichever group moved them. While a group
prepares, groups that come after it in the serial run do not deploy its nodes: they could fail the preparation.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged, RolloutEnded
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.modes import SERIAL, Mode, OnTimeout
from shipyard_api.domain.rollout.moves import REACHES, SENT_AS, Move, Outcome
from shipyard_api.domain.rollout.open_group import OpenGroup
from shipyard_api.domain.strategy.criteria import Shortfall, shortfalls
from shipyard_api.domain.strategy.strategy import GroupName, Strategy


class Rollout:
    """The deployment of one strategy on known members, from the first move to the verdict.

    The cost of a whole rollout is linear in groups, dependencies and memberships. ``running`` are the running moves, in
    order of their start. ``in_queue`` are the nodes of moves that the provisioner never began: their job may still
    begin, so they are not sent again. ``uncounted``: nodes that are sent as all others, and that no criterion counts.
    """

    def __init__(
        self, strategy: Strategy, members: Mapping[GroupName, Iterable[NodeName]], mode: Mode = SERIAL
    ) -> None:
        self._set_up(Membership(strategy, members), mode)
        self._index({})

    @classmethod
    def resumed(
        cls,
        membership: Membership,
        mode: Mode,
        *,
        nodes: Mapping[NodeName, NodeStatus],
        groups: Mapping[GroupName, GroupStatus],
        reasons: Mapping[GroupName, Reason],
        running: Iterable[Move] = (),
        batches: Mapping[GroupName, Mapping[Phase, int]] | None = None,
        in_queue: Iterable[NodeName] = (),
    ) -> "Rollout":
        """Return a rollout from its stored state; names that are not given have not started.

        ``nodes``: if they are all nodes, then in order of name.
        """
        rollout = cls.__new__(cls)
        rollout._set_up(membership, mode)
        if len(nodes) == len(rollout.nodes):
            rollout.nodes, nodes = dict(nodes), {}  # many times faster than an update
        rollout.restore(
            nodes=nodes, groups=groups, reasons=reasons, running=running, batches=batches, in_queue=in_queue
        )
        return rollout

    def _set_up(self, membership: Membership, mode: Mode) -> None:
        self.mode = mode
        self._groups, self._rank, self._by_rank = membership.groups, membership.rank, membership.by_rank
        self._children, self._groups_of, self._serial = membership.children, membership.groups_of, membership.serial
        self.members, self.nodes = membership.members, dict(membership.nodes)
        self.groups: dict[GroupName, GroupStatus] = dict.fromkeys(self._groups, GroupStatus.NOT_STARTED)
        self.reasons: dict[GroupName, Reason] = {}
        self.running: list[Move] = []
        self.in_queue: set[NodeName] = set()
        self.uncounted = frozenset[NodeName]()

    def leave_out(self, nodes: Iterable[NodeName]) -> None:
        """Count these nodes in no criteria that are judged from now on, and count all others."""
        self.uncounted = frozenset(nodes)

    def _index(self, batches: Mapping[GroupName, Mapping[Phase, int]]) -> None:
        """Rebuild the indexes from the statuses: dependencies, nodes in flight, nodes that could be sent."""
        self._following: tuple[GroupName, OpenGroup] | None = None
        self._waiting = {
            name: len([parent for parent in group.depends_on if self.groups[parent] is not GroupStatus.SUCCESS])
            for name, group in self._groups.items()
            if self.groups[name] is GroupStatus.NOT_STARTED
        }
        self._ready = [self._rank[name] for name, count in self._waiting.items() if not count]
        heapq.heapify(self._ready)
        self._in_flight = {node for move in self.running for node in self.unsettled(move)}
        self._open: dict[GroupName, OpenGroup] = {}
        self._can_send: set[GroupName] = set()
        for name, status in self.groups.items():
            if status in (GroupStatus.PREPARING, GroupStatus.DEPLOYING):
                opened = self._begin(name, batches.get(name, {}))
                if not opened.not_started:
                    self.groups[name] = GroupStatus.DEPLOYING
                self._note(name, opened)
        for name in self._open:
            self._share(name)

    @property
    def done(self) -> bool:
        """Whether no group can move any more."""
        return not self.running and not self._open and not self._ready

    @property
    def batches(self) -> dict[GroupName, dict[Phase, int]]:
        """How many moves each group that has not ended has made in each phase."""
        return {name: dict(opened.batches) for name, opened in self._open.items()}

    def unsettled(self, move: Move) -> tuple[NodeName, ...]:
        """Return the nodes of a running move whose outcome is unknown."""
        sent_as, nodes = SENT_AS[move.phase], self.nodes
        return tuple([node for node in move.nodes if nodes[node] is sent_as])

    def next_move(self, now: datetime | None = None) -> Move | None:
        """Return the next move, None if nothing may start now. Changes nothing. Only a policy asks for the time.

        Groups that have begun come first: nodes to deploy before nodes to prepare, groups in the order of the document.
        Of the groups whose parents all succeeded, the first in the document begins next.
        """
        limit = self.mode.max_nodes_in_flight
        room = None if limit is None else max(limit - len(self._in_flight), 0)
        if self._can_send and room != 0:
            deploying = [name for name in self._can_send if self._may_deploy(name)]
            name = min(deploying or self._can_send, key=self._rank.__getitem__)
            return self._move(name, Phase.DEPLOY if deploying else Phase.PREPARE, self._open[name], room)
        if not self._ready or self._groups_in_flight() >= self.mode.max_parallel_groups:
            return None
        name = self._by_rank[self._ready[0]]
        opened = self._opened(name, {})
        if room == 0 and opened.to_prepare:
            return None
        return self._move(name, Phase.PREPARE, opened, room)

    def start(self, move: Move) -> tuple[Fact, ...]:
        """Record that the move, which must be the next one or a part of it, has started. An empty one ends at once."""
        self._check_next(move)
        facts = self._entered(move.group)
        if move.nodes:
            self.running.append(move)
            self._in_flight.update(move.nodes)
            self._open[move.group].batches[move.phase] = move.batch
            self._take(move.nodes)
        return (*facts, *self._judged([move.group]))

    def refuse(self, move: Move, why: str) -> tuple[Fact, ...]:
        """Fail the group of the next move, because the provisioner rejected it; its descendants fail by dependency.

        The nodes keep their statuses, so that other groups that hold them can still send them.
        """
        self._check_next(move)
        status = SENT_AS[move.phase]
        reasons = dict.fromkeys(move.nodes, why)
        nodes = NodesChanged(move.group, move.phase, status, move.nodes, reasons=reasons, refused=True)
        if self.groups[move.group] is GroupStatus.NOT_STARTED:
            self._leave_ready(move.group)
            self._begin(move.group, {})
        return (nodes, *self._fail(move.group, Reason.REFUSED, why))

    def hold(self, move: Move, reasons: Mapping[NodeName, str]) -> tuple[Fact, ...]:
        """Fail the nodes of the next move that are held, in all their groups; the rest is sent by a later move.

        A move that opens its group opens it, so that the group is judged.
        """
        self._check_next(move)
        facts = self._entered(move.group)
        held = tuple(node for node in move.nodes if node in reasons)
        self._take(held)
        return (*facts, *self._settled(move, (), held, Outcome(reasons=reasons, held=True)))

    def progress(self, move: Move, outcome: Outcome, failed: Iterable[NodeName] = ()) -> tuple[Fact, ...]:
        """Record the nodes of a running move that are known to have succeeded or failed before it ends."""
        if move not in self.running:
            raise ValueError(f"{move.phase.value} of {move.group} is not running")
        lost = frozenset(failed)
        open_still = self.unsettled(move)
        good = tuple(node for node in open_still if node in outcome.succeeded)
        bad = tuple(node for node in open_still if node in lost and node not in outcome.succeeded)
        return tuple(self._settled(move, good, bad, outcome))

    def finish(self, move: Move, outcome: Outcome) -> tuple[Fact, ...]:
        """Record how a running move ended, and judge every group that this settles (seed 000, Process)."""
        if move not in self.running:
            raise ValueError(f"{move.phase.value} of {move.group} is not running")
        left = self.unsettled(move)
        self.running.remove(move)
        if outcome.never_begun:
            return tuple(self._given_up(move, left, outcome.why))
        good = tuple(node for node in left if node in outcome.succeeded)
        bad = tuple(node for node in left if node not in outcome.succeeded)
        return tuple(self._settled(move, good, bad, outcome))

    def stop(self, why: str) -> tuple[Fact, ...]:
        """Fail every running group and every node in flight, because no turn will finish them.

        All other statuses stay.
        """
        facts, self._following = list[Fact](), None
        for move in self.running:
            if left := self.unsettled(move):
                self.nodes.update(dict.fromkeys(left, NodeStatus.FAILURE))
                reasons = dict.fromkeys(left, why)
                facts.append(NodesChanged(move.group, move.phase, NodeStatus.FAILURE, left, reasons=reasons))
        for name in sorted(self._open, key=self._rank.__getitem__):
            self._end(name, GroupStatus.FAILED)
            self.reasons[name] = Reason.STOPPED
            facts.append(GroupChanged(name, GroupStatus.FAILED, Reason.STOPPED, why))
        return tuple(facts)

    def verdict(self) -> Verdict:
        """Return the verdict; meaningful once the rollout is done. Only critical groups decide."""
        critical = (name for name, group in self._groups.items() if group.critical)
        failed = any(self.groups[name] is not GroupStatus.SUCCESS for name in critical)
        return Verdict.FAILED if failed else Verdict.SUCCESS

    def report(self) -> RolloutEnded:
        """Return how every group and every node ended; meaningful once the rollout is done (seed 000, Process 4)."""
        critical = tuple(name for name, group in self._groups.items() if group.critical)
        return RolloutEnded.of(self.verdict(), self.groups, self.nodes, critical)

    def restore(
        self,
        *,
        nodes: Mapping[NodeName, NodeStatus],
        groups: Mapping[GroupName, GroupStatus],
        reasons: Mapping[GroupName, Reason],
        running: Iterable[Move] = (),
        batches: Mapping[GroupName, Mapping[Phase, int]] | None = None,
        in_queue: Iterable[NodeName] = (),
    ) -> None:
        """Set the statuses from a stored state; names that are not given have not started."""
        self.nodes.update(nodes)
        self.groups.update(groups)
        self.reasons.update(reasons)
        self.running, self.in_queue = list(running), set(in_queue)
        self._index(batches or {})

    def _check_next(self, move: Move) -> None:
        if not self._is_next(move):
            raise ValueError(f"{move.phase.value} of {move.group} is not the next move")

    def _is_next(self, move: Move) -> bool:
        """Return whether it is the next move, or a part of it."""
        following = self.next_move()
        return following is not None and move.is_part_of(following)

    def _leave_ready(self, name: GroupName) -> None:
        """Take a group that begins out of those that could begin: it is the first of them."""
        heapq.heappop(self._ready)

    def _groups_in_flight(self) -> int:
        """Count the groups that have begun and not ended, and the failed ones with nodes in flight."""
        return len(self._open.keys() | {move.group for move in self.running})

    def _may_deploy(self, name: GroupName) -> bool:
        return self.groups[name] is GroupStatus.DEPLOYING and bool(self._open[name].to_deploy)

    def _move(self, name: GroupName, phase: Phase, opened: OpenGroup, room: int | None) -> Move:
        free = opened.to_prepare if phase is Phase.PREPARE else sorted(opened.to_deploy)
        return Move(name, phase, tuple(islice(free, room)), opened.batches.get(phase, 0) + 1)

    def _opened(self, name: GroupName, batches: Mapping[Phase, int]) -> OpenGroup:
        """Return the group as it would be opened now; found once for the next move and its start."""
        if batches or self._following is None or self._following[0] != name:
            opened = OpenGroup.of(self.members[name], self.nodes, self.in_queue, self._in_flight, batches)
            self._following = (name, opened)
        return self._following[1]

    def _entered(self, name: GroupName) -> list[Fact]:
        """Open the group of the next move, if that is its first."""
        if self.groups[name] is not GroupStatus.NOT_STARTED:
            return []
        self._leave_ready(name)
        self.groups[name] = GroupStatus.PREPARING
        self._begin(name, {})
        self._share(name)
        return [GroupChanged(name, GroupStatus.PREPARING)]

    def _begin(self, name: GroupName, batches: Mapping[Phase, int]) -> OpenGroup:
        """Open a group."""
        opened = self._open[name] = self._opened(name, batches)
        self._following = None
        self._note(name, opened)
        return opened

    def _note(self, name: GroupName, opened: OpenGroup) -> None:
        """Update the index of groups that could send nodes now."""
        if opened.to_prepare or self._may_deploy(name):
            self._can_send.add(name)
        else:
            self._can_send.discard(name)

    def _share(self, name: GroupName) -> None:
        """Decide anew which open groups could deploy the nodes of a group that has begun or ended to prepare."""
        if self._open.keys() <= {name}:
            return
        prepared = [node for node in self.members[name] if self.nodes[node] is NodeStatus.PREPARED]
        for node in (node for node in prepared if node not in self._in_flight and node not in self.in_queue):
            for holder in self._open.keys() & self._groups_of[node]:
                self._open[holder].to_deploy.pop(node, None)
                if not self._comes_too_early(node, holder):
                    self._open[holder].to_deploy[node] = None
                self._note(holder, self._open[holder])

    def _comes_too_early(self, node: NodeName, name: GroupName) -> bool:
        """Return whether the node's deployment by this group could fail the preparation of an earlier one."""
        return len(self._open) > 1 and any(
            self.groups[other] is GroupStatus.PREPARING and self._serial[other] < self._serial[name]
            for other in self._groups_of[node]
        )

    def _take(self, nodes: Iterable[NodeName]) -> None:
        """Let no group send these nodes now."""
        self._following, concerned = None, set[GroupName]()
        for node in nodes:
            for name in self._groups_of[node]:
                if (opened := self._open.get(name)) is not None:
                    opened.to_prepare.pop(node, None)
                    opened.to_deploy.pop(node, None)
                    concerned.add(name)
        for name in concerned:
            self._note(name, self._open[name])

    def _settled(
        self, move: Move, good: tuple[NodeName, ...], bad: tuple[NodeName, ...], outcome: Outcome
    ) -> Iterator[Fact]:
        """Set the status of nodes, fail the group of a move that timed out, and judge all affected groups."""
        self._in_flight.difference_update(good, bad)
        concerned = self._open.keys() & {move.group}
        for nodes, status in ((good, REACHES[move.phase]), (bad, NodeStatus.FAILURE)):
            concerned |= self._settle(nodes, SENT_AS[move.phase], status)
        if good:
            yield NodesChanged(move.group, move.phase, REACHES[move.phase], good)
        if bad:
            reasons = {node: outcome.reasons[node] for node in bad if node in outcome.reasons}
            timed_out, held = outcome.timed_out, outcome.held
            yield NodesChanged(move.group, move.phase, NodeStatus.FAILURE, bad, timed_out, reasons, held=held)
        if outcome.timed_out and self.mode.on_timeout is OnTimeout.FAIL_GROUP and move.group in self._open:
            detail = f"{move.phase.value} did not end within its time limit"
            yield from self._fail(move.group, Reason.TIMEOUT, f"{detail}: {outcome.why}" if outcome.why else detail)
        yield from self._judged(concerned)

    def _given_up(self, move: Move, nodes: tuple[NodeName, ...], why: str) -> Iterator[Fact]:
        """Fail the group of a move that the provisioner never began; its nodes are never sent again."""
        self._following = None
        self._in_flight.difference_update(nodes)
        self.in_queue.update(nodes)
        concerned: dict[GroupName, None] = {}
        for node in nodes:
            holders = [name for name in self._groups_of[node] if name in self._open]
            concerned |= dict.fromkeys(holders)
            for name in holders:
                self._open[name].give_up(move.phase)
        reasons = dict.fromkeys(nodes, why)
        yield NodesChanged(move.group, move.phase, SENT_AS[move.phase], nodes, timed_out=True, reasons=reasons)
        if move.group in self._open:
            yield from self._fail(move.group, Reason.QUEUE_TIMEOUT, why)
        yield from self._judged(concerned)

    def _settle(self, nodes: Iterable[NodeName], before: NodeStatus, status: NodeStatus) -> set[GroupName]:
        """Set the status of nodes and return their open groups."""
        self._following = None
        concerned, statuses, groups_of, groups = set[GroupName](), self.nodes, self._groups_of, self._open
        for node in nodes:
            statuses[node] = status
            for name in groups_of[node]:
                if (opened := groups.get(name)) is None:
                    continue
                concerned.add(name)
                opened.settle(before, status)
                if status is NodeStatus.PREPARED and not self._comes_too_early(node, name):
                    opened.to_deploy[node] = None
        return concerned

    def _judged(self, concerned: Iterable[GroupName]) -> Iterator[Fact]:
        """Advance these groups as far as the statuses of their members allow, in the order of the document."""
        for name in sorted(concerned, key=self._rank.__getitem__):
            if (opened := self._open.get(name)) is None:
                continue
            if self.groups[name] is GroupStatus.PREPARING:
                yield from self._judge_prepare(name, opened)
            if self.groups[name] is GroupStatus.DEPLOYING and not opened.not_started and not opened.prepared:
                yield from self._judge_deploy(name, opened)
            if name in self._open:
                self._note(name, opened)

    def _judge_prepare(self, name: GroupName, opened: OpenGroup) -> Iterator[Fact]:
        """Judge the preparation over all members; early only if no outstanding outcome can change the result."""
        early = self.mode.deploy_as_prepared and bool(opened.prepared)
        if opened.not_started and not early:
            return
        good = opened.prepared + opened.prepared_in_queue + opened.succeeded
        missed = self._shortfalls(name, good, lambda node: self.nodes[node] in REACHES.values())
        if not missed:
            self.groups[name] = GroupStatus.DEPLOYING
            self._share(name)
            yield GroupChanged(name, GroupStatus.DEPLOYING)
        elif not opened.not_started:
            yield from self._fail(name, Reason.PREPARE, "; ".join(map(str, missed)), missed)

    def _judge_deploy(self, name: GroupName, opened: OpenGroup) -> Iterator[Fact]:
        if missed := self._shortfalls(name, opened.succeeded, lambda node: self.nodes[node] is NodeStatus.SUCCESS):
            yield from self._fail(name, Reason.DEPLOY, "; ".join(map(str, missed)), missed)
        else:
            yield self._succeed(name)

    def _shortfalls(self, name: GroupName, good: int, is_good: Callable[[NodeName], bool]) -> tuple[Shortfall, ...]:
        """Return the criteria that a group misses with ``good`` of its members; ``is_good``: which ones these are."""
        criteria, members = self._groups[name].success_criteria, self.members[name]
        left_out = self.uncounted & members
        successful = good - sum(map(is_good, left_out))
        return shortfalls(criteria, members=len(members) - len(left_out), successful=successful)

    def _succeed(self, name: GroupName) -> Fact:
        self._end(name, GroupStatus.SUCCESS)
        for child in self._children[name]:
            if child in self._waiting:
                self._waiting[child] -= 1
                if not self._waiting[child] and self.groups[child] is GroupStatus.NOT_STARTED:
                    heapq.heappush(self._ready, self._rank[child])
        return GroupChanged(name, GroupStatus.SUCCESS)

    def _fail(self, name: GroupName, reason: Reason, detail: str, missed: tuple[Shortfall, ...] = ()) -> Iterable[Fact]:
        """Fail the group and, because of it, all its descendants; each group is visited once."""
        self._end(name, GroupStatus.FAILED)
        self.reasons[name] = reason
        facts = [GroupChanged(name, GroupStatus.FAILED, reason, detail, missed)]
        failed = [name]
        while failed:
            parent = failed.pop()
            for child in self._children[parent]:
                if self.groups[child] is GroupStatus.NOT_STARTED:
                    self.groups[child] = GroupStatus.FAILED
                    self.reasons[child] = Reason.DEPENDENCY
                    because = f"depends on {parent}, which failed"
                    facts.append(GroupChanged(child, GroupStatus.FAILED, Reason.DEPENDENCY, because))
                    failed.append(child)
        return facts

    def _end(self, name: GroupName, status: GroupStatus) -> None:
        self.groups[name] = status
        del self._open[name]
        self._can_send.discard(name)
        self._share(name)
