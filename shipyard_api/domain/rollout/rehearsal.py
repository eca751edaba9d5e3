"""Play the rollout of one simulated run in virtual time: when each group begins and ends."""

import heapq
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import Assumptions
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.modes import Mode
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.run_sets import Dice
from shipyard_api.domain.strategy.strategy import GroupName


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A run in virtual time, in seconds from now. ``begins``: in that order; groups that had begun before are absent.

    ``ends``: groups that run. Groups that fail by dependency are in neither. ``phases``: begin and end of those
    with nodes; 0 is the begin of those that had begun before. ``moves``: those that the run started, in that order.
    ``rollout``: as it ended.
    """

    seconds: float
    begins: Mapping[GroupName, float]
    ends: Mapping[GroupName, float]
    phases: Mapping[tuple[GroupName, Phase], tuple[float, float]]
    moves: Sequence[Move]
    rollout: Rollout


def rehearse(
    membership: Membership,
    mode: Mode,
    progress: Progress,
    succeeding: Mapping[Phase, Set[NodeName]],
    assumptions: Assumptions,
    dice: Dice,
) -> Rehearsal:
    """Play one run. ``succeeding``: the nodes that succeed in a phase if they are sent.

    A move lasts as long as the drawn phase, and its nodes end with it. Moves have no time limit here.
    """
    rollout = Rollout.resumed(
        membership,
        mode,
        nodes=progress.nodes,
        groups=progress.groups,
        reasons=progress.reasons,
        running=progress.running,
    )
    now = 0.0
    moves: list[Move] = []
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

    due = [
        (assumptions[move.phase].duration(move.group, dice, passed) - passed, place, move)
        for place, (move, passed) in enumerate(progress.running.items(), start=-len(progress.running))
    ]
    heapq.heapify(due)
    while not rollout.done:
        if move := rollout.next_move():
            note(rollout.start(move))
            if move.nodes:
                moves.append(move)
                submitted.setdefault((move.group, move.phase), now)
                heapq.heappush(due, (now + assumptions[move.phase].duration(move.group, dice), len(moves), move))
            continue
        if not due:
            break
        now, _, move = heapq.heappop(due)
        phases[move.group, move.phase] = (submitted[move.group, move.phase], now)
        good = succeeding[move.phase]
        note(rollout.finish(move, Outcome(frozenset(node for node in move.nodes if node in good))))
    return Rehearsal(now, begins, ends, phases, moves, rollout)
