"""The routes below ``/simulator``, for tests and demonstrations."""

from collections.abc import Callable
from typing import Any

import falcon

from shipyard_simulators.control import CurrentScenario
from shipyard_simulators.events import EventLog
from shipyard_simulators.hosts.host import SimulatedHost
from shipyard_simulators.hosts.hosts import Hosts
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Application

Look = Callable[[Callable[[], Any]], Any]


def create_app(hosts: Hosts, look: Look, log: EventLog) -> Application:
    """Return the WSGI application. ``look``: calls a function in the thread of the hosts."""

    def play(scenario: Scenario) -> None:
        hosts.scenario = scenario

    app = falcon.App()
    all_hosts = HostResources(hosts, look)
    app.add_route("/simulator/hosts", all_hosts)
    app.add_route("/simulator/hosts/{name}/restart", all_hosts, suffix="restart")
    app.add_route("/simulator/hosts/{name}/wipe", all_hosts, suffix="wipe")
    app.add_route("/simulator/log", Log(log))
    app.add_route("/simulator/scenario", CurrentScenario(lambda: hosts.scenario, play))
    return app


class Log:
    """The event log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all events that are kept, or those of one host."""
        name = req.get_param("host")
        resp.media = [event for event in self._log.events() if name is None or event.get("host") == name]


class HostResources:
    """The hosts."""

    def __init__(self, hosts: Hosts, look: Look) -> None:
        self._hosts, self._look = hosts, look

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return each with its addresses, outcomes, boots and open connections."""
        resp.media = self._look(lambda: {name: self._shown(host) for name, host in sorted(self._hosts.all.items())})

    def on_post_restart(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Restart a host."""
        self._change(resp, name, self._hosts.restart)

    def on_post_wipe(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Empty a host, as a new installation does."""
        self._change(resp, name, self._hosts.wipe)

    def _change(self, resp: falcon.Response, name: str, change: Callable[[SimulatedHost], None]) -> None:
        if (host := self._hosts.all.get(name)) is None:
            raise falcon.HTTPNotFound(description=f"there is no host {name}")
        self._look(lambda: change(host))
        resp.status = falcon.HTTP_204

    def _shown(self, host: SimulatedHost) -> dict[str, Any]:
        outcomes = {phase: self._hosts.outcome(host, phase).kind.value for phase in ("connect", "task")}
        return {
            "addresses": list(host.addresses),
            "outcomes": outcomes,
            "boots": host.boots,
            "connections": len(host.connections),
        }
