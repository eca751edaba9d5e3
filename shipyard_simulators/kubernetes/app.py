"""The routes of the Kubernetes simulator."""

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.kubernetes import node_resources, object_resources, simulator_resources, versions, wire
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import ApiError
from shipyard_simulators.kubernetes.kinds import NODES, PODS
from shipyard_simulators.kubernetes.workloads import Workloads
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Application

_MACHINE = "/simulator/nodes/{name}"


def create_app(
    cluster: SimulatedCluster,
    clock: Clock,
    log: EventLog,
    *,
    token: str | None = None,
    kubernetes: str = versions.KUBERNETES,
) -> Application:
    """Return the WSGI application; ``token``: the accepted token (None: any client)."""
    app = falcon.App(middleware=[wire.Dates(clock)])
    if token:
        app.add_middleware(wire.Tokens(token))
    app.add_error_handler(falcon.HTTPError, wire.refuse_as_framework)
    app.add_error_handler(ApiError, wire.refuse)
    service = FaultyService(app, clock, api=wire.API, error=wire.simulated_fault, struck=request_log.note_fault)
    service.play(cluster.scenario.service, seed=cluster.scenario.seed)
    node = node_resources.OneNode(cluster)
    app.add_route("/version", versions.Fixed(versions.version(kubernetes)))
    app.add_route("/api", versions.Fixed(versions.CORE_VERSIONS))
    _add_objects(app, cluster)
    for path in ("/healthz", "/livez", "/readyz"):
        app.add_route(path, versions.Health())
    app.add_route(f"{wire.API}/nodes", node_resources.Nodes(cluster))
    app.add_route(f"{wire.API}/nodes/{{name}}", node)
    app.add_route(f"{wire.API}/nodes/{{name}}/status", node, suffix="status")
    _add_simulator(app, cluster, service, log)
    return request_log.RequestLog(service, clock, log)


def _add_objects(app: "falcon.App[falcon.Request, falcon.Response]", cluster: SimulatedCluster) -> None:
    """Add the routes of everything but nodes, and what describes them."""
    workloads = Workloads(cluster)
    served = (NODES, *cluster.kinds)
    app.add_route("/apis", versions.Fixed(versions.groups(served)))
    for base in {kind.base for kind in served}:
        of_base = [kind for kind in served if kind.base == base]
        app.add_route(base, versions.Fixed(versions.resources(of_base, cluster.policy)))
    for name, kind in {kind.group: kind for kind in cluster.kinds if kind.group}.items():
        app.add_route(f"/apis/{name}", versions.Fixed(versions.group(kind)))
    for kind in cluster.kinds:
        many = object_resources.Objects(cluster, workloads, kind)
        one = object_resources.OneObject(cluster, workloads, kind)
        app.add_route(f"{kind.base}/{kind.resource}", many)
        prefix = kind.base
        if kind.namespaced:
            prefix = f"{kind.base}/namespaces/{{namespace}}"
            app.add_route(f"{prefix}/{kind.resource}", many)
        app.add_route(f"{prefix}/{kind.resource}/{{{'name' if kind.namespaced else 'namespace'}}}", one)
        if kind is PODS:
            app.add_route(f"{prefix}/pods/{{name}}/status", one, suffix="status")
            app.add_route(f"{prefix}/pods/{{name}}/eviction", one, suffix="eviction")


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
    app.add_route(f"{_MACHINE}/kubelet", machines, suffix="kubelet")
    app.add_route("/simulator/objects", simulator_resources.Manifests(cluster))
    app.add_route("/simulator/compaction", simulator_resources.Compaction(cluster))
    app.add_route("/simulator/scenario", control.CurrentScenario(lambda: cluster.scenario, play, service))
    app.add_route("/simulator/faults", control.Faults(service))
