"""What several work items wait for, shown as one wait of their action."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.waiting import Awaited, WaitingFor, together
from tests.unit.tables import every_row

AT = datetime(2026, 11, 21, tzinfo=UTC)
ONE = WaitingFor(
    "SSH", "t on 1 node(s): a", AT, "a: refused", None, AT + timedelta(seconds=9), AT + timedelta(seconds=60)
)
TWO = WaitingFor("SSH", "t on 1 node(s): b", AT - timedelta(seconds=5), "b: no route", None, AT, None)
GATE = WaveGate("canary", 0, 0, 1, AT, "a")
OTHER = replace(GATE, group="b")
MANY = [replace(TWO, what=f"t on n{number}", since=AT + timedelta(seconds=number)) for number in range(5)]


@every_row(
    [
        ([ONE], "SSH", "t on 1 node(s): a", "a: refused"),
        ([ONE, TWO], "SSH", "t on 1 node(s): b; t on 1 node(s): a", "b: no route; a: refused"),
        (
            [ONE, replace(TWO, who="Ironic")],
            "Ironic, SSH",
            "t on 1 node(s): b; t on 1 node(s): a",
            "b: no route; a: refused",
        ),
        ([ONE, replace(ONE, last_answer="b: refused")], "SSH", "t on 1 node(s): a", "a: refused; b: refused"),
        (MANY, "SSH", "t on n0; t on n1; t on n2 and 2 more", "b: no route"),
    ],
)
def test_waits_are_one_since_the_first_began(waits: list[WaitingFor], who: str, what: str, last_answer: str) -> None:
    found = together(waits)

    assert (found.who, found.what, found.last_answer) == (who, what, last_answer)
    assert found.since == min(one.since for one in waits)
    assert found.next_attempt == min(one.next_attempt for one in waits if one.next_attempt)
    assert found.deadline == (ONE.deadline if ONE in waits else None)


@every_row(
    [
        ((), (GATE,), ()),
        (None, (), ()),
        (None, (GATE,), (GATE,)),
        ((OTHER,), (GATE,), (OTHER,)),
    ],
)
def test_a_wait_that_does_not_know_the_approvals_keeps_those_of_the_one_before(
    known: tuple[WaveGate, ...] | None, before: tuple[WaveGate, ...], found: tuple[WaveGate, ...]
) -> None:
    assert Awaited("MAAS", "work", gates=known).after(replace(ONE, gates=before), AT).gates == found
