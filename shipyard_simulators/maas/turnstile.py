"""Request numbers, which changes refer to, and the limit of concurrent requests."""

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.server import Application

NUMBER, USER, OPERATION = "simulator.number", "simulator.user", "simulator.operation"
"""The key in a request's environment for its number, its user and its operation."""

MACHINES, COST = "simulator.machines", "simulator.cost"
"""The key for the number of machines in the answer, and for the seconds that they cost the region."""

_WAITED, _SECONDS, _AT_ONCE = "simulator.waited", "simulator.seconds", "simulator.at_once"


class Turnstile:
    """A WSGI application that wraps the whole service. Requests to ``/simulator`` pass at once.

    ``places``: returns how many requests may be served at once; others wait. ``first``: the number of the first
    request, beyond those of an earlier run.
    """

    def __init__(self, application: Application, clock: Clock, *, places: Callable[[], int], first: int) -> None:
        self._application = application
        self._clock, self._places = clock, places
        self._numbers = itertools.count(first)
        self._served = 0
        self._changed = threading.Condition()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on when there is room for it, and measure the wait and the answer."""
        if environ.get("PATH_INFO", "").startswith("/simulator"):
            return self._application(environ, start_response)
        came = self._clock.now()
        with self._changed:
            environ[NUMBER] = next(self._numbers)
            self._changed.wait_for(lambda: self._served < self._places())
            self._served += 1
            environ[_AT_ONCE] = self._served
        begun = self._clock.now()
        environ[_WAITED] = round(begun - came, 6)
        try:
            return self._application(environ, start_response)
        finally:
            with self._changed:
                self._served -= 1
                self._changed.notify_all()
            environ[_SECONDS] = round(self._clock.now() - begun, 6)


def passage(environ: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the fields that the request log adds for a served request."""
    return {
        "number": environ[NUMBER],
        "operation": environ.get(OPERATION),
        "user": environ.get(USER),
        "waited": environ[_WAITED],
        "seconds": environ[_SECONDS],
        "at_once": environ[_AT_ONCE],
        "machines": environ.get(MACHINES, 0),
        "cost": round(environ.get(COST, 0.0), 6),
    }
