"""A rollout that asks a policy before each move (product, section 13). Without a policy none is made."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import cast

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.policy.gates import GateKind
from shipyard_api.domain.rollout.policy.pacing import (
    Admission,
    Blocked,
    OpenGate,
    Pacing,
    Progress,
    WavePlace,
    WaveState,
)
from shipyard_api.domain.rollout.policy.policy import Situation
from shipyard_api.domain.rollout.policy.survey import Survey, survey
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import GroupName


@dataclass(frozen=True, slots=True)
class _Movable:
    """The groups that have begun, or could begin now: of thousands few are asked for. ``is_free``: one may begin."""

    rollout: "PacedRollout"
    is_free: bool

    def __contains__(self, name: object) -> bool:
        group = cast(GroupName, name)
        return self.rollout.has_begun(group) or (self.is_free and self.rollout.is_ready(group))


class PacedRollout(Rollout):
    """A rollout with a policy. ``pace`` must be called before anything else.

    A group is deployed in the parts that the policy lets through: a part is deployed when no node of it is being
    prepared and none could begin. The group's criteria are judged over all members, as ever, and between two parts: it
    fails then if it cannot meet them any more.
    """

    def pace(
        self,
        pacing: Pacing,
        progress: Progress | None = None,
        *,
        spared: Collection[NodeName] = (),
        withheld: Mapping[NodeName, str] | None = None,
    ) -> None:
        """Set the policy. ``spared``: nodes that were prepared before the action; ``withheld``: nodes that it stopped.

        ``withheld`` names the rule of each; they are nodes ``in_queue``, too, because they are not sent again.
        """
        self.pacing, self.waves, self.uncounted = pacing, progress or Progress(), pacing.uncounted
        self.spared, self.withheld = set(spared), dict(withheld or {})

    def leave_out(self, nodes: Iterable[NodeName]) -> None:
        """Count these nodes in no criteria, in no threshold of a wave and in no budget, and count all others."""
        super().leave_out(nodes)
        self.pacing = self.pacing.leaving_out(self.uncounted)

    def next_move(self, now: datetime | None = None) -> Move | None:
        """Return the next move that the policy allows, None if nothing may start now. Changes nothing."""
        return next((move for move, _ in self._candidates(now) if move is not None), None)

    def blocked(self, now: datetime) -> Blocked | None:
        """Return why nothing may start now, of several reasons the one that ends first; None if no rule is why."""
        reasons = [reason for _, admission in self._candidates(now) for reason, _ in admission.refused]
        return min(reasons, key=lambda reason: (reason.until is None, reason.until or now), default=None)

    def open_gates(self, now: datetime) -> tuple[OpenGate, ...]:
        """Return the gates that keep nodes from beginning now and can be answered: all but soaks, each once."""
        gates: dict[WavePlace, OpenGate] = {}
        for reason in (reason for _, admission in self._candidates(now) for reason, _ in admission.refused):
            if reason.gate is None or reason.never or reason.gate[1].gate.kind is GateKind.SOAK:
                continue
            place, state = reason.gate
            nodes = sorted(self.pacing.nodes_of(place))
            gates[place] = OpenGate(
                place, state, tuple(member for member in nodes if self.nodes[member] is NodeStatus.SUCCESS)
            )
        return tuple(gates.values())

    def survey(self, now: datetime) -> Survey:
        """Return the state of the policy."""
        return survey(self.pacing, self.situation(), self.waves, now)

    def enforce(self, now: datetime) -> tuple[Fact, ...]:
        """Note the waves that have ended, stop what may never begin, and judge what cannot succeed any more.

        To be called after each change, with the time of that change.
        """
        facts: list[Fact] = []
        while news := (*self._observed(now), *self._stopped(now), *self._judge_outlook(now)):
            facts.extend(news)
        return tuple(facts)

    def start(self, move: Move) -> tuple[Fact, ...]:
        """Record that the move has started; the first deployment of a group ends its preparation so far."""
        before: tuple[Fact, ...] = ()
        if move.phase is Phase.DEPLOY and self.groups[move.group] is GroupStatus.PREPARING:
            self.groups[move.group] = GroupStatus.DEPLOYING
            before = (GroupChanged(move.group, GroupStatus.DEPLOYING),)
        facts = super().start(move)
        self.spared.difference_update(move.nodes)
        return (*before, *facts)

    def situation(self) -> Situation:
        """Return the nodes as the policy sees them."""
        movable = _Movable(self, self._groups_in_flight() < self.mode.max_parallel_groups)
        queued = self.in_queue - self.withheld.keys()
        return Situation(
            self.nodes, self._in_flight, queued, self.spared, self.withheld.keys(), self._groups_of, movable
        )

    def has_begun(self, name: GroupName) -> bool:
        """Return whether the group has begun and not ended."""
        return name in self._open

    def is_ready(self, name: GroupName) -> bool:
        """Return whether the group has not begun, and waits for no other."""
        return self.groups[name] is GroupStatus.NOT_STARTED and not self._waiting[name]

    def _is_next(self, move: Move) -> bool:
        """Return whether the move could be next at some time: the moment it was decided at has passed."""
        opened = self._open.get(move.group)
        if opened is None:
            if not self.is_ready(move.group):
                return False
            opened = self._opened(move.group, {})
        free = opened.to_prepare if move.phase is Phase.PREPARE else opened.to_deploy
        return move.batch == opened.batches.get(move.phase, 0) + 1 and all(node in free for node in move.nodes)

    def _leave_ready(self, name: GroupName) -> None:
        """Take a group out of those that could begin; the policy may let others begin before it."""
        if self._ready[0] == self._rank[name]:
            heapq.heappop(self._ready)
        else:
            self._ready.remove(self._rank[name])
            heapq.heapify(self._ready)

    def _candidates(self, now: datetime | None) -> Iterator[tuple[Move | None, Admission]]:
        """Return what could move, in the order of the ordinary rollout, with what the policy says to it."""
        if now is None:
            raise ValueError("a rollout with a policy depends on the time")
        limit = self.mode.max_nodes_in_flight
        room = None if limit is None else max(limit - len(self._in_flight), 0)
        situation = self.situation()
        opened = sorted(self._open, key=self._rank.__getitem__)
        for name in opened if room != 0 else ():
            if free := sorted(self._open[name].to_deploy):
                streams = self.mode.deploy_as_prepared and self.groups[name] is GroupStatus.DEPLOYING
                admission = self.pacing.deployable(situation, self.waves, name, free, now, together=not streams)
                yield self._part(name, Phase.DEPLOY, admission, room), admission
        for name in opened if room != 0 else ():
            if self._open[name].to_prepare:
                admission = self.pacing.admit(situation, self.waves, name, tuple(self._open[name].to_prepare), now)
                yield self._part(name, Phase.PREPARE, admission, room), admission
        if self._groups_in_flight() >= self.mode.max_parallel_groups:
            return
        following = self._ready.copy()
        while following:
            name = self._by_rank[heapq.heappop(following)]
            opening = self._opened(name, {})
            waiting = opening.to_prepare
            ready = sorted(opening.to_deploy)
            # A group begins with what was prepared before the action, too, if its other nodes must wait for that.
            if not waiting or (ready and self.pacing.deployable(situation, self.waves, name, ready, now).nodes):
                yield Move(name, Phase.PREPARE, ()), Admission()
                if not ready:
                    return  # it begins and has nothing to send; only then are those after it asked
            elif room != 0:
                admission = self.pacing.admit(situation, self.waves, name, tuple(waiting), now)
                yield self._part(name, Phase.PREPARE, admission, room), admission

    def _part(self, name: GroupName, phase: Phase, admission: Admission, room: int | None) -> Move | None:
        nodes = admission.nodes[:room]
        opened = self._open.get(name)
        return Move(name, phase, nodes, (opened.batches.get(phase, 0) if opened else 0) + 1) if nodes else None

    def _observed(self, now: datetime) -> Iterator[Fact]:
        for state in self.pacing.observe(self.situation(), self.waves, now):
            yield _wave_ended(state)

    def _stopped(self, now: datetime) -> Iterator[Fact]:
        """Withhold the nodes that no rule will ever let begin."""
        for stop in self.pacing.stops(self.situation(), self.waves, now):
            yield from self._withhold(stop.rule, stop.why, stop.nodes)
        candidates = list(self._candidates(now))
        refusals = [refused for _, admission in candidates for refused in admission.refused]
        moves = self.running or any(move is not None for move, _ in candidates)
        # Without anything that runs or ends by itself, no reason will go away. What waits for a wave that waits for a
        # window or a gate goes on after it.
        stuck = not moves and not any(reason.until or reason.gate for reason, _ in refusals if not reason.never)
        for reason, nodes in refusals:
            if reason.never or stuck:
                yield from self._withhold(reason.rule, reason.why, nodes)

    def _withhold(self, rule: str, why: str, nodes: Iterable[NodeName]) -> Iterator[Fact]:
        """Let nodes never be sent; they keep their status, and count against criteria."""
        nodes = tuple(node for node in nodes if node not in self.withheld)
        if not nodes:
            return
        self._take(nodes)
        self.in_queue.update(nodes)
        self.withheld.update(dict.fromkeys(nodes, rule))
        concerned: set[GroupName] = set()
        by_group: dict[tuple[GroupName, NodeStatus], list[NodeName]] = {}
        for node in nodes:
            status = self.nodes[node]
            by_group.setdefault((self._groups_of[node][0], status), []).append(node)
            for name in self._open.keys() & self._groups_of[node]:
                self._open[name].give_up(Phase.PREPARE if status is NodeStatus.NOT_STARTED else Phase.DEPLOY)
                concerned.add(name)
        yield PolicyStopped(rule, why, len(nodes))
        for (name, status), stopped in by_group.items():
            phase = Phase.PREPARE if status is NodeStatus.NOT_STARTED else Phase.DEPLOY
            reasons = dict.fromkeys(stopped, f"{rule}: {why}")
            yield NodesChanged(name, phase, status, tuple(stopped), reasons=reasons, withheld=True)
        yield from self._judged(concerned)

    def _judge_outlook(self, now: datetime) -> Iterator[Fact]:
        """Fail the open groups that cannot meet their criteria any more.

        Only between two parts: a group of which a rule stops nothing prepares all its nodes, as ever.
        """
        situation = self.situation()
        for name in sorted(self._open, key=self._rank.__getitem__):
            opened = self._open.get(name)
            if opened is None or not opened.not_started or not self._in_flight.isdisjoint(self.members[name]):
                continue
            waiting = tuple(opened.to_prepare)
            if not self.pacing.courses and self.pacing.admit(situation, self.waves, name, waiting, now).nodes:
                continue
            preparing = self.groups[name] is GroupStatus.PREPARING
            reachable = opened.succeeded + opened.prepared + opened.not_started
            reachable += opened.prepared_in_queue if preparing else 0
            if missed := self._shortfalls(name, reachable, partial(self._is_hopeful, preparing)):
                reason = Reason.PREPARE if preparing else Reason.DEPLOY
                yield from self._fail(name, reason, "; ".join(map(str, missed)), missed)

    def _is_hopeful(self, preparing: bool, node: NodeName) -> bool:
        """Return whether the node still counts for its group, which is ``preparing`` or deploys."""
        status = self.nodes[node]
        if node in self.in_queue and status is not NodeStatus.SUCCESS:
            return preparing and status is NodeStatus.PREPARED
        return status is not NodeStatus.FAILURE


def _wave_ended(state: WaveState) -> WaveEnded:
    group, _ = state.place
    missed = "; ".join(map(str, state.missed))
    return WaveEnded(GroupName(group) if group else None, state.name, state.nodes, state.begun, state.lost, missed)
