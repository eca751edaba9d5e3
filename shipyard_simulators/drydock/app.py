"""The routes of the Drydock simulator."""

from typing import Any

import falcon

from shipyard_simulators import control
from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock import (
    design_resources,
    simulator_resources,
    site_resources,
    task_resources,
    wire,
)
from shipyard_simulators.drydock.designs import Designs
from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.drydock.task_views import API
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.outcomes import FaultAction
from shipyard_simulators.server import Application


def create_app(
    orchestrator: Orchestrator, designs: Designs, clock: Clock, log: EventLog, *, token: str | None = None
) -> Application:
    """Return the WSGI application; ``token``: the token that clients must send (None: any client is accepted)."""
    app = falcon.App()
    app.add_middleware(wire.RequestIds())
    app.add_middleware(wire.Dates(clock))
    if token:
        app.add_middleware(wire.Tokens(token))
    app.add_error_handler(wire.BodyRefused, wire.refuse_body)
    app.set_error_serializer(wire.framework_error)

    def struck(environ: dict[str, Any], action: FaultAction) -> None:
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        log.write(clock.now(), "request_faulted", method=method, path=path, action=action.value)

    service = FaultyService(app, clock, api=API, error=wire.simulated_fault, struck=struck)
    service.play(orchestrator.scenario.service, seed=orchestrator.scenario.seed)
    health = site_resources.Health(orchestrator)
    app.add_route("/versions", site_resources.Versions())
    app.add_route(f"{API}/health", health)
    app.add_route(f"{API}/health/extended", health, suffix="extended")
    app.add_route(f"{API}/tasks", task_resources.Tasks(orchestrator))
    app.add_route(f"{API}/tasks/{{task_id}}", task_resources.OneTask(orchestrator))
    app.add_route(f"{API}/tasks/{{task_id}}/builddata", task_resources.TaskBuildData(orchestrator))
    app.add_route(f"{API}/nodefilter", design_resources.NodeFilter(orchestrator, designs))
    app.add_route(f"{API}/validatedesign", design_resources.ValidateDesign(orchestrator, designs, clock))
    app.add_route(f"{API}/nodes", site_resources.Nodes(orchestrator))
    app.add_route(f"{API}/nodes/{{hostname}}/builddata", site_resources.NodeBuildData(orchestrator))
    scenario = control.CurrentScenario(lambda: orchestrator.scenario, orchestrator.play, service)
    app.add_route("/simulator/log", simulator_resources.Log(orchestrator, log))
    app.add_route("/simulator/tasks", simulator_resources.RequestedTasks(orchestrator))
    app.add_route("/simulator/scenario", scenario)
    app.add_route("/simulator/faults", control.Faults(service))
    return service
