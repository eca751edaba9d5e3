"""Servers that an action interrupts, under every rule of a policy: which begin when, and which never."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from itertools import groupby
from random import Random

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.rollout.assumptions import PhaseAssumption, TeardownAssumption
from shipyard_api.domain.rollout.enforcing import blocked, enforce, open_gates
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Outcome
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind
from shipyard_api.domain.rollout.policy.pacing import Pace
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import Scope, Wave, Waves
from shipyard_api.domain.rollout.policy.windows import Unit, Window, Windows
from shipyard_api.domain.rollout.rehearsal import Rehearsal, rehearse
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy
from tests.unit.actions.steps.rollouts import names
from tests.unit.tables import every_row

BEGIN = datetime.fromisoformat("2026-11-26T22:00:00+00:00")
ALL_GOOD = SuccessCriteria(percent_successful_nodes=100)
MEMBERS = {
    GroupName(group): frozenset(names(nodes)) for group, nodes in {"a": "n1 n2 n3", "b": "n4 n5", "c": "n6"}.items()
}
STRATEGY = Strategy(tuple(DeploymentGroup(name, True, (), (), ALL_GOOD) for name in MEMBERS))
EVERY = names("n1 n2 n3 n4 n5 n6")
ALL = Ways(EVERY)
RACKS = {node: {"rack": f"r{number % 2}"} for number, node in enumerate(EVERY)}
TEN = dict.fromkeys(Phase, 600.0)  # seconds
ONE = Amount(1)
DOWN = {"teardown": 300.0, "leave": 60.0}  # seconds
FIVE_MINUTES = Gate(GateKind.SOAK, 300)


def nightly(minutes: int, unit: Unit) -> Windows:
    return Windows((Window("UTC", time(22), 60.0 * minutes),), unit)


def played(policy: Policy, ways: Ways, fails: str, mode: Mode = SERIAL, done: str = "") -> Rehearsal:
    """Play an update in which each phase takes ten minutes. ``fails``: nodes that are not deployed."""
    pace = Pace(policy, MEMBERS, at_once=mode.max_nodes_in_flight, ways=ways)
    good = {phase: {node for node in EVERY if node not in names(fails) or phase is Phase.PREPARE} for phase in Phase}
    progress = Progress(nodes=dict.fromkeys(names(done), NodeStatus.SUCCESS), at=BEGIN)
    lasts = {phase: PhaseAssumption(0.0, [TEN[phase]]) for phase in Phase}
    teardown = TeardownAssumption(ways, [policy.teardown], [policy.leave])
    return rehearse(Membership(STRATEGY, MEMBERS), mode, progress, good, lasts, Random(1), pace, teardown)


def begins(rehearsal: Rehearsal) -> str:
    """Return which nodes began in which minute."""
    moves = [
        (round(at / 60), " ".join(move.nodes))
        for move, at in zip(rehearsal.moves, rehearsal.times, strict=True)
        if move.phase is Phase.PREPARE
    ]
    return ", ".join(f"{at}: {' '.join(nodes for _, nodes in part)}" for at, part in groupby(moves, lambda one: one[0]))


def canary(*gates: Gate, scope: Scope = Scope.GROUP) -> Policy:
    return Policy(Waves((Wave("canary", ONE, gates=gates),), scope))


PACED: Mapping[str, tuple[Policy, Ways, str]] = {
    "one group after another": (Policy(), ALL, "0: n1 n2 n3, 20: n4 n5, 40: n6"),
    "one server at a time": (
        Policy(),
        Ways(EVERY, at_once=1),
        "0: n1, 20: n2, 40: n3, 60: n4, 80: n5, 100: n6",
    ),
    "two of a kind at a time": (
        Policy(),
        Ways(names("n1 n3"), names("n2 n4"), at_once=2),
        "0: n1 n2, 20: n3, 40: n4 n5, 60: n6",
    ),
    "one of an etcd cluster": (
        Policy(),
        Ways(EVERY, clusters={"etcd": names("n1 n2 n4")}),
        "0: n1 n3, 20: n2, 40: n4 n5, 60: n6",
    ),
    "one of each of two clusters": (
        Policy(),
        Ways(EVERY, clusters={"k": names("n1 n2"), "c": names("n2 n3")}),
        "0: n1 n3, 20: n2, 40: n4 n5, 60: n6",
    ),
    "a new server beside the bound": (
        Policy(),
        Ways(names("n1 n2"), at_once=1),
        "0: n1 n3, 20: n2, 40: n4 n5, 60: n6",
    ),
    "a budget of a rack": (
        Policy(budgets=(Budget("racks", "rack", max_unavailable=ONE),), topology=RACKS),
        ALL,
        "0: n1 n2, 20: n3, 40: n4 n5, 60: n6",
    ),
    "a canary in each group": (canary(), ALL, "0: n1, 20: n2 n3, 40: n4, 60: n5, 80: n6"),
    "a canary that soaks": (canary(FIVE_MINUTES), ALL, "0: n1, 25: n2 n3, 45: n4, 70: n5, 90: n6"),
    "a canary of the action": (canary(scope=Scope.ACTION), ALL, "0: n1, 20: n2 n3, 40: n4 n5, 60: n6"),
    "a canary among one at a time": (
        canary(),
        Ways(EVERY, at_once=1),
        "0: n1, 20: n2, 40: n3, 60: n4, 80: n5, 100: n6",
    ),
    "a window that holds two groups": (
        Policy(windows=nightly(50, Unit.GROUP), seconds=TEN),
        ALL,
        "0: n1 n2 n3, 20: n4 n5, 1440: n6",
    ),
    "a window that holds two servers": (
        Policy(windows=nightly(50, Unit.SERVER), seconds=TEN),
        Ways(EVERY, at_once=1),
        "0: n1, 20: n2, 1440: n3, 1460: n4, 2880: n5, 2900: n6",
    ),
    "servers that are taken down take longer": (
        Policy(**DOWN),
        Ways(EVERY[:2], EVERY[3:4]),
        "0: n1 n2 n3, 26: n4 n5, 46: n6",
    ),
    "a window that holds one server with its teardown": (
        Policy(windows=nightly(50, Unit.SERVER), seconds=TEN, **DOWN),
        Ways(names("n1 n2 n3"), at_once=1),
        "0: n1, 25: n2, 1440: n3, 1465: n4 n5, 2880: n6",
    ),
    "a window that holds a group with its teardowns": (
        Policy(windows=nightly(47, Unit.GROUP), seconds=TEN, **DOWN),
        ALL,
        "0: n1 n2 n3, 1440: n4 n5, 2880: n6",
    ),
    "a window in which the servers of a group take turns": (
        Policy(windows=nightly(75, Unit.GROUP), seconds=TEN, **DOWN),
        Ways(EVERY, at_once=1),
        "0: n1, 25: n2, 50: n3, 1440: n4, 1465: n5, 1490: n6",
    ),
    "a window and a canary": (
        Policy(canary().waves, windows=nightly(50, Unit.WAVE), seconds=TEN),
        ALL,
        "0: n1, 20: n2 n3, 1440: n4, 1460: n5, 2880: n6",
    ),
}


@every_row(PACED)
def test_servers_begin_as_the_policy_says_and_one_group_at_a_time(policy: Policy, ways: Ways, expected: str) -> None:
    rehearsal = played(policy, ways, "")
    assert begins(rehearsal) == expected
    assert set(rehearsal.rollout.nodes.values()) == {NodeStatus.SUCCESS}


LOST: Mapping[str, tuple[Policy, Ways, str, str, str]] = {
    "nothing after a failed group": (Policy(), ALL, "n1", "0: n1 n2 n3", "on-change"),
    "nothing after the second group": (Policy(), ALL, "n4", "0: n1 n2 n3, 20: n4 n5", "on-change"),
    "new servers of other groups": (Policy(), Ways(names("n1 n4")), "n1", "0: n1 n2 n3, 20: n5, 30: n6", "on-change"),
    "serviced ones neither": (
        Policy(),
        Ways(names("n1"), names("n4")),
        "n1",
        "0: n1 n2 n3, 20: n5, 30: n6",
        "on-change",
    ),
    "nobody of a cluster that has lost one": (
        Policy(),
        Ways(EVERY, clusters={"etcd": names("n1 n2 n4")}),
        "n1",
        "0: n1 n3",
        "etcd cluster etcd",
    ),
    "nothing after a bad canary": (canary(), ALL, "n1", "0: n1", "wave canary of group a"),
    "nothing after a budget is used up": (
        Policy(budgets=(Budget("site", max_lost=Amount(0)),)),
        Ways(EVERY, at_once=1),
        "n1",
        "0: n1",
        "budget site",
    ),
}


@every_row(LOST)
def test_after_a_loss_no_further_server_is_interrupted(
    policy: Policy, ways: Ways, fails: str, expected: str, rule: str
) -> None:
    rehearsal = played(policy, ways, fails)
    assert begins(rehearsal) == expected
    begun = {node for move in rehearsal.moves for node in move.nodes}
    assert rehearsal.rollout.withheld.keys() >= ways.interrupted - begun
    assert rule in rehearsal.rollout.withheld.values()


def test_servers_that_are_as_they_should_be_are_in_nobodys_way() -> None:
    ways = Ways(names("n2 n6"), clusters={"etcd": names("n2 n6")})
    assert begins(played(Policy(), ways, "", done="n1 n3 n4 n5")) == "0: n2, 20: n6"
    assert begins(played(Policy(), ways, "", done=" ".join(EVERY))) == ""


WAVE = "wave canary of group a"
APPROVAL = Gate(GateKind.APPROVAL, limit=600, at_limit=AtLimit.STOP)


@every_row({"passed": (True, "n2 n3"), "refused": (False, ""), "not passed in time": (None, "")})
def test_a_gate_keeps_the_next_wave_until_a_person_passes_it(passes: bool | None, then: str) -> None:
    """A wave that is not passed fails its group, after which no further server is interrupted."""
    rollout = Rollout(STRATEGY, MEMBERS, SERIAL, Pace(canary(APPROVAL), MEMBERS, ways=ALL))
    for phase in Phase:
        move = rollout.next_move(BEGIN)
        assert move
        assert (move.phase, move.nodes) == (phase, names("n1"))
        rollout.start(move)
        assert rollout.next_move(BEGIN) is None
        rollout.finish(move, Outcome(frozenset(move.nodes)))
        enforce(rollout, BEGIN)
    waits = BEGIN + timedelta(minutes=5)
    assert rollout.next_move(waits) is None
    reason = blocked(rollout, waits)
    assert reason
    assert reason.gate
    (gate,) = open_gates(rollout, waits)
    now = waits
    if passes is None:
        now = BEGIN + timedelta(minutes=11)
    else:
        rollout.pace.answer(gate.place, gate.state.index, Answer(passes, waits, "ann"))
    enforce(rollout, now)
    move = rollout.next_move(now)
    assert " ".join(move.nodes if move else ()) == then
    assert rollout.withheld == (
        {} if passes else {**dict.fromkeys(EVERY[1:3], WAVE), **dict.fromkeys(EVERY[3:], "on-change")}
    )
