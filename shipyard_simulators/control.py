"""The routes below ``/simulator`` that every simulator has. They are for tests; no real peer has them."""

from collections.abc import Callable, Sequence

import falcon
import yaml

from shipyard_simulators import request_log
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService, read_faults
from shipyard_simulators.outcomes import ServiceFault
from shipyard_simulators.scenario import Scenario, ScenarioInvalid, parse_scenario


class Requests:
    """The log of requests."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return all requests, in the order in which they ended."""
        resp.media = [each for each in self._log.events() if each["event"] == request_log.EVENT]


class CurrentScenario:
    """The current scenario: ``current`` returns it, ``play`` replaces it."""

    def __init__(
        self,
        current: Callable[[], Scenario],
        play: Callable[[Scenario], None],
        service: FaultyService | None = None,
    ) -> None:
        self._current, self._play, self._service = current, play, service

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return its name."""
        scenario = self._current()
        resp.media = {"name": scenario.name, "description": scenario.description}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Replace the scenario by the one in the body. Running work keeps its plan."""
        try:
            scenario = parse_scenario(req.bounded_stream.read().decode("utf-8", "replace"))
        except ScenarioInvalid as cause:
            refuse(resp, cause.faults)
            return
        self._play(scenario)
        if self._service is not None:
            self._service.play(scenario.service, seed=scenario.seed)
        self.on_get(req, resp)


class Faults:
    """The faults of the service."""

    def __init__(self, service: FaultyService) -> None:
        self._service = service

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Replace all faults by those in the body."""
        faults: list[ServiceFault] = []
        try:
            faults, wrong = read_faults(yaml.safe_load(req.bounded_stream.read()))
        except yaml.YAMLError as cause:
            wrong = [f"not YAML that can be read: {' '.join(str(cause).split())}"]
        if wrong:
            refuse(resp, wrong)
            return
        self._service.play(faults)
        resp.media = {"count": len(faults)}

    def on_delete(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Remove all faults."""
        self._service.play([])
        resp.status = falcon.HTTP_204


def refuse(resp: falcon.Response, faults: Sequence[str]) -> None:
    """Reject a body with 400 and the list of its faults."""
    resp.status = falcon.HTTP_400
    resp.media = {"faults": list(faults)}
