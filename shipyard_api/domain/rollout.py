"""Deploying a strategy: which group moves next, which nodes it sends, and what an outcome means (seed 000, Process).

A rollout only changes by ``start`` and ``finish``; both return facts. It knows no clock and no provisioner. One group
at a time is prepared and then deployed; a phase sends those members whose node status fits at that moment (prepare:
not started; deploy: prepared), so a node is sent at most once per phase, by whichever of its groups comes first.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from shipyard_api.domain.criteria import Shortfall, shortfalls
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy import DeploymentGroup, GroupName, Strategy


class Phase(Enum):
    """The two phases of a group."""

    PREPARE = "prepare"
    DEPLOY = "deploy"


class GroupStatus(Enum):
    """How far a group has come; the values are the words on the wire."""

    NOT_STARTED = "not_started"
    PREPARING = "preparing"
    DEPLOYING = "deploying"
    SUCCESS = "success"
    FAILED = "failed"


class Reason(Enum):
    """Why a group failed; ``prepare`` and ``deploy`` name the phase whose criteria were missed."""

    PREPARE = "prepare"
    DEPLOY = "deploy"
    DEPENDENCY = "dependency"
    TIMEOUT = "timeout"
    STOPPED = "stopped"


class Verdict(Enum):
    """How the rollout as a whole ended."""

    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Move:
    """One phase of one group, with the nodes to send, in order of name. An empty set needs no provisioner."""

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a move ended: the nodes that succeeded, and whether the time was up before it had.

    Every other node of the move has failed (product: at a timeout too, unless reported as done).
    """

    succeeded: frozenset[NodeName] = frozenset()
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupChanged:
    """Fact: a group has a new status."""

    group: GroupName
    status: GroupStatus
    phase: Phase | None = None
    reason: Reason | None = None
    detail: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesChanged:
    """Fact: nodes that a move sent have a new status; ``reasons`` holds what the provisioner said of failed ones."""

    group: GroupName
    phase: Phase
    status: NodeStatus
    nodes: tuple[NodeName, ...]
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = field(default_factory=dict)


class PhaseStatus(Enum):
    """How a phase of a group stands; the values are the words on the wire."""

    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class MembersKnown:
    """Fact: which nodes each group holds, as the provisioner selected them; groups in the order of the document."""

    strategy: Strategy
    members: Mapping[GroupName, frozenset[NodeName]]


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """Fact: the nodes of a move were handed to the provisioner, which calls the work ``job``."""

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]
    job: str


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """Fact: the provisioner is done with a move, or we are done waiting for it."""

    group: GroupName
    phase: Phase
    status: PhaseStatus
    message: str = ""


@dataclass(frozen=True, slots=True)
class JobStarted:
    """Fact: the provisioner accepted work on the site as a whole, and calls it ``job``."""

    operation: str
    job: str


@dataclass(frozen=True, slots=True)
class WorkLeftBehind:
    """Fact: we stopped waiting for work that the provisioner may still be at; ``nodes`` is None for the whole site."""

    operation: str
    job: str
    design: str
    nodes: tuple[NodeName, ...] | None
    why: str


@dataclass(frozen=True, slots=True)
class NodesKept:
    """Fact: nodes that an earlier action deployed, and that this one leaves alone."""

    nodes: tuple[NodeName, ...]
    action: str


@dataclass(frozen=True, slots=True)
class RolloutEnded:
    """Fact: no group can move any more. Names by status, in the order of the document and of the names."""

    verdict: Verdict
    groups: Mapping[GroupStatus, tuple[GroupName, ...]]
    nodes: Mapping[NodeStatus, tuple[NodeName, ...]]

    @property
    def headline(self) -> str:
        """What happened, in constant words."""
        return "rollout ended"

    @property
    def words(self) -> dict[str, object]:
        """The report as plain words, for the journal and the log."""
        return {
            "verdict": self.verdict.value,
            "groups": {status.value: list(names) for status, names in self.groups.items()},
            "nodes": {status.value: list(names) for status, names in self.nodes.items()},
        }


Fact = GroupChanged | NodesChanged | MembersKnown | PhaseStarted | PhaseEnded


