"""Faults of a service: requests that fail, hang, are cut off, are half answered, or take effect late."""

import threading
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.outcomes import FaultAction, ServiceFault
from shipyard_simulators.scenario import read_fault_action, read_service_fault
from shipyard_simulators.scenario_reader import Reader
from shipyard_simulators.server import Application

StartResponse = Callable[..., Any]

PAUSE = "simulator.pause"
"""The key in a request's environment for the seconds that its handler pauses."""


class ConnectionCut(ConnectionAbortedError):
    """Raised to make the server close the connection without an answer."""


def read_faults(content: object) -> tuple[list[ServiceFault], list[str]]:
    """Return the faults that a list of mappings describes, and a list of everything wrong with it."""
    root, actions = Reader({"faults": content}), {action.value: action for action in FaultAction}
    faults = [read_service_fault(each, read_fault_action(each, actions)) for each in root.items("faults")]
    return faults, root.faults


class FaultyService:
    """A WSGI application that wraps the real one and plays faults. It never touches ``/simulator``.

    ``api``: the prefix that the paths of faults may omit. ``error`` answers a path and a status in the service's own
    format. ``struck`` is called with every failed request, before it fails.
    """

    def __init__(
        self,
        application: Application,
        clock: Clock,
        *,
        api: str,
        error: Callable[[str, int, StartResponse], Iterable[bytes]],
        struck: Callable[[dict[str, Any], FaultAction], None],
    ) -> None:
        self._application = application
        self._clock = clock
        self._api = api
        self._error = error
        self._struck = struck
        self._lock = threading.Lock()
        self._chances: list[_Chance] = []

    def play(self, faults: Sequence[ServiceFault], *, seed: int = 0) -> None:
        """Replace all faults."""
        chances = [
            _Chance(fault, Random(f"{seed}/{index}"))  # noqa: S311  (repeatable, not secret)
            for index, fault in enumerate(faults)
        ]
        with self._lock:
            self._chances = chances

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request, or play a fault on it."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        fault = self._fault(method, path, environ.get("QUERY_STRING", ""))
        if fault is None:
            return self._application(environ, start_response)
        self._struck(environ, fault.action)
        if fault.action in (FaultAction.HANG, FaultAction.DELAY):
            self._clock.sleep(self._clock.scaled(fault.seconds))
        if fault.action is FaultAction.PAUSE:
            environ[PAUSE] = self._clock.scaled(fault.seconds)
        if fault.action in (FaultAction.DELAY, FaultAction.PAUSE):
            return self._application(environ, start_response)
        if fault.action is FaultAction.TRUNCATE:
            whole = b"".join(self._application(environ, start_response))
            return [whole[: len(whole) // 2]]
        if fault.action in (FaultAction.ERROR_AFTER_EFFECT, FaultAction.DROP_AFTER_EFFECT):
            self._perform(environ)
        if fault.action in (FaultAction.ERROR, FaultAction.ERROR_AFTER_EFFECT):
            return self._error(path, fault.status, start_response)
        raise ConnectionCut(fault.action.value)

    def _perform(self, environ: dict[str, Any]) -> None:
        """Execute the request and discard the answer."""
        answer = self._application(environ, lambda *_args: None)
        for _chunk in answer:
            pass

    def _fault(self, method: str, path: str, query: str) -> ServiceFault | None:
        if path.startswith("/simulator"):
            return None
        paths = [path, path.removeprefix(self._api)]
        if query:
            # Some services name the operation in the query.
            paths += [f"{each}?{query}" for each in paths]
        with self._lock:
            return next((chance.fault for chance in self._chances if chance.strikes(method, paths)), None)


class _Chance:
    """A fault with its own random numbers, so that faults do not affect each other's sequence."""

    def __init__(self, fault: ServiceFault, random: Random) -> None:
        self.fault = fault
        self._random = random
        self._matched = 0

    def strikes(self, method: str, paths: Sequence[str]) -> bool:
        if not fnmatchcase(method, self.fault.method) or not any(fnmatchcase(each, self.fault.path) for each in paths):
            return False
        self._matched += 1
        if self.fault.first is not None and self._matched > self.fault.first:
            return False
        return self._random.random() < self.fault.probability
