"""The log of requests: one event each, when its answer is ready or it has gone wrong."""

from collections.abc import Callable, Iterable
from typing import Any

from shipyard_api.simulators.clock import Clock
from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.fates import FaultAction
from shipyard_api.simulators.server import Application

_FAULT = "simulator.fault"


def note_fault(environ: dict[str, Any], action: FaultAction) -> None:
    """Leave a word for the log in the request that it is mistreated."""
    environ[_FAULT] = action.value


class RequestLog:
    """A WSGI application around the whole service. Requests to the simulator itself are not logged."""

    def __init__(self, application: Application, clock: Clock, log: EventLog) -> None:
        self._application = application
        self._clock = clock
        self._log = log

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on, and write down what became of it."""
        if environ.get("PATH_INFO", "").startswith("/simulator"):
            return self._application(environ, start_response)
        statuses: list[int] = []

        def started(status: str, headers: Any, exc_info: Any = None) -> Any:
            statuses.append(int(status[:3]))
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        try:
            return self._application(environ, started)
        finally:
            self._log.write(
                self._clock.now(),
                "request",
                method=environ["REQUEST_METHOD"],
                path=environ.get("PATH_INFO", ""),
                query=environ.get("QUERY_STRING", ""),
                version=environ.get("HTTP_X_OPENSTACK_IRONIC_API_VERSION"),
                status=statuses[-1] if statuses else None,
                fault=environ.get(_FAULT),
            )