class Rollout:
    """The deployment of one strategy on known members, from the first move to the verdict.

    All the work of a whole rollout is linear in groups, dependencies and memberships.
    """

    def __init__(self, strategy: Strategy, members: Mapping[GroupName, Iterable[NodeName]]) -> None:
        self._groups: dict[GroupName, DeploymentGroup] = {group.name: group for group in strategy.groups}
        self._rank = {name: position for position, name in enumerate(self._groups)}
        self.members: dict[GroupName, frozenset[NodeName]] = {name: frozenset(members[name]) for name in self._groups}
        self.nodes: dict[NodeName, NodeStatus] = {
            node: NodeStatus.NOT_STARTED for selected in self.members.values() for node in selected
        }
        self.groups: dict[GroupName, GroupStatus] = dict.fromkeys(self._groups, GroupStatus.NOT_STARTED)
        self.reasons: dict[GroupName, Reason] = {}
        self.running: Move | None = None
        self._children: dict[GroupName, list[GroupName]] = {name: [] for name in self._groups}
        for group in strategy.groups:
            for parent in group.depends_on:
                self._children[parent].append(group.name)
        self._index()

    def _index(self) -> None:
        """Count for each group that has not started the parents it still waits for, and heap up those without."""
        self._waiting = {
            name: sum(self.groups[parent] is not GroupStatus.SUCCESS for parent in group.depends_on)
            for name, group in self._groups.items()
            if self.groups[name] is GroupStatus.NOT_STARTED
        }
        self._ready = [self._rank[name] for name, count in self._waiting.items() if not count]
        heapq.heapify(self._ready)
        self._by_rank = list(self._groups)
        started = (GroupStatus.PREPARING, GroupStatus.DEPLOYING)
        self._active: GroupName | None = next((name for name, status in self.groups.items() if status in started), None)

    @property
    def done(self) -> bool:
        """Whether no group can move any more."""
        return self._active is None and not self._ready

    def next_move(self) -> Move | None:
        """Return what to send next, or None while a move runs and when the rollout is done. Changes nothing.

        Of the groups whose parents all succeeded, the first in the document; a group is deployed before another one
        is prepared.
        """
        if self.running is not None or self.done:
            return None
        if self._active is not None:
            return self._move(self._active, Phase.DEPLOY)
        return self._move(self._by_rank[self._ready[0]], Phase.PREPARE)

    def start(self, move: Move) -> tuple[Fact, ...]:
        """Record that the move, which must be the next one, is under way."""
        if move != self.next_move():
            raise ValueError(f"{move.phase.value} of {move.group} is not the next move")
        if self._active is None:
            heapq.heappop(self._ready)
            self._active = move.group
        status = GroupStatus.PREPARING if move.phase is Phase.PREPARE else GroupStatus.DEPLOYING
        self.groups[move.group] = status
        self.running = move
        return (GroupChanged(move.group, status, move.phase),)

    def finish(self, outcome: Outcome) -> tuple[Fact, ...]:
        """Record how the running move ended and judge its group over all members (seed 000, Process)."""
        move = self.running
        if move is None:
            raise ValueError("no move is running")
        self.running = None
        return (*self._settle_nodes(move, outcome), *self._judge(move, outcome))

    def verdict(self) -> Verdict:
        """Return the verdict; meaningful once the rollout is done. Only critical groups decide."""
        failed = (
            group.critical and self.groups[name] is not GroupStatus.SUCCESS for name, group in self._groups.items()
        )
        return Verdict.FAILED if any(failed) else Verdict.SUCCESS

    def report(self) -> RolloutEnded:
        """Return how every group and every node ended; meaningful once the rollout is done (seed 000, Process 4)."""
        groups: dict[GroupStatus, list[GroupName]] = {}
        for name, status in self.groups.items():
            groups.setdefault(status, []).append(name)
        nodes: dict[NodeStatus, list[NodeName]] = {}
        for node in sorted(self.nodes):
            nodes.setdefault(self.nodes[node], []).append(node)
        return RolloutEnded(
            self.verdict(),
            {status: tuple(names) for status, names in groups.items()},
            {status: tuple(names) for status, names in nodes.items()},
        )

    def restore(
        self,
        *,
        nodes: Mapping[NodeName, NodeStatus],
        groups: Mapping[GroupName, GroupStatus],
        reasons: Mapping[GroupName, Reason],
        running: Move | None,
    ) -> None:
        """Take up a rollout where its stored state left it; names that are not given have not started."""
        self.nodes.update(nodes)
        self.groups.update(groups)
        self.reasons.update(reasons)
        self.running = running
        self._index()

    def _move(self, name: GroupName, phase: Phase) -> Move:
        wanted = NodeStatus.NOT_STARTED if phase is Phase.PREPARE else NodeStatus.PREPARED
        return Move(name, phase, tuple(sorted(node for node in self.members[name] if self.nodes[node] is wanted)))

    def _settle_nodes(self, move: Move, outcome: Outcome) -> Iterable[Fact]:
        reached = NodeStatus.PREPARED if move.phase is Phase.PREPARE else NodeStatus.SUCCESS
        good = tuple(node for node in move.nodes if node in outcome.succeeded)
        bad = tuple(node for node in move.nodes if node not in outcome.succeeded)
        self.nodes.update(dict.fromkeys(good, reached))
        self.nodes.update(dict.fromkeys(bad, NodeStatus.FAILURE))
        if good:
            yield NodesChanged(move.group, move.phase, reached, good)
        if bad:
            reasons = {node: outcome.reasons[node] for node in bad if node in outcome.reasons}
            yield NodesChanged(move.group, move.phase, NodeStatus.FAILURE, bad, outcome.timed_out, reasons)

    def _judge(self, move: Move, outcome: Outcome) -> Iterable[Fact]:
        if outcome.timed_out:
            detail = f"{move.phase.value} did not end within its time limit"
            return self._fail(move.group, move.phase, Reason.TIMEOUT, detail)
        missed = self._shortfalls(move)
        if missed:
            reason = Reason.PREPARE if move.phase is Phase.PREPARE else Reason.DEPLOY
            return self._fail(move.group, move.phase, reason, "; ".join(map(str, missed)), missed)
        if move.phase is Phase.PREPARE:
            return ()
        return self._succeed(move.group)

    def _shortfalls(self, move: Move) -> tuple[Shortfall, ...]:
        """Judge over every node the selectors found, whichever group moved it."""
        good = {NodeStatus.PREPARED, NodeStatus.SUCCESS} if move.phase is Phase.PREPARE else {NodeStatus.SUCCESS}
        members = self.members[move.group]
        successful = sum(self.nodes[node] in good for node in members)
        criteria = self._groups[move.group].success_criteria
        return shortfalls(criteria, members=len(members), successful=successful)

    def _succeed(self, name: GroupName) -> Iterable[Fact]:
        self.groups[name] = GroupStatus.SUCCESS
        self._active = None
        for child in self._children[name]:
            if child in self._waiting:
                self._waiting[child] -= 1
                if not self._waiting[child] and self.groups[child] is GroupStatus.NOT_STARTED:
                    heapq.heappush(self._ready, self._rank[child])
        return (GroupChanged(name, GroupStatus.SUCCESS, Phase.DEPLOY),)

    def _fail(
        self,
        name: GroupName,
        phase: Phase,
        reason: Reason,
        detail: str,
        missed: tuple[Shortfall, ...] = (),
    ) -> Iterable[Fact]:
        """Fail the group and, because of it, all its descendants; each group is visited once."""
        self.groups[name] = GroupStatus.FAILED
        self.reasons[name] = reason
        self._active = None
        facts = [GroupChanged(name, GroupStatus.FAILED, phase, reason, detail, missed)]
        failed = [name]
        while failed:
            parent = failed.pop()
            for child in self._children[parent]:
                if self.groups[child] is GroupStatus.NOT_STARTED:
                    self.groups[child] = GroupStatus.FAILED
                    self.reasons[child] = Reason.DEPENDENCY
                    because = f"depends on {parent}, which failed"
                    facts.append(GroupChanged(child, GroupStatus.FAILED, None, Reason.DEPENDENCY, because))
                    failed.append(child)
        return facts
