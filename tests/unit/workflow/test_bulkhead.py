"""How many turns wait for each peer, by a clock that the test moves."""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from shipyard_api.domain.waiting import Awaited
from shipyard_api.workflow.bulkhead import LAG, TROUBLE, Bulkhead, peer_of
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row


def test_turns_wait_once_their_peer_has_left_one_of_them_without_an_answer_for_the_patience() -> None:
    clock = FakeClock()
    bulkhead = Bulkhead(clock.monotonic, patience=2.0)
    seen = []
    with bulkhead.calling("MAAS"), bulkhead.calling("Kubernetes"):
        for _ in range(3):
            seen.append(bulkhead.waiting())
            clock.advance(1.5)
    with bulkhead.calling("MAAS"):
        clock.advance(2.1)
        with bulkhead.calling("MAAS"), bulkhead.calling("Kubernetes"):
            seen.append(bulkhead.waiting())
    assert (seen, bulkhead.waiting()) == ([0, 0, 2, 2], 0)


@every_row([False, True])
def test_a_full_peer_takes_more_as_soon_as_one_call_ends_and_others_never_notice(failed: bool) -> None:
    clock = FakeClock()
    bulkhead = Bulkhead(clock.monotonic, patience=2.0, most=2)
    with bulkhead.calling("MAAS"):
        with pytest.raises(TimeoutError) if failed else ExitStack(), bulkhead.calling("MAAS"):
            assert not bulkhead.is_full("MAAS")
            clock.advance(2.1)
            assert (bulkhead.is_full("MAAS"), bulkhead.is_full("Kubernetes")) == (True, False)
            if failed:
                raise TimeoutError
        assert not bulkhead.is_full("MAAS")


def test_a_worker_lets_others_go_first_while_the_latest_call_of_a_peer_failed_and_less_as_time_passes() -> None:
    clock = FakeClock()
    bulkhead = Bulkhead(clock.monotonic)
    seen = [bulkhead.lag()]
    for peer, reached in (("MAAS", False), ("Kubernetes", False), ("Kubernetes", True), ("MAAS", True)):
        bulkhead.called(peer, reached=reached)
        seen.append(bulkhead.lag())
    bulkhead.called("MAAS", reached=False)
    for _ in range(3):
        clock.advance(TROUBLE / 2)
        seen.append(bulkhead.lag())
    assert seen == [0.0, LAG, LAG, LAG, 0.0, LAG / 2, 0.0, 0.0]


@every_row([(31, 1.1, False), (32, 0.9, False), (32, 1.1, True)])
def test_a_peer_is_full_with_32_turns_once_one_of_them_has_waited_for_a_second(
    turns: int, seconds: float, full: bool
) -> None:
    clock = FakeClock()
    bulkhead = Bulkhead(clock.monotonic)
    with ExitStack() as outside:
        outside.enter_context(bulkhead.calling("MAAS"))
        clock.advance(seconds)
        for _ in range(turns - 1):
            outside.enter_context(bulkhead.calling("MAAS"))
        assert bulkhead.is_full("MAAS") is full


@every_row([(0, 1.5), (30, 0.75), (59, 0.025), (60, 0.0)])
def test_a_failed_call_delays_a_worker_by_a_second_and_a_half_and_is_forgotten_after_a_minute(
    seconds: int, lag: float
) -> None:
    clock = FakeClock()
    bulkhead = Bulkhead(clock.monotonic)
    bulkhead.called("MAAS", reached=False)
    clock.advance(seconds)
    assert bulkhead.lag() == pytest.approx(lag)


@every_row([(Awaited("MAAS", "n1"), "MAAS"), (None, "SimpleNamespace")])
def test_units_that_name_no_peer_share_the_one_of_their_sort(awaited: Awaited | None, peer: str) -> None:
    unit: Any = SimpleNamespace(awaits=lambda state, asked: awaited)
    assert peer_of(unit, None, "question") == peer
