"""When Keystone is asked, and when nobody asks it: a clock that the test moves, and no Keystone."""

from collections.abc import Callable

import pytest

from shipyard_api.adapters.keystone.circuit_breaker import PAUSE_SECONDS, CircuitBreaker
from shipyard_api.ports.errors import Busy, Unavailable

SLOW = 2.0


class Keystone:
    """Requests to it take time on a simulated clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked = 0
        self.breaker = CircuitBreaker(at_once=2, slow_seconds=SLOW, monotonic=lambda: self.now)

    def call(self, seconds: float = 0.1, meanwhile: Callable[[], object] = lambda: None) -> str:
        def question() -> str:
            self.asked += 1
            self.now += seconds
            meanwhile()
            return "an answer"

        return self.breaker.call(question)

    def fail(self, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
        def question() -> str:
            self.asked += 1
            self.now += seconds
            meanwhile()
            raise Unavailable("Keystone", "x", f"failed after {seconds} s")

        with pytest.raises(Unavailable, match="failed after"):
            self.breaker.call(question)

    def refuses(self) -> bool:
        asked = self.asked
        try:
            self.call()
        except Unavailable:
            assert self.asked == asked
            return True
        return False


def test_after_a_silence_nobody_asks_for_a_while_and_then_whoever_comes_finds_out() -> None:
    keystone = Keystone()
    keystone.fail(SLOW)

    assert keystone.refuses()
    keystone.now += PAUSE_SECONDS - 0.01
    assert keystone.refuses()
    keystone.now += 0.02
    assert keystone.call() == "an answer"
    assert not keystone.refuses()


def test_while_one_finds_out_the_others_do_not_wait_for_it() -> None:
    keystone = Keystone()
    keystone.fail(SLOW)
    keystone.now += PAUSE_SECONDS
    refused: list[bool] = []

    keystone.fail(SLOW, lambda: refused.append(keystone.refuses()))

    assert refused == [True]
    assert keystone.refuses()


def test_one_who_never_finds_out_does_not_keep_the_next_from_trying() -> None:
    keystone = Keystone()
    keystone.fail(SLOW)
    keystone.now += PAUSE_SECONDS
    answers: list[str] = []

    keystone.fail(PAUSE_SECONDS, lambda: answers.append(keystone.call()))

    assert answers == ["an answer"]


def test_only_a_silence_counts_for_others() -> None:
    keystone = Keystone()
    for _ in range(5):
        keystone.fail(SLOW - 0.01)  # it comes quickly
    assert keystone.call() == "an answer"
    keystone.fail(SLOW, lambda: keystone.call(0.0))  # one is lost while others are answered
    assert not keystone.refuses()
    keystone.fail(SLOW)
    keystone.now += PAUSE_SECONDS
    keystone.fail(0.1)  # a quick failure ends a silence
    assert not keystone.refuses()


def test_a_failure_of_another_kind_is_no_silence_and_gives_back_its_place() -> None:
    keystone = Keystone()

    def broken() -> str:
        keystone.now += 60
        raise RuntimeError("a bug")

    for _ in range(5):
        with pytest.raises(RuntimeError):
            keystone.breaker.call(broken)
    assert not keystone.refuses()


def test_beyond_the_bound_callers_are_told_to_come_back() -> None:
    keystone = Keystone()
    told: list[float | None] = []

    def third() -> None:
        with pytest.raises(Busy) as caught:
            keystone.call()
        told.append(caught.value.retry_after)

    keystone.call(meanwhile=lambda: keystone.call(meanwhile=third))

    assert told == [1]
    assert keystone.asked == 2
    assert keystone.call(meanwhile=keystone.call) == "an answer"
