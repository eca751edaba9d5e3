"""A rollout policy at one moment: its waves and gates, its budgets and windows (product, section 13)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import Enum
from itertools import islice

from msgspec import Struct

from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.rollout.policy.budgets import BudgetUse, Domain
from shipyard_api.domain.rollout.policy.gates import Gate, standing
from shipyard_api.domain.rollout.policy.pace import Situation, WaveState
from shipyard_api.domain.rollout.policy.pacing import Pace, Progress, use_of
from shipyard_api.domain.rollout.policy.reading import PATH, PolicyInputs
from shipyard_api.domain.rollout.policy.waves import Course
from shipyard_api.domain.rollout.policy.windows import Windows

MOST_WAVES = 500
MOST_BUDGETS = 100
_SPANS = 3


class WaveStanding(Enum):
    """The state of a wave; the values are the words on the wire. A bad one may still be at work."""

    LATER = "later"
    RUNNING = "running"
    GOOD = "good"
    BAD = "bad"
    STOPPED = "stopped"


class GateStanding(Enum):
    """The state of a gate; the values are the words on the wire. A paused one waits for a person after its limit."""

    LATER = "later"
    OPEN = "open"
    PAUSED = "paused"
    PASSED = "passed"
    REFUSED = "refused"


class SurveyedGate(Struct, frozen=True):
    """``until``: when an open gate ends by itself, None if it does not. ``by``: the user who answered, with ``detail``
    as the comment.
    """

    gate: Gate
    standing: GateStanding
    until: datetime | None = None
    by: str = ""
    detail: str = ""


class SurveyedWave(Struct, frozen=True):
    """A wave of a group, or of all groups (an empty one). Of its nodes, ``stopped`` never begin."""

    group: str
    name: str
    standing: WaveStanding
    nodes: int
    begun: int
    deployed: int
    lost: int
    stopped: int
    missed: str
    gates: Sequence[SurveyedGate]


class Survey(Struct, frozen=True):
    """The whole policy. ``spans``: begin and end of the next windows; empty without windows, or if none comes.

    ``waves`` are the first ``MOST_WAVES``, ``budgets`` the ``MOST_BUDGETS`` of which most is used, these first.
    """

    waves: Sequence[SurveyedWave]
    budgets: Sequence[BudgetUse]
    spans: Sequence[tuple[datetime, datetime]]


def survey(pace: Pace, situation: Situation, now: datetime) -> Survey:
    """Return the state of the policy of a rollout."""
    waves = (_wave(pace, situation, course, state, now) for course, states in pace.waves(situation) for state in states)
    budgets = sorted((use_of(domain, situation) for domain in pace.domains), key=lambda use: -use.share)
    windows = pace.policy.windows
    spans = list(next_spans(windows, now)) if windows else []
    return Survey(list(islice(waves, MOST_WAVES)), budgets[:MOST_BUDGETS], spans)


def next_spans(windows: Windows, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Return begin and end of the windows that are open, or come next."""
    return islice(windows.spans(now), _SPANS)


def _wave(pace: Pace, situation: Situation, course: Course, state: WaveState, now: datetime) -> SurveyedWave:
    wave, nodes = course.waves[state.place[1]]
    stopped = len(nodes & situation.withheld)
    if state.missed:
        standing = WaveStanding.BAD
    elif state.ended:
        standing = WaveStanding.STOPPED if stopped else WaveStanding.GOOD
    else:
        standing = WaveStanding.RUNNING if state.begun else WaveStanding.LATER
    return SurveyedWave(
        course.name,
        wave.name,
        standing,
        len(nodes),
        state.begun,
        sum(situation.nodes[node] is NodeStatus.SUCCESS for node in nodes),
        state.lost,
        stopped,
        "; ".join(map(str, state.missed)),
        # Nothing waits for the gates of the last wave.
        list(_gates(wave.gates, state, pace.progress, now)) if state.place[1] + 1 < len(course.waves) else [],
    )


def _gates(gates: Sequence[Gate], state: WaveState, progress: Progress, now: datetime) -> Iterator[SurveyedGate]:
    ended, answers = progress.ended.get(state.place), progress.answers.get(state.place, {})
    if ended is None or not state.ended:
        yield from (SurveyedGate(gate, GateStanding.LATER) for gate in gates)
        return
    current = standing(gates, ended, answers, now)
    for index, gate in enumerate(gates):
        if current is None or index < current.index:
            answer = answers.get(index)
            by, detail = (answer.by, answer.detail) if answer else ("", "")
            yield SurveyedGate(gate, GateStanding.PASSED, by=by, detail=detail)
        elif index > current.index:
            yield SurveyedGate(gate, GateStanding.LATER)
        elif current.failed:
            yield SurveyedGate(gate, GateStanding.REFUSED, by=current.failed.by, detail=current.failed.detail)
        else:
            place = GateStanding.PAUSED if current.paused else GateStanding.OPEN
            yield SurveyedGate(gate, place, current.until)


def closed_now(policy: PolicyInputs, now: datetime) -> Finding | None:
    """Return that no server begins now, because of the windows; None if one may, or if none ever will."""
    windows = policy.of_servers
    reason = windows.blocked(now) if windows else None
    if reason is None or reason.never:
        return None
    message = f"The action waits for a maintenance window before it begins with a server: {reason.why}."
    return warning("PolicyWindowClosed", message, path=f"{PATH}/windows")


def smaller_batches(budget: Domain, size: int, wanted: int) -> Finding:
    """Return that a budget makes batches smaller."""
    most = budget.unavailable
    message = f"The {budget} lets {most} server(s) be down together, so {size} target(s) go at a time, not {wanted}."
    return warning("PolicySmallerBatches", message, path=f"{PATH}/budgets")


def policy_passed(action: str) -> Finding:
    """Return that the action asks neither budgets nor windows."""
    message = f"{action} is forced: its servers begin although budgets or maintenance windows forbid it."
    return warning("PolicyPassed", message, path=PATH)


def policy_not_passed(action: str) -> Finding:
    """Return that the caller may not pass budgets and windows."""
    message = f"{action} keeps to budgets and maintenance windows: you may not pass them with force."
    return warning("PolicyNotPassed", message, path=PATH)
