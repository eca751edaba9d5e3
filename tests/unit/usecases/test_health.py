"""Health: what fails a check, and what makes a process unready."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from shipyard_api.domain.histories import Replication
from shipyard_api.ports.state.measures import HistoryState, QueueHealth
from shipyard_api.usecases.health import Answered, CheckHealth, ClockSkew
from tests.unit.tables import table

CALM = QueueHealth(0.0, 1.0)


ALONE = Replication(standbys=0, synchronous=0, names="", commit="on")
FIRST = HistoryState(1, "", None, 0)
SECOND = HistoryState(2, "a standby became the primary", datetime(2026, 3, 2, 9, tzinfo=UTC), 0)


def failed(
    queue: QueueHealth,
    answers: Mapping[str, Answered],
    replication: Replication = ALONE,
    history: HistoryState = FIRST,
) -> dict[str, str]:
    measures = SimpleNamespace(queue=lambda: queue, replication=lambda: replication, history=lambda: history)
    transaction = SimpleNamespace(measures=measures)
    store = SimpleNamespace(read=lambda query: query(transaction))
    skew = SimpleNamespace(answers=lambda: answers)
    checks = CheckHealth(cast(Any, store), lambda: None, cast(ClockSkew, skew))()
    assert [one.name for one in checks if one.critical] == ["database"]
    return {one.name: one.detail for one in checks if not one.ok}


@table(
    ("queue", "answers", "expected"),
    {
        "calm": (CALM, {"Drydock": Answered(True, 299.0), "database": Answered(True, -299.0)}, {}),
        "at the limits": (QueueHealth(60.0, 60.0), {}, {}),
        "late": (QueueHealth(61.0, 1.0), {}, {"queue": "a job has been due for 61 s"}),
        "silent workers": (QueueHealth(0.0, 61.0), {}, {"workers": "no heartbeat of any worker for 61 s"}),
        "no worker": (QueueHealth(0.0, None), {}, {"workers": "no worker is registered"}),
        "silent peer": (CALM, {"MAAS": Answered(False, None)}, {"MAAS": "it does not answer"}),
        "a silent peer that was asked": (
            CALM,
            {"MAAS": Answered(False, None, at=-300.0), "Drydock": Answered(True, 0.0, at=-300.0)},
            {"MAAS": "it does not answer, asked 300 s ago"},
        ),
        "skewed clock": (CALM, {"MAAS": Answered(True, -301.0)}, {"clocks": "off by more than 5 minutes: MAAS -301 s"}),
    },
)
def test_checks(
    queue: QueueHealth,
    answers: Mapping[str, Answered],
    expected: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    assert failed(queue, answers) == expected


def test_a_fail_over_that_may_lose_writes_is_said_before_and_after() -> None:
    asynchronous = Replication(standbys=1, synchronous=0, names="", commit="on")
    assert failed(CALM, {}, asynchronous, SECOND) == {"replication": asynchronous.finding}

    asking = "a standby became the primary, noticed at 2026-03-02 09:00:00 UTC; 1 action(s) ask the peers"
    assert failed(CALM, {}, history=replace(SECOND, reconciling=1)) == {"history": f"{asking} what they have been sent"}
