"""The whole Promenade simulator and its port."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.promenade import resources, wire
from shipyard_simulators.promenade.site import FAILURES, PromenadeSite
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Application, Simulated, in_thread


class PromenadeSimulator(Simulated):
    """A simulated Promenade on 127.0.0.1.

    ``time_scale``: real seconds per nominal second; ``clock`` replaces it.
    ``nodes``: those that Kubernetes has. ``teardown``: whether it has the teardown API; no released one does.
    ``token``: the token that clients must send (None: any client is accepted).
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        nodes: Iterable[str] = (),
        teardown: bool = True,
        token: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock, log = clock or Clock(time_scale), EventLog(log_file)
        self.site = PromenadeSite(clock, nodes, teardown=teardown)
        super().__init__(_app(self.site, scenario or Scenario(), clock, log, token), port, log)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._log.events()


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[PromenadeSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of PromenadeSimulator."""
    return in_thread(PromenadeSimulator(scenario, **options))


def _app(site: PromenadeSite, scenario: Scenario, clock: Clock, log: EventLog, token: str | None) -> Application:
    app = falcon.App(middleware=[wire.Headers()])
    if token:
        app.add_middleware(resources.Tokens(token))
    app.add_error_handler(falcon.HTTPError, wire.refuse_as_framework)
    app.add_error_handler(wire.PromenadeError, wire.refuse)
    service = FaultyService(app, clock, api=wire.API, error=wire.simulated_fault, struck=request_log.note_fault)
    service.play(scenario.service, seed=scenario.seed)
    app.add_route("/versions", resources.Versions())
    app.add_route(f"{wire.API}/health", resources.Health())
    app.add_route(f"{wire.API}/validatedesign", resources.ValidateDesign())
    if site.teardown:
        for operation in FAILURES:
            app.add_route(f"{wire.API}/nodes/{{node}}/{operation}", resources.Operation(site, operation))
        app.add_route(f"{wire.API}/etcd-cluster-health-statuses", resources.EtcdHealth(site))
    own = resources.Control(site)
    app.add_route("/simulator/nodes", own, suffix="nodes")
    app.add_route("/simulator/outcomes/{operation}", own, suffix="outcome")
    app.add_route("/simulator/etcd", own, suffix="etcd")
    app.add_route("/simulator/requests", control.Requests(log))
    app.add_route("/simulator/faults", control.Faults(service))
    return request_log.RequestLog(service, clock, log)
