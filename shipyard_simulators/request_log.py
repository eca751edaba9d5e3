"""The request log: one event per request, written when it has been answered or has failed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.outcomes import FaultAction
from shipyard_simulators.server import Application

EVENT = "request"

_FAULT = "simulator.fault"


def note_fault(environ: dict[str, Any], action: FaultAction) -> None:
    """Record in the request that a fault was played on it."""
    environ[_FAULT] = action.value


def _nothing(_environ: Mapping[str, Any]) -> Mapping[str, object]:
    return {}


class RequestLog:
    """A WSGI application that wraps the whole service and logs its requests, except those to ``/simulator``.

    ``also``: returns further fields for a request that has been served.
    """

    def __init__(
        self,
        application: Application,
        clock: Clock,
        log: EventLog,
        *,
        also: Callable[[Mapping[str, Any]], Mapping[str, object]] = _nothing,
    ) -> None:
        self._application = application
        self._clock, self._log, self._also = clock, log, also

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on and log the result."""
        path = environ.get("PATH_INFO", "")
        if path.startswith("/simulator"):
            return self._application(environ, start_response)
        statuses: list[str] = []
        sizes: list[int] = []

        def started(status: str, headers: Any, exc_info: Any = None) -> Any:
            statuses.append(status)
            sizes.extend(int(value) for name, value in headers if name.lower() == "content-length")
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        try:
            return self._application(environ, started)
        finally:
            self._log.write(
                self._clock.now(),
                EVENT,
                method=environ["REQUEST_METHOD"],
                path=path,
                query=environ.get("QUERY_STRING", ""),
                bytes=int(environ.get("CONTENT_LENGTH") or 0),
                sent=sizes[-1] if sizes else 0,
                status=int(statuses[-1][:3]) if statuses else None,
                fault=environ.get(_FAULT),
                **self._also(environ),
            )
