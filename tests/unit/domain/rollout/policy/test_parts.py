"""How waves share nodes out, how budgets count, and when a gate is passed."""

from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget, domains
from shipyard_api.domain.rollout.policy.gates import Answer, AtLimit, Gate, GateKind, standing
from shipyard_api.domain.rollout.policy.waves import Course, Wave
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import GroupName

NODES = [NodeName(f"n{number}") for number in range(1, 8)]
RACK_2 = (Selector(rack_names=frozenset({"r2"})),)


@pytest.mark.parametrize(
    ("waves", "shared"),
    [
        pytest.param([], ["n1 n2 n3 n4 n5 n6 n7"], id="none: all nodes are the rest"),
        pytest.param([Wave("c", Amount(2))], ["n1 n2", "n3 n4 n5 n6 n7"], id="a number"),
        pytest.param([Wave("c", Amount(1, percent=True))], ["n1", "n2 n3 n4 n5 n6 n7"], id="a share is rounded up"),
        pytest.param(
            [Wave("c", Amount(1)), Wave("d", Amount(50, percent=True))],
            ["n1", "n2 n3 n4 n5", "n6 n7"],
            id="a share is one of all nodes",
        ),
        pytest.param([Wave("c", None, RACK_2)], ["n5 n6", "n1 n2 n3 n4 n7"], id="selected nodes"),
        pytest.param([Wave("c", Amount(1), RACK_2)], ["n5", "n1 n2 n3 n4 n6 n7"], id="some of the selected nodes"),
        pytest.param([Wave("c", Amount(9)), Wave("d", Amount(1))], ["n1 n2 n3 n4 n5 n6 n7"], id="too many"),
    ],
)
def test_nodes_are_shared_out_in_order_of_name(waves: list[Wave], shared: list[str]) -> None:
    chosen = {wave.name: frozenset({NodeName("n5"), NodeName("n6")}) for wave in waves if wave.selectors}

    course = Course.of(GroupName("g"), waves, NODES, chosen)

    assert [" ".join(sorted(nodes)) for _, nodes in course.waves] == shared


def test_each_value_of_a_label_has_the_budget() -> None:
    topology = {node: {"rack": "r1" if node < "n4" else "r2"} for node in NODES[:6]}
    budgets = (Budget("racks", "rack", Amount(34, percent=True)), Budget("site", max_lost=Amount(50, percent=True)))

    found = domains(budgets, dict.fromkeys(NODES), topology)

    assert [(str(one), len(one.nodes), one.unavailable, one.lost) for one in found] == [
        ("budget racks of rack r1", 3, 1, None),
        ("budget racks of rack r2", 3, 1, None),
        ("budget site", 7, None, 3),
    ]


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
