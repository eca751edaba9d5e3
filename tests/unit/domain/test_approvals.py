"""Which gate an operator's answer is about."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.domain.approvals import Approval, WaveGate, choose

T0 = datetime(2026, 11, 26, tzinfo=UTC)
A, B = WaveGate("a", "canary", 0, 0, 1, T0), WaveGate("b", "canary", 0, 1, 2, T0)
ALL = WaveGate("", "canary", 0, 0, 1, T0)


@pytest.mark.parametrize(
    ("written", "gates", "chosen"),
    [
        pytest.param({"approve": True}, [A], A, id="the only one"),
        pytest.param({"approve": False, "group": "b"}, [A, B], B, id="by group"),
        pytest.param({"approve": True, "wave": "canary"}, [ALL], ALL, id="of all groups"),
        pytest.param({"approve": True}, [A, B], "SeveralApprovals", id="several, none named"),
        pytest.param({"approve": True}, [], "NoSuchApproval", id="none"),
        pytest.param({"approve": True, "wave": "rest"}, [A], "NoSuchApproval", id="another wave"),
        pytest.param({}, [A], "NoAnswer", id="no answer"),
        pytest.param({"approve": "yes"}, [A], "NoAnswer", id="no boolean"),
        pytest.param({"approve": True, "ok": 1}, [A], "UnknownField", id="an unknown field"),
        pytest.param({"approve": True, "reason": "x" * 1001}, [A], "NoText", id="a long reason"),
    ],
)
def test_an_answer_is_about_one_open_gate(
    written: dict[str, Any], gates: list[WaveGate], chosen: WaveGate | str
) -> None:
    gate, faults = choose(written, gates)

    assert (gate or faults[0].name) == chosen


def test_an_approval_is_stored_and_said() -> None:
    given = Approval(B, False, "ann", T0, "fans too loud")

    assert Approval.from_json(given.to_json()) == given
    assert str(given) == "ann refused what follows wave canary of group b: fans too loud"
