"""What is at work on nodes that are taken down, read from the journal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import JournalEntry, JournalFact
from shipyard_api.domain.facts.teardown import TeardownChanged, TeardownWaits
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.order import Operation, Outcome
from shipyard_api.domain.teardown_progress import TeardownAtWork, teardowns

N1, N2 = NodeName("n1"), NodeName("n2")
BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DRAIN, CLEAR = Operation.DRAIN, Operation.CLEAR_LABELS


def entries(*facts: JournalFact) -> list[JournalEntry]:
    """One entry a second."""
    return [
        JournalEntry(number, 1, StepId("destroy_nodes"), BEGAN + timedelta(seconds=number), "worker", fact)
        for number, fact in enumerate(facts)
    ]


def test_each_node_has_the_operation_that_has_begun_with_its_latest_waits() -> None:
    journal = entries(
        TeardownChanged(N1, DRAIN, Outcome.RUNNING),
        TeardownChanged(N2, DRAIN, Outcome.RUNNING),
        TeardownWaits(N1, DRAIN, ("default/a: …",)),
        TeardownWaits(N1, DRAIN, ("default/b: …",)),
        TeardownWaits(N2, DRAIN, ("default/c: …",)),
        TeardownChanged(N2, DRAIN, Outcome.DONE),
        TeardownChanged(N2, CLEAR, Outcome.RUNNING),
        TeardownWaits(N2, DRAIN, ("too late",)),
    )
    assert teardowns(journal) == [
        TeardownAtWork(N1, DRAIN, BEGAN, ("default/b: …",)),
        TeardownAtWork(N2, CLEAR, BEGAN + timedelta(seconds=6)),
    ]


def test_an_operation_that_may_not_begin_yet_is_shown_with_what_it_waits_for() -> None:
    waits = TeardownWaits(N1, CLEAR, ("etcd cluster a: no endpoint returned a member list",))
    drained = (TeardownChanged(N1, DRAIN, Outcome.RUNNING), TeardownChanged(N1, DRAIN, Outcome.DONE))

    assert teardowns(entries(*drained, waits)) == [
        TeardownAtWork(N1, CLEAR, BEGAN + timedelta(seconds=2), waits.reasons)
    ]
    assert teardowns(entries(waits, TeardownChanged(N1, CLEAR, Outcome.REFUSED))) == []
    begun = TeardownAtWork(N1, CLEAR, BEGAN + timedelta(seconds=1))
    assert teardowns(entries(waits, TeardownChanged(N1, CLEAR, Outcome.RUNNING))) == [begun]


def test_nothing_is_at_work_once_it_has_ended() -> None:
    journal = entries(TeardownChanged(N1, DRAIN, Outcome.RUNNING), TeardownChanged(N1, DRAIN, Outcome.FAILED))
    assert teardowns(journal) == []
