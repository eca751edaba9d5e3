"""Play the rollout of one simulated run in virtual time: when each group begins and ends."""

import heapq
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import NO_TEARDOWN, Assumptions, TeardownAssumption
from shipyard_api.domain.rollout.enforcing import blocked, enforce, open_gates
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Mode, Move, Outcome
from shipyard_api.domain.rollout.policy.gates import Answer
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE, Pace
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.run_sets import Dice
from shipyard_api.domain.strategy.strategy import GroupName


class Rehearsal(Struct, frozen=True):
    """A run in virtual time, in seconds from now. ``begins``: in that order; groups that had begun before are absent.

    ``ends``: groups that run. Groups that fail by dependency are in neither. ``phases``: begin and end of those
    with nodes; 0 is the begin of those that had begun before. ``moves``: those that the run started, in that order,
    and ``times``: when it started each. ``rollout``: as it ended.
    """

    seconds: float
    begins: Mapping[GroupName, float]
    ends: Mapping[GroupName, float]
    phases: Mapping[tuple[GroupName, Phase], tuple[float, float]]
    moves: Sequence[Move]
    times: Sequence[float]
    rollout: Rollout


def _begun(membership: Membership, mode: Mode, progress: Progress, pace: Pace) -> Rollout:
    """Return the rollout from its current state."""
    rollout = Rollout.resumed(
        membership,
        mode,
        pace.copy(),
        nodes=progress.nodes,
        groups=progress.groups,
        reasons=progress.reasons,
        running=progress.running,
        spared=progress.spared,
        withheld=progress.withheld,
    )
    rollout.leave_out(progress.uncounted)
    return rollout


def _enforced(rollout: Rollout, moment: datetime) -> Iterable[Fact]:
    yield from enforce(rollout, moment)
    passed = Answer(True, moment, "rehearsal")
    while gates := open_gates(rollout, moment):  # a wave may have several, one after another
        for gate in gates:
            rollout.pace.answer(gate.place, gate.state.index, passed)


def rehearse(
    membership: Membership,
    mode: Mode,
    progress: Progress,
    succeeding: Mapping[Phase, Set[NodeName]],
    assumptions: Assumptions,
    dice: Dice,
    pace: Pace = ALL_AT_ONCE,
    teardown: TeardownAssumption = NO_TEARDOWN,
) -> Rehearsal:
    """Play one run. ``succeeding``: the nodes that succeed in a phase if they are sent. ``teardown``: before it.

    A move lasts as long as the drawn phase, and its nodes end with it. Moves have no time limit here. Gates are passed
    at once, but for soaks: how long people and queries take is unknown.
    """
    rollout = _begun(membership, mode, progress, pace)
    now = 0.0
    moves: list[Move] = []
    times: list[float] = []
    begins: dict[GroupName, float] = {}
    ends: dict[GroupName, float] = {}
    submitted = dict.fromkeys(((move.group, move.phase) for move in progress.running), 0.0)
    phases: dict[tuple[GroupName, Phase], tuple[float, float]] = {}

    def note(facts: Iterable[Fact]) -> None:
        for fact in facts:
            if not isinstance(fact, GroupChanged) or fact.reason is Reason.DEPENDENCY:
                continue
            if fact.status is GroupStatus.PREPARING:
                begins[fact.group] = now
            elif fact.status in (GroupStatus.SUCCESS, GroupStatus.FAILED):
                ends[fact.group] = now

    ending = [
        (assumptions[move.phase].duration(move.group, dice, passed) - passed, place, move)
        for place, (move, passed) in enumerate(progress.running.items(), start=-len(progress.running))
    ]
    heapq.heapify(ending)
    while not rollout.done:
        moment = progress.at + timedelta(seconds=now)
        note(_enforced(rollout, moment))
        if move := rollout.next_move(moment):
            move = replace(move, nodes=teardown.ways.alike(move.nodes))
            note(rollout.start(move))
            if move.nodes:
                moves.append(move)
                times.append(now)
                submitted.setdefault((move.group, move.phase), now)
                lasts = teardown.duration(move, dice) + assumptions[move.phase].duration(move.group, dice)
                heapq.heappush(ending, (now + lasts, len(moves), move))
            continue
        reason = blocked(rollout, moment)
        opening = None if reason is None or reason.until is None else (reason.until - progress.at).total_seconds()
        if opening is not None and (not ending or opening < ending[0][0]):
            now = max(opening, now)
            continue
        if not ending:
            break
        now, _, move = heapq.heappop(ending)
        phases[move.group, move.phase] = (submitted[move.group, move.phase], now)
        good = succeeding[move.phase]
        note(rollout.finish(move, Outcome(frozenset(node for node in move.nodes if node in good))))
    return Rehearsal(now, begins, ends, phases, moves, times, rollout)
