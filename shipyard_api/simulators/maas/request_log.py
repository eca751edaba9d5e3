"""The log of requests, each with a number that the changes it causes refer to, and the places for a few at a time."""

import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from shipyard_api.simulators.clock import Clock
from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.fates import FaultAction
from shipyard_api.simulators.server import Application

NUMBER, USER, OPERATION = "simulator.number", "simulator.user", "simulator.operation"
"""Where the environment of a request holds its number, who asked, and for what."""

_FAULT = "simulator.fault"


def note_fault(environ: dict[str, Any], action: FaultAction) -> None:
    """Leave a word for the log in the request that it is mistreated."""
    environ[_FAULT] = action.value


class RequestLog:
    """A WSGI application around the whole service. Requests to the simulator itself are not logged.

    ``places``: how many requests are served at once at the moment of asking; all others wait for their turn.
    ``first``: the number of the first request, beyond those that a former run gave.
    """

    def __init__(
        self, application: Application, clock: Clock, log: EventLog, *, places: Callable[[], int], first: int
    ) -> None:
        self._application = application
        self._clock, self._log, self._places = clock, log, places
        self._numbers = itertools.count(first)
        self._served = 0
        self._changed = threading.Condition()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on when there is room for it, and write down what became of it."""
        path = environ.get("PATH_INFO", "")
        if path.startswith("/simulator"):
            return self._application(environ, start_response)
        statuses: list[str] = []
        came = self._clock.now()

        def started(status: str, headers: Any, exc_info: Any = None) -> Any:
            statuses.append(status)
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        with self._changed:
            environ[NUMBER] = next(self._numbers)
            self._changed.wait_for(lambda: self._served < self._places())
            self._served += 1
            at_once = self._served
        begun = self._clock.now()
        try:
            return self._application(environ, started)
        finally:
            with self._changed:
                self._served -= 1
                self._changed.notify_all()
            now = self._clock.now()
            self._log.write(
                now,
                "request",
                number=environ[NUMBER],
                method=environ["REQUEST_METHOD"],
                path=path,
                query=environ.get("QUERY_STRING", ""),
                operation=environ.get(OPERATION),
                user=environ.get(USER),
                bytes=int(environ.get("CONTENT_LENGTH") or 0),
                status=int(statuses[-1][:3]) if statuses else None,
                fault=environ.get(_FAULT),
                waited=round(begun - came, 6),
                seconds=round(now - begun, 6),
                at_once=at_once,
            )
