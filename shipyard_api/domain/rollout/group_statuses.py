"""The statuses of the nodes and groups of a rollout, and what follows from them: a group begins, succeeds, fails."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import NEXT, REACHES, SENT_AS, Mode, Move, OnTimeout, Outcome
from shipyard_api.domain.rollout.open_groups import OpenGroup, ReadyGroups
from shipyard_api.domain.strategy.criteria import Shortfall, shortfalls
from shipyard_api.domain.strategy.strategy import GroupName


class GroupStatuses:
    """The statuses of a rollout, with the indexes that make its cost linear in groups, dependencies and memberships.

    ``nodes``: the status of each, in order of name. ``open``: the groups that have begun and not ended; ``can_send``:
    those of them that could send nodes. ``ready``: groups that could begin. ``in_parts``: a group may deploy nodes
    while others of it wait for their preparation.
    """

    def __init__(
        self, membership: Membership, mode: Mode, nodes: dict[NodeName, NodeStatus], *, in_parts: bool
    ) -> None:
        self.mode, self.in_parts, self._membership = mode, in_parts, membership
        self._groups, self._rank, self._serial = membership.groups, membership.rank, membership.serial
        self._children, self.groups_of, self.members = membership.children, membership.groups_of, membership.members
        self.nodes = nodes
        self.groups: dict[GroupName, GroupStatus] = dict.fromkeys(self._groups, GroupStatus.NOT_STARTED)
        self.reasons: dict[GroupName, Reason] = {}
        self.running: list[Move] = []
        self.in_queue = set[NodeName]()
        self.uncounted = frozenset[NodeName]()

    def index(self, batches: Mapping[GroupName, Mapping[Phase, int]]) -> None:
        """Rebuild the indexes from the statuses: dependencies, nodes in flight, nodes that could be sent."""
        self.following: tuple[GroupName, OpenGroup] | None = None  # a group as it would be opened
        self.ready = ReadyGroups(self._membership, self.groups)
        self.in_flight = {
            node for move in self.running for node in move.nodes if self.nodes[node] is SENT_AS[move.phase]
        }
        self.open: dict[GroupName, OpenGroup] = {}
        self.can_send: set[GroupName] = set()
        for name, status in self.groups.items():
            if status in (GroupStatus.PREPARING, GroupStatus.DEPLOYING):
                opened = self.begin(name, batches.get(name, {}))
                if not opened.not_started:
                    self.groups[name] = GroupStatus.DEPLOYING
                self._note(name, opened)
        for name in self.open:
            self._share(name)

    def at_work(self) -> int:
        """Count the groups that have begun and not ended, and the failed ones with nodes in flight."""
        return len(self.open.keys() | {move.group for move in self.running})

    def is_deploying(self, name: GroupName) -> bool:
        """Return whether the group has met its criteria of the preparation, or deploys a first part."""
        return self.groups[name] is GroupStatus.DEPLOYING

    def may_deploy(self, name: GroupName) -> bool:
        """Return whether the group has nodes to deploy, and need not wait for its others."""
        return bool(self.open[name].to_deploy) and (self.in_parts or self.is_deploying(name))

    def opened(self, name: GroupName, batches: Mapping[Phase, int]) -> OpenGroup:
        """Return the group as it would be opened now; found once for the next move and its start."""
        if batches or self.following is None or self.following[0] != name:
            opened = OpenGroup.of(self.members[name], self.nodes, self.in_queue, self.in_flight, batches)
            self.following = (name, opened)
        return self.following[1]

    def enter(self, name: GroupName) -> list[Fact]:
        """Open the group of the next move, if that is its first."""
        if self.groups[name] is not GroupStatus.NOT_STARTED:
            return []
        self.ready.leave(name)
        self.groups[name] = GroupStatus.PREPARING
        self.begin(name, {})
        self._share(name)
        return [GroupChanged(name, GroupStatus.PREPARING)]

    def begin(self, name: GroupName, batches: Mapping[Phase, int]) -> OpenGroup:
        """Open a group."""
        opened = self.open[name] = self.opened(name, batches)
        self.following = None
        self._note(name, opened)
        return opened

    def _note(self, name: GroupName, opened: OpenGroup) -> None:
        """Update the index of groups that could send nodes now."""
        if opened.to_prepare or self.may_deploy(name):
            self.can_send.add(name)
        else:
            self.can_send.discard(name)

    def _share(self, name: GroupName) -> None:
        """Decide anew which open groups could deploy the nodes of a group that has begun or ended to prepare."""
        if self.open.keys() <= {name}:
            return
        prepared = [node for node in self.members[name] if self.nodes[node] is NodeStatus.PREPARED]
        for node in (node for node in prepared if node not in self.in_flight and node not in self.in_queue):
            for holder in self.open.keys() & self.groups_of[node]:
                self.open[holder].to_deploy.pop(node, None)
                if not self._comes_too_early(node, holder):
                    self.open[holder].to_deploy[node] = None
                self._note(holder, self.open[holder])

    def _comes_too_early(self, node: NodeName, name: GroupName) -> bool:
        """Return whether the node's deployment by this group could fail the preparation of an earlier one."""
        return len(self.open) > 1 and any(
            self.groups[other] is GroupStatus.PREPARING and self._serial[other] < self._serial[name]
            for other in self.groups_of[node]
        )

    def take(self, nodes: Iterable[NodeName]) -> None:
        """Let no group send these nodes now."""
        self.following, concerned = None, set[GroupName]()
        for node in nodes:
            for name in self.groups_of[node]:
                if (opened := self.open.get(name)) is not None:
                    opened.to_prepare.pop(node, None)
                    opened.to_deploy.pop(node, None)
                    concerned.add(name)
        for name in concerned:
            self._note(name, self.open[name])

    def settled(
        self, move: Move, good: tuple[NodeName, ...], bad: tuple[NodeName, ...], outcome: Outcome
    ) -> Iterator[Fact]:
        """Set the status of nodes, fail the group of a move that timed out, and judge all affected groups."""
        self.in_flight.difference_update(good, bad)
        concerned = self.open.keys() & {move.group}
        for nodes, status in ((good, REACHES[move.phase]), (bad, NodeStatus.FAILURE)):
            concerned |= self._settle(nodes, SENT_AS[move.phase], status)
        if good:
            yield NodesChanged(move.group, move.phase, REACHES[move.phase], good)
        if bad:
            reasons = {node: outcome.reasons[node] for node in bad if node in outcome.reasons}
            yield NodesChanged(
                move.group,
                move.phase,
                NodeStatus.FAILURE,
                bad,
                outcome.timed_out,
                reasons,
                held=outcome.held,
                hardware=outcome.hardware,
            )
        if outcome.timed_out and self.mode.on_timeout is OnTimeout.FAIL_GROUP and move.group in self.open:
            detail = f"{move.phase.value} did not end within its time limit"
            yield from self.fail(move.group, Reason.TIMEOUT, f"{detail}: {outcome.why}" if outcome.why else detail)
        yield from self.judged(concerned)

    def given_up(self, move: Move, nodes: tuple[NodeName, ...], why: str) -> Iterator[Fact]:
        """Fail the group of a move that the provisioner never began; its nodes are never sent again."""
        self.in_flight.difference_update(nodes)
        concerned = self.abandon(nodes)
        reasons = dict.fromkeys(nodes, why)
        yield NodesChanged(move.group, move.phase, SENT_AS[move.phase], nodes, timed_out=True, reasons=reasons)
        if move.group in self.open:
            yield from self.fail(move.group, Reason.QUEUE_TIMEOUT, why)
        yield from self.judged(concerned)

    def abandon(self, nodes: Collection[NodeName]) -> set[GroupName]:
        """Let nodes never be sent again, and return their open groups."""
        self.take(nodes)
        self.in_queue.update(nodes)
        concerned = set[GroupName]()
        for node in nodes:
            for name in self.open.keys() & self.groups_of[node]:
                self.open[name].give_up(NEXT[self.nodes[node]])
                concerned.add(name)
        return concerned

    def _settle(self, nodes: Iterable[NodeName], before: NodeStatus, status: NodeStatus) -> set[GroupName]:
        """Set the status of nodes and return their open groups."""
        self.following = None
        concerned, statuses, groups_of, groups = set[GroupName](), self.nodes, self.groups_of, self.open
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

    def judged(self, concerned: Iterable[GroupName]) -> Iterator[Fact]:
        """Advance these groups as far as the statuses of their members allow, in the order of the document."""
        for name in sorted(concerned, key=self._rank.__getitem__):
            if (opened := self.open.get(name)) is None:
                continue
            if self.groups[name] is GroupStatus.PREPARING:
                yield from self._judge_prepare(name, opened)
            if self.groups[name] is GroupStatus.DEPLOYING and not opened.not_started and not opened.prepared:
                yield from self._judge_deploy(name, opened)
            if name in self.open:
                self._note(name, opened)

    def _judge_prepare(self, name: GroupName, opened: OpenGroup) -> Iterator[Fact]:
        """Judge the preparation over all members; early only if no outstanding outcome can change the result."""
        early = self.mode.deploy_as_prepared and bool(opened.prepared)
        if opened.not_started and not early:
            return
        good = opened.prepared + opened.prepared_in_queue + opened.succeeded
        missed = self.shortfalls_of(name, good, lambda node: self.nodes[node] in REACHES.values())
        if not missed:
            self.groups[name] = GroupStatus.DEPLOYING
            self._share(name)
            yield GroupChanged(name, GroupStatus.DEPLOYING)
        elif not opened.not_started:
            yield from self.fail(name, Reason.PREPARE, "; ".join(map(str, missed)), missed)

    def _judge_deploy(self, name: GroupName, opened: OpenGroup) -> Iterator[Fact]:
        if missed := self.shortfalls_of(name, opened.succeeded, lambda node: self.nodes[node] is NodeStatus.SUCCESS):
            yield from self.fail(name, Reason.DEPLOY, "; ".join(map(str, missed)), missed)
        else:
            yield self._succeed(name)

    def shortfalls_of(self, name: GroupName, good: int, is_good: Callable[[NodeName], bool]) -> tuple[Shortfall, ...]:
        """Return the criteria that a group misses with ``good`` of its members; ``is_good``: which ones these are."""
        criteria, members = self._groups[name].success_criteria, self.members[name]
        left_out = self.uncounted & members
        successful = good - sum(map(is_good, left_out))
        return shortfalls(criteria, members=len(members) - len(left_out), successful=successful)

    def is_hopeful(self, preparing: bool, node: NodeName) -> bool:
        """Return whether the node still counts for its group, which is ``preparing`` or deploys."""
        status = self.nodes[node]
        if node in self.in_queue and status is not NodeStatus.SUCCESS:
            return preparing and status is NodeStatus.PREPARED
        return status is not NodeStatus.FAILURE

    def _succeed(self, name: GroupName) -> Fact:
        self.end(name, GroupStatus.SUCCESS)
        self.ready.succeeded(name)
        return GroupChanged(name, GroupStatus.SUCCESS)

    def fail(self, name: GroupName, reason: Reason, detail: str, missed: tuple[Shortfall, ...] = ()) -> Iterable[Fact]:
        """Fail the group and, because of it, all its descendants; each group is visited once."""
        self.end(name, GroupStatus.FAILED)
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

    def end(self, name: GroupName, status: GroupStatus) -> None:
        """Close the group."""
        self.groups[name] = status
        del self.open[name]
        self.can_send.discard(name)
        self._share(name)
