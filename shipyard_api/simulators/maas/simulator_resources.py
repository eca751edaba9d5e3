"""``/simulator``: what tests and demonstrations may see and change, and a real MAAS does not have."""

from typing import Any

import falcon
import yaml

from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.fates import ServiceFault
from shipyard_api.simulators.faults import FaultyService, read_faults
from shipyard_api.simulators.maas.furnishing import place, play
from shipyard_api.simulators.maas.region import Cause, Region
from shipyard_api.simulators.maas.site import SiteInvalid, parse_site
from shipyard_api.simulators.scenario import ScenarioInvalid, parse_scenario


class Log:
    """Everything so far: requests, and changes of machines."""

    def __init__(self, region: Region, log: EventLog) -> None:
        self._region, self._log = region, log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer all events; those of machines bear the time at which they happened."""
        resp.media = self._region.read(self._log.events)


class Requests:
    """The requests so far."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer all of them in the order of their ends."""
        resp.media = [each for each in self._log.events() if each["event"] == "request"]


class Machines:
    """The machines there are and were, each with all that ever happened to it."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer them in the order in which they came."""
        resp.media = self._region.read(self._histories)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Put the machines of the body there, or change those of their names, as a site file would."""
        try:
            seeds = parse_site(req.bounded_stream.read().decode("utf-8", "replace"))
        except SiteInvalid as cause:
            resp.status = falcon.HTTP_400
            resp.media = {"faults": list(cause.faults)}
            return
        with self._region.transaction() as now:
            for seed in seeds:
                place(self._region, seed, now, Cause("simulator"))
        self.on_get(req, resp)

    def _histories(self) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for entry in self._region.history:
            machine = self._region.machines.get(entry["system_id"])
            shown = found.setdefault(
                entry["system_id"],
                {
                    "machine": machine.hostname if machine else entry["machine"],
                    "system_id": entry["system_id"],
                    "status": machine.status.label if machine else None,
                    "power_state": machine.power_state if machine else None,
                    "owner": machine.owner if machine else None,
                    "agent_name": machine.agent_name if machine else None,
                    "user_data": machine.user_data if machine else None,
                    "changes": [],
                },
            )
            shown["changes"].append(entry)
        return list(found.values())


class CurrentScenario:
    """The scenario being played."""

    def __init__(self, region: Region, service: FaultyService) -> None:
        self._region, self._service = region, service

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer which one it is."""
        scenario = self._region.scenario
        resp.media = {"name": scenario.name, "description": scenario.description}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Play the scenario of the body from now on; what is under way goes on as it was."""
        try:
            scenario = parse_scenario(req.bounded_stream.read().decode("utf-8", "replace"))
        except ScenarioInvalid as cause:
            resp.status = falcon.HTTP_400
            resp.media = {"faults": list(cause.faults)}
            return
        play(self._region, scenario)
        self._service.play(scenario.service, seed=scenario.seed)
        self.on_get(req, resp)


class Faults:
    """The requests that go wrong."""

    def __init__(self, service: FaultyService) -> None:
        self._service = service

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Play the faults of the body from now on, instead of those before."""
        try:
            content = yaml.safe_load(req.bounded_stream.read())
        except yaml.YAMLError as cause:
            faults: list[ServiceFault] = []
            wrong = [f"not YAML that can be read: {' '.join(str(cause).split())}"]
        else:
            faults, wrong = read_faults(content)
        if wrong:
            resp.status = falcon.HTTP_400
            resp.media = {"faults": wrong}
            return
        self._service.play(faults)
        resp.media = {"count": len(faults)}

    def on_delete(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Play no faults any more."""
        self._service.play([])
        resp.status = falcon.HTTP_204
