"""Deploying a strategy: which nodes move next, and what an outcome means (seed 000, Process; product, section 3).

A rollout only changes by ``start``, ``refuse``, ``hold``, ``progress``, ``finish``, ``withhold`` and
``fail_hopeless``; all return facts. It knows no clock and no provisioner, and no policy: its pace admits what may move
now. A phase sends those members whose node status fits at that moment (prepare: not started; deploy: prepared) and that
no other group has in flight, so a node is sent at most once per phase, by whichever of its groups comes first. A group
is judged when all its members are settled, whichever group moved them. While a group prepares, groups that come after
it in the serial run do not deploy its nodes: they could fail the preparation.

With a pace that can refuse nodes, a group is deployed in the parts that are admitted. Its criteria are judged over all
members, as ever, and between two parts: it fails then if it cannot meet them any more.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TypedDict, Unpack

from msgspec.structs import replace

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged, RolloutEnded
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.policy import PolicyStopped
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.group_statuses import GroupStatuses
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import NEXT, SENT_AS, SERIAL, Mode, Move, Outcome
from shipyard_api.domain.rollout.open_groups import OpenGroup
from shipyard_api.domain.rollout.policy.pace import NO_TIME, Admission, Situation
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE, Pace
from shipyard_api.domain.strategy.criteria import Shortfall
from shipyard_api.domain.strategy.strategy import GroupName, Strategy


class Stored(TypedDict, total=False):
    """The state of a rollout; names that are not given have not started. ``withheld``: with the rule of each node.

    ``spared``: nodes that were prepared before the action.
    """

    nodes: Mapping[NodeName, NodeStatus]
    groups: Mapping[GroupName, GroupStatus]
    reasons: Mapping[GroupName, Reason]
    running: Iterable[Move]
    batches: Mapping[GroupName, Mapping[Phase, int]]
    in_queue: Iterable[NodeName]
    spared: Iterable[NodeName]
    withheld: Mapping[NodeName, str]


class Rollout:
    """The deployment of one strategy on known members, from the first move to the verdict.

    The cost of a whole rollout is linear in groups, dependencies and memberships. ``running`` are the running moves, in
    order of their start. ``in_queue`` are the nodes of moves that the provisioner never began: their job may still
    begin, so they are not sent again. ``uncounted``: nodes that are sent as all others, and that no criterion counts.
    ``withheld``: nodes that a rule of the pace has stopped; they are ``in_queue``, too.
    """

    def __init__(
        self,
        strategy: Strategy,
        members: Mapping[GroupName, Iterable[NodeName]],
        mode: Mode = SERIAL,
        pace: Pace = ALL_AT_ONCE,
    ) -> None:
        self._set_up(Membership(strategy, members), mode, pace, {})

    @classmethod
    def resumed(
        cls, membership: Membership, mode: Mode, pace: Pace = ALL_AT_ONCE, **stored: Unpack[Stored]
    ) -> "Rollout":
        """Return a rollout from its stored state. ``nodes``: if they are all nodes, then in order of name."""
        rollout = cls.__new__(cls)
        rollout._set_up(membership, mode, pace, stored)
        return rollout

    def _set_up(self, membership: Membership, mode: Mode, pace: Pace, stored: Stored) -> None:
        self.mode, self.pace = mode, pace
        self._groups, self._rank = membership.groups, membership.rank
        nodes, all_known = stored.get("nodes", {}), len(stored.get("nodes", {})) == len(membership.nodes)
        known = dict(nodes if all_known else membership.nodes)  # many times faster than an update
        self._statuses = statuses = GroupStatuses(membership, mode, known, in_parts=pace.refuses)
        self.members, self.groups_of = membership.members, membership.groups_of
        self.nodes, self.groups, self.reasons = statuses.nodes, statuses.groups, statuses.reasons
        self.running, self.in_queue = statuses.running, statuses.in_queue
        self.spared = set[NodeName]()
        self.withheld: dict[NodeName, str] = {}
        self.uncounted = statuses.uncounted
        rest = stored.copy()
        rest["nodes"] = {} if all_known else nodes
        self.restore(**rest)

    def leave_out(self, nodes: Iterable[NodeName]) -> None:
        """Count these nodes by no criterion and by no rule of the pace from now on, and count all others."""
        self.uncounted = self._statuses.uncounted = frozenset(nodes)
        self.pace = self.pace.leaving_out(self.uncounted)

    @property
    def done(self) -> bool:
        """Whether no group can move any more."""
        return not self.running and not self._statuses.open and not self._statuses.ready

    @property
    def batches(self) -> dict[GroupName, dict[Phase, int]]:
        """How many moves each group that has not ended has made in each phase."""
        return {name: dict(opened.batches) for name, opened in self._statuses.open.items()}

    def unsettled(self, move: Move) -> tuple[NodeName, ...]:
        """Return the nodes of a running move whose outcome is unknown."""
        sent_as, nodes = SENT_AS[move.phase], self.nodes
        return tuple([node for node in move.nodes if nodes[node] is sent_as])

    def next_move(self, now: datetime = NO_TIME) -> Move | None:
        """Return the next move, None if nothing may start now. Changes nothing.

        Groups that have begun come first: nodes to deploy before nodes to prepare, groups in the order of the document.
        Of the groups whose parents all succeeded, the first in the document begins next, unless the pace refuses it.
        """
        return next((move for move, _ in self.candidates(now) if move is not None), None)

    def candidates(self, now: datetime) -> Iterator[tuple[Move | None, Admission]]:
        """Return what could move, in that order, with what the pace says to it."""
        if now is NO_TIME and self.pace.refuses:
            raise ValueError("a rollout with a policy depends on the time")
        limit = self.mode.max_nodes_in_flight
        room = None if limit is None else max(limit - len(self._statuses.in_flight), 0)
        situation = self.situation()
        able = sorted(self._statuses.can_send, key=self._rank.__getitem__) if room != 0 else ()
        for name in filter(self._statuses.may_deploy, able):
            ready = sorted(self._statuses.open[name].to_deploy)
            yield self._part(name, Phase.DEPLOY, self.pace.admit(situation, name, Phase.DEPLOY, ready, now), room)
        for name in able:
            if waiting := self._statuses.open[name].to_prepare:
                admission = self.pace.admit(situation, name, Phase.PREPARE, waiting.keys(), now)
                yield self._part(name, Phase.PREPARE, admission, room)
        for name in self._statuses.ready if self._statuses.at_work() < self.mode.max_parallel_groups else ():
            opening = self._statuses.opened(name, {})
            waiting, ready = opening.to_prepare, sorted(opening.to_deploy) if self.pace.refuses else []
            # A group begins with what was prepared before the action, too, if its other nodes must wait for that.
            if not waiting or (ready and self.pace.admit(situation, name, Phase.DEPLOY, ready, now).nodes):
                yield Move(name, Phase.PREPARE, ()), Admission()
                if not ready:
                    return  # it begins and has nothing to send; only then are those after it asked
            elif room == 0:
                return
            else:
                admission = self.pace.admit(situation, name, Phase.PREPARE, waiting.keys(), now)
                yield self._part(name, Phase.PREPARE, admission, room)

    def situation(self) -> Situation:
        """Return the nodes as the pace sees them."""
        movable = partial(self._is_movable, self._statuses.at_work() < self.mode.max_parallel_groups)
        queued = self.in_queue - self.withheld.keys() if self.withheld else self.in_queue
        streaming = filter(self._statuses.is_deploying, self._statuses.open) if self.mode.deploy_as_prepared else ()
        return Situation(
            self.nodes,
            self._statuses.in_flight,
            queued,
            self.spared,
            self.withheld.keys(),
            self.groups_of,
            movable,
            frozenset(streaming),
            self.groups,
        )

    def start(self, move: Move) -> tuple[Fact, ...]:
        """Record that the move, which must be possible, has started. An empty one ends at once.

        With the first part of a group that is deployed, its preparation ends so far.
        """
        self._check_next(move)
        facts = self._statuses.enter(move.group)
        if move.phase is Phase.DEPLOY and self.groups[move.group] is GroupStatus.PREPARING:
            self.groups[move.group] = GroupStatus.DEPLOYING
            facts.append(GroupChanged(move.group, GroupStatus.DEPLOYING))
        if move.nodes:
            self.spared.difference_update(move.nodes)
            self.running.append(move)
            self._statuses.in_flight.update(move.nodes)
            self._statuses.open[move.group].batches[move.phase] = move.batch
            self._statuses.take(move.nodes)
        return (*facts, *self._statuses.judged([move.group]))

    def refuse(self, move: Move, why: str) -> tuple[Fact, ...]:
        """Fail the group of the next move, because the provisioner rejected it; its descendants fail by dependency.

        The nodes keep their statuses, so that other groups that hold them can still send them.
        """
        self._check_next(move)
        status = SENT_AS[move.phase]
        reasons = dict.fromkeys(move.nodes, why)
        nodes = NodesChanged(move.group, move.phase, status, move.nodes, reasons=reasons, refused=True)
        if self.groups[move.group] is GroupStatus.NOT_STARTED:
            self._statuses.ready.leave(move.group)
            self._statuses.begin(move.group, {})
        return (nodes, *self._statuses.fail(move.group, Reason.REFUSED, why))

    def hold(self, move: Move, reasons: Mapping[NodeName, str], *, hardware: bool = False) -> tuple[Fact, ...]:
        """Fail the nodes of the next move that are held, in all their groups; the rest is sent by a later move.

        ``hardware``: theirs is wrong, and no hold keeps them. A move that opens its group opens it, so that the group
        is judged.
        """
        self._check_next(move)
        facts = self._statuses.enter(move.group)
        held = tuple(node for node in move.nodes if node in reasons)
        self._statuses.take(held)
        outcome = Outcome(reasons=reasons, held=not hardware, hardware=hardware)
        return (*facts, *self._statuses.settled(move, (), held, outcome))

    def progress(self, move: Move, outcome: Outcome, failed: Iterable[NodeName] = ()) -> tuple[Fact, ...]:
        """Record the nodes of a running move that are known to have succeeded or failed before it ends."""
        if move not in self.running:
            raise ValueError(f"{move.phase.value} of {move.group} is not running")
        lost = frozenset(failed)
        open_still = self.unsettled(move)
        good = tuple(node for node in open_still if node in outcome.succeeded)
        bad = tuple(node for node in open_still if node in lost and node not in outcome.succeeded)
        return tuple(self._statuses.settled(move, good, bad, outcome))

    def finish(self, move: Move, outcome: Outcome) -> tuple[Fact, ...]:
        """Record how a running move ended, and judge every group that this settles (seed 000, Process)."""
        if move not in self.running:
            raise ValueError(f"{move.phase.value} of {move.group} is not running")
        left = self.unsettled(move)
        self.running.remove(move)
        if outcome.never_begun:
            return tuple(self._statuses.given_up(move, left, outcome.why))
        good = tuple(node for node in left if node in outcome.succeeded)
        bad = tuple(node for node in left if node not in outcome.succeeded)
        return tuple(self._statuses.settled(move, good, bad, outcome))

    def split(self, move: Move, nodes: Collection[NodeName]) -> tuple[Move, Move]:
        """Return the two running moves that replace one: with these of its nodes, and with the rest."""
        if move not in self.running:
            raise ValueError(f"{move.phase.value} of {move.group} is not running")
        alike = [other for other in self.running if (other.group, other.phase) == (move.group, move.phase)]
        batch = max(other.batch for other in alike) + 1
        first = replace(move, nodes=tuple(node for node in move.nodes if node in nodes))
        rest = replace(move, nodes=tuple(node for node in move.nodes if node not in nodes), batch=batch)
        place = self.running.index(move)
        self.running[place : place + 1] = [first, rest]
        if (opened := self._statuses.open.get(move.group)) is not None:
            opened.batches[move.phase] = batch
        return first, rest

    def withhold(self, rule: str, why: str, nodes: Iterable[NodeName]) -> tuple[Fact, ...]:
        """Let nodes never be sent, because of a rule; they keep their status, and count against criteria."""
        stopped = [node for node in nodes if node not in self.withheld]
        if not stopped:
            return ()
        self.withheld.update(dict.fromkeys(stopped, rule))
        concerned = self._statuses.abandon(stopped)
        facts: list[Fact] = [PolicyStopped(rule, why, len(stopped))]
        by_group: dict[tuple[GroupName, NodeStatus], list[NodeName]] = {}
        for node in stopped:
            by_group.setdefault((self.groups_of[node][0], self.nodes[node]), []).append(node)
        for (name, status), part in by_group.items():
            reasons = dict.fromkeys(part, f"{rule}: {why}")
            facts.append(NodesChanged(name, NEXT[status], status, tuple(part), reasons=reasons, withheld=True))
        return (*facts, *self._statuses.judged(concerned))

    def fail_hopeless(self, now: datetime) -> tuple[Fact, ...]:
        """Fail the open groups that cannot meet their criteria any more.

        Only between two parts: a group of which a rule stops nothing prepares all its nodes, as ever.
        """
        facts, situation = list[Fact](), self.situation()
        for name in sorted(self._statuses.open, key=self._rank.__getitem__):
            opened = self._statuses.open.get(name)
            if opened is None or not opened.not_started or not self._statuses.in_flight.isdisjoint(self.members[name]):
                continue
            waiting = tuple(opened.to_prepare)
            if not self.pace.has_waves and self.pace.admit(situation, name, Phase.PREPARE, waiting, now).nodes:
                continue
            if missed := self._missed(name, opened):
                reason = Reason.PREPARE if self.groups[name] is GroupStatus.PREPARING else Reason.DEPLOY
                facts.extend(self._statuses.fail(name, reason, "; ".join(map(str, missed)), missed))
        return tuple(facts)

    def is_lost(self, group: GroupName) -> bool:
        """Return whether a group that has begun has failed, or cannot meet its criteria any more."""
        opened = self._statuses.open.get(group)
        return self.groups[group] is GroupStatus.FAILED if opened is None else bool(self._missed(group, opened))

    def _missed(self, name: GroupName, opened: OpenGroup) -> tuple[Shortfall, ...]:
        """Return the criteria that a group misses whatever becomes of the nodes that have not ended."""
        preparing = self.groups[name] is GroupStatus.PREPARING
        reachable = opened.succeeded + opened.prepared + opened.not_started
        reachable += opened.prepared_in_queue if preparing else 0
        return self._statuses.shortfalls_of(name, reachable, partial(self._statuses.is_hopeful, preparing))

    def stop(self, why: str) -> tuple[Fact, ...]:
        """Fail every running group and every node in flight, because no turn will finish them.

        All other statuses stay.
        """
        facts, self._statuses.following = list[Fact](), None
        for move in self.running:
            if left := self.unsettled(move):
                self.nodes.update(dict.fromkeys(left, NodeStatus.FAILURE))
                reasons = dict.fromkeys(left, why)
                facts.append(NodesChanged(move.group, move.phase, NodeStatus.FAILURE, left, reasons=reasons))
        for name in sorted(self._statuses.open, key=self._rank.__getitem__):
            self._statuses.end(name, GroupStatus.FAILED)
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

    def restore(self, **stored: Unpack[Stored]) -> None:
        """Set the statuses from a stored state."""
        self.nodes.update(stored.get("nodes", {}))
        self.groups.update(stored.get("groups", {}))
        self.reasons.update(stored.get("reasons", {}))
        self.spared.update(stored.get("spared", ()))
        self.withheld.update(stored.get("withheld", {}))
        self.running[:] = stored.get("running", ())
        self.in_queue.clear()
        self.in_queue.update(stored.get("in_queue", ()), self.withheld)
        self._statuses.index(stored.get("batches", {}))

    def _check_next(self, move: Move) -> None:
        """Raise unless the move could be next at some time: the moment at which it was decided has passed."""
        opened = self._statuses.open.get(move.group)
        begins = opened is None and move.group in self._statuses.ready
        if begins and self._statuses.at_work() < self.mode.max_parallel_groups:
            opened = self._statuses.opened(move.group, {})
        possible = opened is not None and move.batch == opened.batches.get(move.phase, 0) + 1
        if opened is not None and move.nodes:
            free = opened.to_prepare if move.phase is Phase.PREPARE else opened.to_deploy
            possible = possible and all(node in free for node in move.nodes)
        elif opened is not None:
            possible = begins and (not opened.to_prepare or (self.pace.refuses and bool(opened.to_deploy)))
        if not possible:
            raise ValueError(f"{move.phase.value} of {move.group} is not the next move")

    def _is_movable(self, is_free: bool, name: GroupName) -> bool:
        """Return whether the group has begun, or could begin now if another one may (``is_free``)."""
        return name in self._statuses.open or (is_free and name in self._statuses.ready)

    def _part(
        self, name: GroupName, phase: Phase, admission: Admission, room: int | None
    ) -> tuple[Move | None, Admission]:
        """Return the move of the admitted nodes for which there is room, with the admission."""
        nodes, opened = tuple(islice(admission.nodes, room)), self._statuses.open.get(name)
        batch = (opened.batches.get(phase, 0) if opened else 0) + 1
        return Move(name, phase, nodes, batch) if nodes else None, admission
