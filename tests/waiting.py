"""Waiting in real time for what another program or thread does."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

# Seconds that nothing takes, even on a slow machine beside other work: after them a test that would hang fails.
PATIENCE = 600.0

T = TypeVar("T")


def until(
    happened: Callable[[], T],
    why: Callable[[], object] = lambda: "it never happened",
    *,
    every: float = 0.02,
    but: type[Exception] | tuple[()] = (),
) -> T:
    """Wait until the function returns something true, and return that; fail with ``why`` if it never does.

    An empty list is not true. ``every``: seconds between two looks. ``but``: an error that means that it has not
    happened yet.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(but):
            if found := happened():
                return found
        assert time.monotonic() < deadline, why()
        time.sleep(every)
