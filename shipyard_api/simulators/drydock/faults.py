"""The service's own misbehaviour: requests that fail, hang or are cut off, as the scenario says."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from shipyard_api.simulators.drydock.clock import Clock
from shipyard_api.simulators.drydock.events import EventLog
from shipyard_api.simulators.fates import FaultAction, ServiceFault
from shipyard_api.simulators.scenario import Scenario

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

API = "/api/v1.0"
# These two break while they report an error, so theirs comes from the web framework.
_BREAK_REPORTING = (f"{API}/nodefilter", f"{API}/nodes")
_TITLES = {400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 502: "Bad Gateway"}
_WORDS = {401: "Unauthenticated", 403: "Forbidden", 500: "Unknown error"}


class ConnectionCut(ConnectionAbortedError):
    """Raised to make the server close the connection without an answer."""


class FaultyService:
    """A WSGI application around the real one. Requests to the simulator itself are never touched."""

    def __init__(self, application: Application, scenario: Callable[[], Scenario], clock: Clock, log: EventLog) -> None:
        self._application = application
        self._scenario = scenario
        self._clock = clock
        self._log = log
        self._lock = threading.Lock()
        self._played: Scenario | None = None
        self._chances: list[_Chance] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or mistreat it."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        fault = self._fault(method, path)
        if fault is None:
            return self._application(environ, start_response)
        self._log.write(self._clock.now(), "request_faulted", method=method, path=path, action=fault.action.value)
        if fault.action in (FaultAction.HANG, FaultAction.DELAY):
            time.sleep(self._clock.scaled(fault.seconds))
        if fault.action is FaultAction.DELAY:
            return self._application(environ, start_response)
        if fault.action in (FaultAction.ERROR_AFTER_EFFECT, FaultAction.DROP_AFTER_EFFECT):
            self._perform(environ)
        if fault.action in (FaultAction.ERROR, FaultAction.ERROR_AFTER_EFFECT):
            return _error(path, fault.status, start_response)
        raise ConnectionCut(fault.action.value)

    def _perform(self, environ: dict[str, Any]) -> None:
        """Let the request have its effect and throw the answer away."""
        answer = self._application(environ, lambda *_args: None)
        for _chunk in answer:
            pass

    def _fault(self, method: str, path: str) -> ServiceFault | None:
        if path.startswith("/simulator"):
            return None
        with self._lock:
            scenario = self._scenario()
            if scenario is not self._played:
                self._played = scenario
                self._chances = [
                    _Chance(fault, Random(f"{scenario.seed}/{index}"))  # noqa: S311  (repeatable, not secret)
                    for index, fault in enumerate(scenario.service)
                ]
            return next((chance.fault for chance in self._chances if chance.strikes(method, path)), None)


class _Chance:
    """One fault of the scenario with its own luck, so that faults do not disturb each other's sequence."""

    def __init__(self, fault: ServiceFault, random: Random) -> None:
        self.fault = fault
        self._random = random
        self._matched = 0

    def strikes(self, method: str, path: str) -> bool:
        paths = (path, path.removeprefix(API))
        if not fnmatchcase(method, self.fault.method) or not any(fnmatchcase(each, self.fault.path) for each in paths):
            return False
        self._matched += 1
        if self.fault.first is not None and self._matched > self.fault.first:
            return False
        return self._random.random() < self.fault.probability


def _error(path: str, status: int, start_response: Callable[..., Any]) -> list[bytes]:
    title = f"{status} {_TITLES.get(status, 'Error')}"
    if path in _BREAK_REPORTING and status >= 500:
        body: dict[str, Any] = {"title": title}
    else:
        body = {"type": "error", "message": _WORDS.get(status, "Unknown error"), "retry": False}
    content = json.dumps(body).encode()
    start_response(
        title,
        [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("X-Drydock-Req", str(uuid.uuid4())),
        ],
    )
    return [content]
