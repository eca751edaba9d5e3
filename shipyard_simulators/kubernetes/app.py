"""The routes of the Kubernetes simulator."""

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.kubernetes import node_resources, simulator_resources, versions, wire
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import ApiError
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Application

_MACHINE = "/simulator/nodes/{name}"


def create_app(cluster: SimulatedCluster, clock: Clock, log: EventLog, *, token: str | None = None) -> Application:
    """Return the WSGI application; ``token``: the accepted token (None: any client)."""
    app = falcon.App()
    if token:
        app.add_middleware(wire.Tokens(token))
    app.add_error_handler(falcon.HTTPError, wire.refuse_as_framework)
    app.add_error_handler(ApiError, wire.refuse)
    service = FaultyService(app, clock, api=wire.API, error=wire.simulated_fault, struck=request_log.note_fault)
    service.play(cluster.scenario.service, seed=cluster.scenario.seed)
    node = node_resources.OneNode(cluster)
    app.add_route("/version", versions.Fixed(versions.VERSION))
    app.add_route("/api", versions.Fixed(versions.CORE_VERSIONS))
    app.add_route("/apis", versions.Fixed(versions.GROUPS))
    app.add_route(wire.API, versions.Fixed(versions.RESOURCES))
    for path in ("/healthz", "/livez", "/readyz"):
        app.add_route(path, versions.Health())
    app.add_route(f"{wire.API}/nodes", node_resources.Nodes(cluster))
    app.add_route(f"{wire.API}/nodes/{{name}}", node)
    app.add_route(f"{wire.API}/nodes/{{name}}/status", node, suffix="status")
    _add_simulator(app, cluster, service, log)
    return request_log.RequestLog(service, clock, log)


def _add_simulator(
    app: "falcon.App[falcon.Request, falcon.Response]",
    cluster: SimulatedCluster,
    service: FaultyService,
    log: EventLog,
) -> None:
    def play(scenario: Scenario) -> None:
        cluster.scenario = scenario

    machines = simulator_resources.Machines(cluster)
    app.add_route("/simulator/log", simulator_resources.Log(cluster, log))
    app.add_route("/simulator/requests", control.Requests(log))
    app.add_route("/simulator/nodes", machines)
    app.add_route(_MACHINE, machines, suffix="one")
    app.add_route(f"{_MACHINE}/join", machines, suffix="join")
    app.add_route(f"{_MACHINE}/ready", machines, suffix="ready")
    app.add_route("/simulator/compaction", simulator_resources.Compaction(cluster))
    app.add_route("/simulator/scenario", control.CurrentScenario(lambda: cluster.scenario, play, service))
    app.add_route("/simulator/faults", control.Faults(service))
