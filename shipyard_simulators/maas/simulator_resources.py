"""The routes below ``/simulator``, for tests and demonstrations. A real MAAS has none of them."""

from typing import Any

import falcon

from shipyard_simulators.control import refuse
from shipyard_simulators.events import EventLog
from shipyard_simulators.maas.region import ChangeCause, Region
from shipyard_simulators.maas.seeding import place
from shipyard_simulators.maas.site import SiteInvalid, parse_site


class Log:
    """The event log: requests, and changes of machines."""

    def __init__(self, region: Region, log: EventLog) -> None:
        self._region, self._log = region, log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return all events; a change of a machine has the time at which it happened."""
        resp.media = self._region.read(self._log.events)


class Machines:
    """All machines, past ones included, each with its whole history."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return them in order of creation."""
        resp.media = self._region.read(self._histories)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Add the machines of the body, or change those of the same name, as a site file does."""
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
