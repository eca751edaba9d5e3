"""``/simulator``: what tests and demonstrations may see and change, and a real MAAS does not have."""

from typing import Any

import falcon

from shipyard_simulators.control import refuse
from shipyard_simulators.events import EventLog
from shipyard_simulators.maas.region import ChangeCause, Region
from shipyard_simulators.maas.seeding import place
from shipyard_simulators.maas.site import SiteInvalid, parse_site


class Log:
    """Everything so far: requests, and changes of machines."""

    def __init__(self, region: Region, log: EventLog) -> None:
        self._region, self._log = region, log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer all events; those of machines bear the time at which they happened."""
        resp.media = self._region.read(self._log.events)


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
            refuse(resp, cause.faults)
            return
        with self._region.transaction() as now:
            for seed in seeds:
                place(self._region, seed, now, ChangeCause("simulator"))
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
