"""The torture itself: its runs are alike, its list of faults is whole, and its page says what was run."""

from __future__ import annotations

import signal
from dataclasses import replace
from unittest.mock import patch

import pytest

from shipyard_api.workflow.attempts import Attempts
from tests.conftest import ROOT
from tests.torture.faults import KINDS, SURVIVED, NotHere
from tests.torture.plan import Deed, plan_of
from tests.torture.record import PAGE, page, read
from tests.torture.run import ended_by_signals, played
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


def test_a_worker_that_sends_again_without_looking_is_found(database_url: str) -> None:
    plan = plan_of(23, "drydock")
    kills = [Deed(5.0 * number, "kill") for number in range(30)]
    with patch.object(Attempts, "_find", lambda *_: None):
        found = played(database_url, replace(plan, faults=kills, actions=plan.actions[:1], operators=[]))
    assert {complaint.split(": ")[1] for complaint in found.complaints} == {"effects_once"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_after_its_seed(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with ended_by_signals() as is_ended:
        assert not is_ended.is_set()
        signal.raise_signal(number)
        assert is_ended.is_set()
    assert signal.getsignal(number) is before


def test_the_page_is_written_from_the_record() -> None:
    assert PAGE.read_text("utf-8") == page(read()), "run ./dev torture --page"
