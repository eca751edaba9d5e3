"""The torture itself: its runs are alike, its list of faults is whole, and its page says what was run."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.torture.faults import KINDS, SURVIVED, NotHere
from tests.torture.plan import plan_of
from tests.torture.record import PAGE, page, read
from tests.torture.run import played
from tests.torture.strikes import STRIKES

TABLE = ROOT / "docs" / "explanation" / "what-survives.md"


def test_each_row_of_what_survives_has_a_fault_or_a_reason() -> None:
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [line.removeprefix("| ").partition(" | ")[0] for line in lines]
    assert rows[0] == "fault"
    assert rows[1:] == list(SURVIVED), "add the row to SURVIVED, with the faults that play it"


def test_each_kind_of_fault_strikes_and_is_in_the_table_or_in_random_runs() -> None:
    named = {kind for faults in SURVIVED.values() if not isinstance(faults, NotHere) for kind in faults}
    assert named <= KINDS.keys()
    assert STRIKES.keys() == KINDS.keys()


def test_a_seed_has_one_history_and_keeps_every_promise(database_url: str) -> None:
    first, second = (played(database_url, plan_of(9, "ironic")) for _ in range(2))
    assert list(first.complaints) == []
    assert first.text == second.text
    assert first.faults


def test_the_page_is_written_from_the_record() -> None:
    assert PAGE.read_text("utf-8") == page(read()), "run ./dev torture --page"
