"""Which gate an operator's answer is about."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.approvals import Approval, WaveGate, choose
from tests.unit.tables import every_row

T0 = datetime(2026, 11, 26, tzinfo=UTC)
A, B = WaveGate("canary", 0, 0, 1, T0, "a"), WaveGate("canary", 0, 1, 2, T0, "b")
ALL = WaveGate("canary", 0, 0, 1, T0)


@every_row(
    {
        "the only one": ({"approve": True}, [A], A),
        "by group": ({"approve": False, "group": "b"}, [A, B], B),
        "of all groups": ({"approve": True, "wave": "canary"}, [ALL], ALL),
        "several, none named": ({"approve": True}, [A, B], "SeveralApprovals"),
        "none": ({"approve": True}, [], "NoSuchApproval"),
        "no answer": ({}, [A], "NoAnswer"),
        "an unknown field": ({"approve": True, "ok": 1}, [A], "UnknownField"),
        "a long reason": ({"approve": True, "reason": "x" * 1001}, [A], "NoText"),
    },
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
