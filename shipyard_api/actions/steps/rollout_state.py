"""The state of the baremetal nodes step, and its stored form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.acceptance import Acceptance, Accepting
from shipyard_api.actions.steps.job_watch import Job, Limits, described, is_due
from shipyard_api.actions.steps.job_watch import limit as job_limit
from shipyard_api.actions.steps.joining import Joining, deadline
from shipyard_api.actions.steps.rollout_messages import move_from_json, move_to_json
from shipyard_api.actions.steps.teardown.teardown_nodes import TeardownState
from shipyard_api.domain.deployment_configuration import PhaseLimits
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Way, WayPhase
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.specification.given import older_specification
from shipyard_api.domain.stored import Since, least_version
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import Awaited
from shipyard_api.workflow.step import Json

MOST_WORKS = 3  # moves named in what an action waits for
MOST_LATE = 3  # late nodes named in it of one move

_LETTERS = {
    NodeStatus.NOT_STARTED: "n",
    NodeStatus.PREPARED: "p",
    NodeStatus.SUCCESS: "s",
    NodeStatus.FAILURE: "f",
}
_OF_LETTER = {letter: status for status, letter in _LETTERS.items()}
_PIECE = 256  # nodes whose statuses are compared at once


class Watch(Struct):
    """The poll of a running move: its job, or after the job's end the wait of its nodes.

    ``done``: nodes that reached their goal and are settled already. ``late``: late nodes.
    ``tried``: late nodes whose power cycle was attempted. ``passage``: of nodes that are taken down before the job is
    submitted; until then ``job`` is none.
    """

    job: Job
    joining: Joining | None = None
    done: tuple[NodeName, ...] = ()
    accepting: Accepting | None = None
    late: tuple[NodeName, ...] = ()
    tried: tuple[NodeName, ...] = ()
    passage: TeardownState | None = None

    @property
    def at_provisioner(self) -> bool:
        """Whether the job is what counts."""
        return self.joining is None and self.accepting is None and self.passage is None


class HardwareSeen(Struct):
    """The nodes whose hardware was compared and that are not sent yet, and those of which nothing is known yet."""

    checked: set[NodeName] = field(default_factory=set)
    unknown: set[NodeName] = field(default_factory=set)

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"hardware": {"checked": sorted(self.checked), "unknown": sorted(self.unknown)}}

    @classmethod
    def from_json(cls, stored: Json) -> "HardwareSeen":
        """Return what is stored in the state of a rollout."""
        seen = stored.get("hardware", {})
        return cls(set(_nodes(seen.get("checked", ()))), set(_nodes(seen.get("unknown", ()))))


class RolloutState(Struct):
    """``rollout`` is None until the members are known; ``watches`` are those of its running moves.

    ``since``: when the provisioner first gave no answer to the question for members. ``failed`` ends the step without a
    verdict. ``kept`` are nodes that the action ``kept_from`` deployed and that are left alone. ``fixed`` is the stored
    text of inputs, members and acceptance tasks, empty until all are known. ``acceptance``: None without such tasks.
    ``action``: the id of the action. ``cycled``: late nodes that it has power-cycled, begun again or held.
    ``left``: deployed nodes that it leaves with an older specification. ``cases_due``: nodes have failed or are late
    since it was looked for what they have in common; ``cases``: whether anything was found the last time.
    ``hardware``: which nodes were compared. ``usual``: the way of nodes that are not interrupted, as the
    step has it; not stored.
    """

    inputs: SiteInputs
    rollout: Rollout | None = None
    watches: dict[Move, Watch] = field(default_factory=dict)
    since: datetime | None = None
    failed: str = ""
    kept: tuple[NodeName, ...] = ()
    kept_from: str = ""
    fixed: str = ""
    acceptance: Acceptance | None = None
    action: str = ""
    cycled: tuple[NodeName, ...] = ()
    left: tuple[NodeName, ...] = ()
    cases_due: bool = False
    cases: bool = False
    hardware: HardwareSeen = field(default_factory=HardwareSeen)
    usual: Way = Way.NEW

    def limits(self, move: Move) -> PhaseLimits:
        """Return interval and time limit of a move."""
        configuration, ways = self.inputs.configuration, self.inputs.ways
        if move.phase is Phase.PREPARE and move.nodes and move.nodes[0] in ways.serviced:
            return PhaseLimits(ways.drain_interval, ways.drain_timeout)
        return configuration.prepare_nodes if move.phase is Phase.PREPARE else configuration.deploy_nodes

    def way(self, move: Move) -> Way:
        """Return the way of the nodes of a move."""
        return self.inputs.ways.of(move.nodes[0], self.usual) if move.nodes else self.usual

    def summary(self) -> str:
        """Return one sentence about how the rollout ended."""
        if self.rollout is None:
            return ""
        groups, nodes = list(self.rollout.groups.values()), list(self.rollout.nodes.values())
        refused = ", ".join(name for name, reason in self.rollout.reasons.items() if reason is Reason.REFUSED)
        return (
            f"{groups.count(GroupStatus.SUCCESS)} of {len(groups)} groups and "
            f"{nodes.count(NodeStatus.SUCCESS)} of {len(nodes)} nodes deployed"
            f"{'; refused by the provisioner: ' if refused else ''}{refused}{pacing.stopped(self.rollout)}"
            f"{f'; {older_specification(self.left)}' if self.left else ''}"
        )

    def to_json(self) -> Json:
        """Return the stored form, which is written on every turn: a letter a node, in order of name.

        Groups that have not started are left out: most of a large site, at first. Inputs and members do not change, so
        they are one text, which is made and parsed once.
        """
        fixed = self.fixed or _fixed_text(self.inputs, self.rollout, self.acceptance)
        if self.rollout is not None:
            self.fixed = fixed
        stored: dict[str, Any] = {
            "v": least_version(VERSIONS, self),
            "fixed": fixed,
            "since": self.since.isoformat() if self.since else None,
            "failed": self.failed,
            "action": self.action,
        }
        if self.left:
            stored["left"] = list(self.left)
        if self.cases_due or self.cases:
            stored["cases"] = [self.cases_due, self.cases]
        if self.kept:
            stored |= {"kept": list(self.kept), "kept_from": self.kept_from}
        if self.rollout is not None:
            running = [_dump_watch(move, self.watches[move]) for move in self.rollout.running]
            stored |= {"rollout": {**_dump(self.rollout), "running": running}}
            if (paced := pacing.dump(self.rollout)) is not None:
                stored["policy"] = paced
            if self.rollout.uncounted:
                stored["uncounted"] = sorted(self.rollout.uncounted)
        if _has_late(self):
            stored["cycled"] = list(self.cycled)
        if self.inputs.hardware:
            stored |= self.hardware.to_json()
        return stored

    @classmethod
    def from_json(cls, stored: Json) -> "RolloutState":
        """Return the state from its stored form."""
        fixed = _fixed(stored["fixed"])
        due, any_cases = stored.get("cases", (False, False))
        state = cls(
            fixed.inputs,
            fixed=stored["fixed"] if fixed.membership is not None else "",
            since=datetime.fromisoformat(stored["since"]) if stored["since"] else None,
            failed=stored["failed"],
            kept=_nodes(stored.get("kept", ())),
            kept_from=stored.get("kept_from", ""),
            acceptance=fixed.acceptance,
            action=stored.get("action", ""),
            cycled=_nodes(stored.get("cycled", ())),
            left=_nodes(stored.get("left", ())),
            cases_due=due,
            cases=any_cases,
            hardware=HardwareSeen.from_json(stored),
        )
        if fixed.membership is not None:
            watched = [_load_watch(watch) for watch in stored["rollout"]["running"]]
            state.watches = dict(watched)
            state.rollout = _load(
                fixed.membership,
                state.inputs,
                stored["rollout"],
                stored.get("policy", {}),
                fixed.statuses.of(stored["rollout"]["nodes"]),
                [move for move, _ in watched],
            )
            state.rollout.leave_out(_nodes(stored.get("uncounted", ())))
        return state


def paced_rollout(states: Iterable[tuple[Json, str]]) -> Rollout | None:
    """Return the rollout of the action whose step states these are, each with its fixed text; None if none is paced."""
    paced = next((({**memory, "fixed": fixed}) for memory, fixed in states if "policy" in memory), None)
    return None if paced is None else RolloutState.from_json(paced).rollout


def _is_paced(state: RolloutState) -> bool:
    return state.rollout is not None and pacing.dump(state.rollout) is not None


def _has_late(state: RolloutState) -> bool:
    return bool(state.cycled) or any(watch.late or watch.tried for watch in state.watches.values())


def _has_steps_before(state: RolloutState) -> bool:
    inputs = state.inputs
    retries = inputs.policy is not None and inputs.policy.retries
    return bool(inputs.clean_steps or inputs.configuration.burn_in or retries)


def _has_uncounted(state: RolloutState) -> bool:
    return state.rollout is not None and bool(state.rollout.uncounted)


def _has_interrupted(state: RolloutState) -> bool:
    return bool(state.inputs.ways.interrupted)


VERSIONS: Sequence[Since[RolloutState]] = (
    Since(1, "the names of the nodes of each status"),
    Since(2, "a letter a node, and groups that the provisioner refused"),
    Since(3, "nodes in a queue, and jobs that are silent or behind others"),
    Since(4, "acceptance tasks"),
    Since(5, "a policy", _is_paced),
    Since(6, "late nodes", _has_late),
    Since(7, "steps before a deployment, and late nodes that begin again", _has_steps_before),
    Since(8, "nodes that are not counted", _has_uncounted),
    Since(9, "nodes whose hardware was compared", lambda state: bool(state.inputs.hardware)),
    Since(10, "servers that are interrupted, and those that are taken down", _has_interrupted),
)
VERSION = VERSIONS[-1].version


def awaited(state: RolloutState, provisioner: str, submitted: Move | None = None) -> Awaited:
    """Return what the running moves and the submitted one wait for, with the earliest of their limits."""

    def work(move: Move, how: str = "") -> None:
        job = state.way(move).job(move.phase)
        word = job.value if job in (WayPhase.DRAIN, WayPhase.SERVICE, WayPhase.POWER) else move.phase.value
        word = f"burn-in and {word}" if configuration.burn_in and move.phase is Phase.PREPARE else word
        (draining if job is WayPhase.DRAIN else at_peer).append(f"{word} of group {move.group}{how}")

    configuration = state.inputs.configuration
    at_peer: list[str] = []
    draining: list[str] = []
    joining: list[str] = []
    accepting: list[str] = []
    deadlines: list[datetime] = []
    for move, watch in state.watches.items():
        if watch.passage is not None:
            continue  # its items say what they wait for
        if watch.accepting is not None:
            accepting.append(f"acceptance task {watch.accepting.state.work.task} of group {move.group}")
            continue
        if watch.joining is not None:
            joining.append(f"nodes of group {move.group} to be ready{_late(watch)}")
            deadlines.append(deadline(watch.joining, configuration))
            continue
        work(move, f"{described(watch.job)}{_late(watch)}")
        deadlines.append(job_limit(watch.job, _limits(state, move))[1])
    if submitted is not None:
        work(submitted)
    who = provisioner if at_peer else "Kubernetes" if draining or joining else "the nodes"
    awaited = [*at_peer, *draining, *joining, *accepting]
    return Awaited(who, in_short(awaited, MOST_WORKS, "; "), deadline=min(deadlines, default=None))


def _late(watch: Watch) -> str:
    """Return which nodes are late, as the end of a sentence about their work."""
    return f", late: {in_short(watch.late, MOST_LATE, ' ')}" if watch.late else ""


def due(state: RolloutState, now: datetime) -> frozenset[Move]:
    """Return the moves at the provisioner whose time limit is over."""
    return frozenset(
        move
        for move, watch in state.watches.items()
        if watch.at_provisioner and is_due(watch.job, _limits(state, move), now)
    )


def timed_out(state: RolloutState, move: Move, why: str) -> str:
    """Return the sentence about a move whose time is up, with the next commands."""
    after = f"; then `shipyard retry {state.action}`" if state.action else ""
    work = f"{move.phase.value} of group {move.group}"
    return f"{work}: {why}. Next: `shipyard get site-statuses` until the job has ended{after}"


def _limits(state: RolloutState, move: Move) -> Limits:
    phase = state.limits(move)
    return Limits(phase.interval, phase.timeout, state.inputs.configuration.queue_limit)


def _nodes(names: Any) -> tuple[NodeName, ...]:
    return tuple(NodeName(name) for name in names)


def _dump_watch(move: Move, watch: Watch) -> dict[str, Any]:
    return {
        **move_to_json(move),
        "job": watch.job.to_json(),
        "joining": watch.joining.to_json() if watch.joining else None,
        "done": list(watch.done),
        **({"accepting": watch.accepting.to_json()} if watch.accepting else {}),
        **({"late": list(watch.late), "tried": list(watch.tried)} if watch.late or watch.tried else {}),
        **({"passage": watch.passage.to_json()} if watch.passage else {}),
    }


def _load_watch(stored: Mapping[str, Any]) -> tuple[Move, Watch]:
    joining = Joining.from_json(stored["joining"]) if stored["joining"] else None
    accepting = Accepting.from_json(stored["accepting"]) if "accepting" in stored else None
    late, tried = _nodes(stored.get("late", ())), _nodes(stored.get("tried", ()))
    job, done = Job.from_json(stored["job"]), _nodes(stored["done"])
    passage = TeardownState.from_json(stored["passage"]) if "passage" in stored else None
    return move_from_json(stored), Watch(job, joining, done, accepting, late, tried, passage)


class _Statuses:
    """Reads the statuses of all nodes. It starts from those that it read last, because a turn changes few."""

    def __init__(self, nodes: Mapping[NodeName, NodeStatus]) -> None:
        """``nodes``: all of them, in order of name."""
        self._names = tuple(nodes)
        self._last: tuple[str, dict[NodeName, NodeStatus]] = ("", dict(nodes))

    def of(self, stored: str | Mapping[str, Sequence[NodeName]]) -> Mapping[NodeName, NodeStatus]:
        """Return the statuses that are stored as a letter a node, or as the names of each status."""
        if not isinstance(stored, str):
            statuses = {name: NodeStatus(status) for status, names in stored.items() for name in names}
            return {name: statuses.get(name, NodeStatus.NOT_STARTED) for name in self._names}
        if len(stored) != len(self._names):
            raise ValueError(f"{len(stored)} statuses for {len(self._names)} nodes")
        known, nodes = self._last
        if stored == known:
            return nodes
        nodes = dict(nodes)
        for start in range(0, len(self._names), _PIECE):
            piece = slice(start, start + _PIECE)
            if stored[piece] != known[piece]:
                nodes.update(zip(self._names[piece], map(_OF_LETTER.__getitem__, stored[piece]), strict=True))
        self._last = stored, nodes
        return nodes


class _Fixed(Struct, frozen=True):
    """What does not change while the step runs. ``membership`` is None until the members are known."""

    inputs: SiteInputs
    membership: Membership | None
    acceptance: Acceptance | None
    statuses: _Statuses


def _fixed_text(inputs: SiteInputs, rollout: Rollout | None, acceptance: Acceptance | None) -> str:
    members = None if rollout is None else {name: sorted(nodes) for name, nodes in rollout.members.items()}
    tasks = {"acceptance": acceptance.to_json()} if acceptance else {}
    return json.dumps({"inputs": inputs.to_json(), "members": members, **tasks}, separators=(",", ":"))


@lru_cache(maxsize=8)
def _fixed(text: str) -> _Fixed:
    stored = json.loads(text)
    inputs, members = SiteInputs.from_json(stored["inputs"]), stored["members"]
    tasks = Acceptance.from_json(stored["acceptance"]) if "acceptance" in stored else None
    membership = None if members is None else Membership(inputs.strategy, members)
    return _Fixed(inputs, membership, tasks, _Statuses(membership.nodes if membership else {}))


def _dump(rollout: Rollout) -> dict[str, Any]:
    return {
        "nodes": "".join(map(_LETTERS.__getitem__, rollout.nodes.values())),
        "groups": {
            name: status.value for name, status in rollout.groups.items() if status is not GroupStatus.NOT_STARTED
        },
        "reasons": {name: reason.value for name, reason in rollout.reasons.items()},
        "batches": {
            name: {phase.value: count for phase, count in counts.items()} for name, counts in rollout.batches.items()
        },
        "in_queue": sorted(rollout.in_queue),
    }


def _load(
    membership: Membership,
    inputs: SiteInputs,
    stored: Mapping[str, Any],
    policy: Mapping[str, Any],
    nodes: Mapping[NodeName, NodeStatus],
    running: list[Move],
) -> Rollout:
    return Rollout.resumed(
        membership,
        inputs.configuration.mode,
        pacing.of(inputs, membership.members, policy),
        nodes=nodes,
        groups={GroupName(name): GroupStatus(status) for name, status in stored["groups"].items()},
        reasons={GroupName(name): Reason(reason) for name, reason in stored["reasons"].items()},
        running=running,
        batches={
            GroupName(name): {Phase(phase): count for phase, count in counts.items()}
            for name, counts in stored["batches"].items()
        },
        in_queue=_nodes(stored.get("in_queue", ())),
        spared=pacing.spared_nodes(policy),
        withheld=pacing.stopped_nodes(policy),
    )
