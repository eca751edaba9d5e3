"""A policy at one moment: where waves, gates, budgets and windows stand."""

from datetime import UTC, datetime, time, timedelta

from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind
from shipyard_api.domain.rollout.policy.pace import Situation
from shipyard_api.domain.rollout.policy.pacing import Pace, Progress
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.survey import GateStanding, Survey, WaveStanding, survey
from shipyard_api.domain.rollout.policy.waves import Wave, Waves
from shipyard_api.domain.rollout.policy.windows import Window, Windows
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.strategy.strategy import GroupName
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
A = GroupName("a")
NODES = [NodeName(name) for name in ("n1", "n2", "n3")]
SOAK, APPROVAL = Gate(GateKind.SOAK, 60), Gate(GateKind.APPROVAL, limit=100, at_limit=AtLimit.PAUSE)
GATED = Policy(Waves((Wave("canary", Amount(1), gates=(SOAK, APPROVAL)),)))
OF_LETTER = {
    "n": NodeStatus.NOT_STARTED,
    "p": NodeStatus.PREPARED,
    "s": NodeStatus.SUCCESS,
    "f": NodeStatus.FAILURE,
    "x": NodeStatus.NOT_STARTED,
    "w": NodeStatus.NOT_STARTED,
}


def surveyed(
    policy: Policy, letters: str, progress: Progress | None = None, now: datetime = NOW, ways: Ways = NO_WAYS
) -> Survey:
    """``letters``: the status of each node; ``x``: stopped by the policy; ``w``: in flight."""
    by_node = dict(zip(NODES, letters, strict=True))
    situation = Situation(
        {node: OF_LETTER[letter] for node, letter in by_node.items()},
        {node for node, letter in by_node.items() if letter == "w"},
        set(),
        set(),
        {node for node, letter in by_node.items() if letter == "x"},
        dict.fromkeys(NODES, (A,)),
        lambda _group: True,
    )
    return survey(Pace(policy, {A: frozenset(NODES)}, progress=progress, ways=ways), situation, now)


@every_row(
    [
        ("wnn", WaveStanding.RUNNING, WaveStanding.LATER),
        ("pnn", WaveStanding.RUNNING, WaveStanding.LATER),
        ("snn", WaveStanding.GOOD, WaveStanding.LATER),
        ("ssw", WaveStanding.GOOD, WaveStanding.RUNNING),
        ("fxx", WaveStanding.BAD, WaveStanding.STOPPED),
        ("ssx", WaveStanding.GOOD, WaveStanding.STOPPED),
        ("sfw", WaveStanding.GOOD, WaveStanding.BAD),
    ],
)
def test_where_waves_stand(letters: str, canary: WaveStanding, rest: WaveStanding) -> None:
    first, last = surveyed(GATED, letters).waves

    assert (first.group, first.name, first.nodes, first.standing) == ("a", "canary", 1, canary)
    assert (last.name, last.nodes, last.standing) == ("rest", 2, rest)
    assert [last.deployed, last.lost, last.stopped] == [letters[1:].count(letter) for letter in "sfx"]


@every_row(
    [
        (None, None, GateStanding.LATER, GateStanding.LATER),
        (59, None, GateStanding.OPEN, GateStanding.LATER),
        (61, None, GateStanding.PASSED, GateStanding.OPEN),
        (61, True, GateStanding.PASSED, GateStanding.PASSED),
        (61, False, GateStanding.PASSED, GateStanding.REFUSED),
        (161, None, GateStanding.PASSED, GateStanding.PAUSED),
    ],
)
def test_where_the_gates_of_a_wave_stand(
    seconds: int | None, answer: bool | None, soak: GateStanding, approval: GateStanding
) -> None:
    progress = Progress()
    if seconds is not None:
        progress.ended["a", 0] = NOW - timedelta(seconds=seconds)
    if answer is not None:
        progress.answers["a", 0] = {1: Answer(answer, NOW, "ops", "quiet")}

    canary, _ = surveyed(GATED, "snn" if seconds is not None else "wnn", progress).waves

    assert [gate.standing for gate in canary.gates] == [soak, approval]
    assert [(gate.by, gate.detail) for gate in canary.gates if gate.by] == (
        [] if answer is None else [("ops", "quiet")]
    )
    until = {GateStanding.OPEN: NOW + timedelta(seconds=1 if seconds == 59 else 99)}
    assert [gate.until for gate in canary.gates] == [until.get(gate.standing) for gate in canary.gates]


def test_budgets_of_which_most_is_used_come_first() -> None:
    racks = {node: {"rack": rack} for node, rack in zip(NODES, ("r1", "r2", "r2"), strict=True)}
    budgets = (Budget("lost", max_lost=Amount(2)), Budget("racks", "rack", Amount(2)))

    found = surveyed(Policy(budgets=budgets, topology=racks), "sfw").budgets

    assert [(str(one.domain), one.taken, one.lost, round(one.share, 2), one.full) for one in found] == [
        ("budget racks of rack r2", 2, 1, 1.0, "2 nodes are in flight or lost, at most 2 allowed"),
        ("budget lost", 2, 1, 0.33, ""),
        ("budget racks of rack r1", 0, 0, 0.0, ""),
    ]


def test_how_many_interrupted_servers_are_away_is_a_budget_without_a_policy() -> None:
    ways = Ways(reinstalled=tuple(NODES), at_once=1)

    (one,) = surveyed(Policy(), "sfw", ways=ways).budgets

    assert (str(one.domain), one.taken, one.full) == ("max_parallel_nodes", 1, "1 servers are away, at most 1 allowed")


def test_windows_are_the_next_three_from_now_on() -> None:
    windows = Windows((Window("UTC", time(11), 7200),))

    found = surveyed(Policy(windows=windows), "nnn").spans

    days = [NOW.replace(hour=11) + timedelta(days=day) for day in range(3)]
    assert found == [(day, day + timedelta(hours=2)) for day in days]
