"""One reading for all who need one: by a clock that the test moves, and by threads that wait for the same one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from shipyard_api.adapters.ironic.listing import SharedReading
from shipyard_api.ports.errors import Unavailable
from tests.fakes.clock import FakeClock
from tests.unit.tables import every_row
from tests.waiting import PATIENCE


def test_a_reading_serves_others_for_its_time_and_not_after_the_clock_was_set_back() -> None:
    clock, read = FakeClock(), iter("abc")
    shared = SharedReading(lambda: next(read), clock.now, 20.0)
    seen = [shared.recent(), shared.fresh()]
    for seconds in (0.0, 19.9, 0.1, -30.0):
        clock.advance(seconds)
        seen.append(shared.recent())
    assert seen == [None, "a", "a", "a", None, None]
    assert (shared.fresh(), shared.recent()) == ("b", "b")


@every_row([None, Unavailable("Peer", "list", "no answer")])
def test_those_who_come_while_it_is_read_wait_for_it_and_for_its_error(error: Unavailable | None) -> None:
    began, go_on, calls = threading.Event(), threading.Event(), []

    def read() -> str:
        calls.append(1)
        began.set()
        assert go_on.wait(PATIENCE)
        if error:
            raise error
        return "all"

    shared = SharedReading(read, FakeClock().now, 20.0)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(shared.fresh)
        assert began.wait(PATIENCE)
        others = [pool.submit(shared.recent) for _ in range(7)]
        go_on.set()
        # One that came too late for the reading that failed finds none.
        seen = {str(one.exception()) if one.exception() else one.result() for one in [first, *others]}
    assert seen <= ({str(error), None} if error else {"all"})
    assert len(calls) == 1
    assert shared.recent() == (None if error else "all")
