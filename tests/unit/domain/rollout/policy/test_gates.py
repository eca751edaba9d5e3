"""When a gate is passed, and what happens at its limit."""

from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind, standing

ENDED = datetime(2026, 11, 23, tzinfo=UTC)
SOAK, ASK = Gate(GateKind.SOAK, 60), Gate(GateKind.APPROVAL, limit=100)


@pytest.mark.parametrize(
    ("gates", "answers", "seconds", "expected"),
    [
        pytest.param([], {}, 0, "passed", id="none"),
        pytest.param([SOAK], {}, 59, "0 until 60", id="a soak lasts"),
        pytest.param([SOAK], {}, 60, "passed", id="a soak ends"),
        pytest.param([SOAK, ASK], {}, 61, "1 until 160", id="the second begins when the first is passed"),
        pytest.param([ASK, SOAK], {0: (True, 10)}, 50, "1 until 70", id="an answer passes a gate at its time"),
        pytest.param([ASK], {0: (False, 10)}, 11, "0 failed by ops", id="a person refuses"),
        pytest.param([ASK], {}, 100, "0 failed by limit", id="the limit stops"),
        pytest.param([Gate(GateKind.APPROVAL, limit=100, at_limit=AtLimit.GO_ON)], {}, 100, "passed", id="or goes on"),
        pytest.param([Gate(GateKind.APPROVAL, limit=100, at_limit=AtLimit.PAUSE)], {}, 100, "0 paused", id="or pauses"),
        pytest.param([Gate(GateKind.APPROVAL)], {}, 10**7, "0", id="without a limit"),
        pytest.param([Gate(GateKind.QUERY, limit=100)], {}, 99, "0 until 100", id="a query that does not hold yet"),
        pytest.param([Gate(GateKind.QUERY, limit=100)], {}, 100, "0 failed by limit", id="nor at its limit"),
    ],
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


@pytest.mark.parametrize(
    ("gate", "seconds", "outlook"),
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
