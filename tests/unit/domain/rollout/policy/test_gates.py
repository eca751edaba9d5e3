"""When a gate is passed, and what happens at its limit."""

from datetime import UTC, datetime, timedelta

from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind, standing
from tests.unit.tables import every_row

ENDED = datetime(2026, 11, 23, tzinfo=UTC)
SOAK, ASK = Gate(GateKind.SOAK, 60), Gate(GateKind.APPROVAL, limit=100)


@every_row(
    {
        "none": ([], {}, 0, "passed"),
        "a soak ends": ([SOAK], {}, 60, "passed"),
        "the second begins when the first is passed": ([SOAK, ASK], {}, 61, "1 until 160"),
        "an answer passes a gate at its time": ([ASK, SOAK], {0: (True, 10)}, 50, "1 until 70"),
        "a person refuses": ([ASK], {0: (False, 10)}, 11, "0 failed by ops"),
        "the limit stops": ([ASK], {}, 100, "0 failed by limit"),
        "or goes on": ([Gate(GateKind.APPROVAL, limit=100, at_limit=AtLimit.GO_ON)], {}, 100, "passed"),
        "or pauses": ([Gate(GateKind.APPROVAL, limit=100, at_limit=AtLimit.PAUSE)], {}, 100, "0 paused"),
        "a query that does not hold yet": ([Gate(GateKind.QUERY, limit=100)], {}, 99, "0 until 100"),
    },
)
def test_gates_follow_each_other(
    gates: list[Gate], answers: dict[int, tuple[bool, int]], seconds: int, expected: str
) -> None:
    given = {place: Answer(passed, ENDED + timedelta(seconds=at), "ops") for place, (passed, at) in answers.items()}

    state = standing(gates, ENDED, given, ENDED + timedelta(seconds=seconds))

    if state is None:
        assert expected == "passed"
        return
    failed = f" failed by {state.failed.by}" if state.failed else ""
    until = f" until {(state.until - ENDED).total_seconds():g}" if state.until else ""
    assert f"{state.index}{failed}{' paused' if state.paused else ''}{until}" == expected


@every_row(
    [
        (Gate(GateKind.APPROVAL), 10**7, "approval has no time limit"),
        (Gate(GateKind.QUERY, query="up"), 0, "query up has no time limit"),
        (ASK, 1, "approval may be passed until 2026-11-23T00:01:40Z; then nothing more begins"),
        (
            Gate(GateKind.QUERY, limit=100, at_limit=AtLimit.GO_ON, query="up"),
            1,
            "query up may be passed until 2026-11-23T00:01:40Z; then the next nodes begin without it",
        ),
        (
            Gate(GateKind.QUERY, limit=100, at_limit=AtLimit.PAUSE, query="up"),
            1,
            "query up may be passed until 2026-11-23T00:01:40Z; then a person decides",
        ),
        (
            Gate(GateKind.QUERY, limit=100, at_limit=AtLimit.PAUSE, query="up"),
            100,
            "query up has no time limit any more",
        ),
    ],
)
def test_a_gate_says_until_when_it_may_be_passed_and_what_happens_then(gate: Gate, seconds: int, outlook: str) -> None:
    state = standing([gate], ENDED, {}, ENDED + timedelta(seconds=seconds))

    assert state.outlook == outlook
