"""The routes of the Ironic simulator."""

from functools import partial

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.ironic import (
    allocation_resources,
    node_part_resources,
    node_resources,
    port_resources,
    runbook_resources,
    service_resources,
    simulator_resources,
    state_resources,
    template_resources,
    trait_resources,
    wire,
)
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError
from shipyard_simulators.ironic.versions import LATEST, Versions
from shipyard_simulators.server import Application

_NODE = f"{wire.API}/nodes/{{ident}}"


def create_app(
    conductor: Conductor,
    clock: Clock,
    log: EventLog,
    *,
    highest: int = LATEST,
    basic: tuple[str, str] | None = None,
    token: str | None = None,
) -> Application:
    """Return the WSGI application. ``basic``: user and password; ``token``: the accepted token; None: any client."""
    app = falcon.App()
    app.req_options.strip_url_path_trailing_slash = True
    app.req_options.keep_blank_qs_values = True
    app.add_middleware(wire.RequestIds())
    if basic:
        app.add_middleware(wire.Basic(*basic))
    if token:
        app.add_middleware(wire.Tokens(token))
    app.add_middleware(Versions(highest))
    app.add_error_handler(falcon.HTTPError, wire.refuse_as_framework)
    app.add_error_handler(IronicError, wire.refuse)
    service = FaultyService(
        wire.untyped_when_empty(app),
        clock,
        api=wire.API,
        error=wire.simulated_fault,
        struck=request_log.note_fault,
    )
    service.play(conductor.scenario.service, seed=conductor.scenario.seed)
    _add_nodes(app, conductor)
    _add_others(app, conductor, highest)
    _add_simulator(app, conductor, service)
    return request_log.RequestLog(
        service, clock, log, also=lambda environ: {"version": environ.get("HTTP_X_OPENSTACK_IRONIC_API_VERSION")}
    )


def _add_nodes(app: "falcon.App[falcon.Request, falcon.Response]", conductor: Conductor) -> None:
    nodes, traits = node_resources.Nodes(conductor), trait_resources.Traits(conductor)
    app.add_route(f"{wire.API}/nodes", nodes)
    app.add_route(f"{wire.API}/nodes/detail", nodes, suffix="detail")
    app.add_route(_NODE, node_resources.OneNode(conductor))
    app.add_route(f"{_NODE}/validate", node_part_resources.Validate(conductor))
    app.add_route(f"{_NODE}/maintenance", node_part_resources.Maintenance(conductor))
    app.add_route(f"{_NODE}/inventory", node_part_resources.Inventory(conductor))
    app.add_route(f"{_NODE}/bios", node_part_resources.Bios(conductor))
    app.add_route(f"{_NODE}/firmware", node_part_resources.Firmware(conductor))
    app.add_route(f"{_NODE}/history", node_part_resources.History(conductor))
    app.add_route(f"{_NODE}/states", state_resources.States(conductor))
    app.add_route(f"{_NODE}/states/provision", state_resources.Provision(conductor))
    app.add_route(f"{_NODE}/states/power", state_resources.Power(conductor))
    app.add_route(f"{_NODE}/traits", traits)
    app.add_route(f"{_NODE}/traits/{{trait}}", traits, suffix="one")


def _add_others(app: "falcon.App[falcon.Request, falcon.Response]", conductor: Conductor, highest: int) -> None:
    root = service_resources.Root(highest)
    ports, templates = port_resources.Ports(conductor), template_resources.Templates(conductor)
    allocations, runbooks = allocation_resources.Allocations(conductor), runbook_resources.Runbooks(conductor)
    app.add_route("/", root)
    app.add_route(wire.API, root, suffix="v1")
    app.add_route(f"{wire.API}/conductors", service_resources.Conductors())
    app.add_route(f"{wire.API}/drivers", service_resources.Drivers())
    app.add_route(f"{wire.API}/ports", ports)
    app.add_route(f"{wire.API}/ports/{{uuid}}", ports, suffix="one")
    app.add_route(f"{wire.API}/allocations", allocations)
    app.add_route(f"{wire.API}/allocations/{{ident}}", allocations, suffix="one")
    app.add_route(f"{wire.API}/deploy_templates", templates)
    app.add_route(f"{wire.API}/deploy_templates/{{ident}}", templates, suffix="one")
    app.add_route(f"{wire.API}/runbooks", runbooks)
    app.add_route(f"{wire.API}/runbooks/{{ident}}", runbooks, suffix="one")
    app.add_route(f"{wire.API}/runbooks/{{ident}}/traits", runbooks, suffix="traits")
    app.add_route(f"{wire.API}/runbooks/{{ident}}/traits/{{trait}}", runbooks, suffix="trait")


def _add_simulator(
    app: "falcon.App[falcon.Request, falcon.Response]", conductor: Conductor, service: FaultyService
) -> None:
    log, node = simulator_resources.Log(conductor), simulator_resources.NodeControl(conductor)
    play = partial(simulator_resources.play, conductor)
    scenario = control.CurrentScenario(lambda: conductor.scenario, play, service)
    app.add_route("/simulator/log", log)
    app.add_route("/simulator/requests", log, suffix="requests")
    app.add_route("/simulator/transitions", log, suffix="transitions")
    app.add_route("/simulator/nodes/{ident}", node)
    app.add_route("/simulator/nodes/{ident}/bios", node, suffix="bios")
    app.add_route("/simulator/nodes/{ident}/firmware", node, suffix="firmware")
    app.add_route("/simulator/nodes/{ident}/lock", node, suffix="lock")
    app.add_route("/simulator/restart", simulator_resources.Restart(conductor))
    app.add_route("/simulator/scenario", scenario)
    app.add_route("/simulator/faults", control.Faults(service))
