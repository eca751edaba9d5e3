"""The routes of the MAAS simulator."""

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.maas import (
    collection_operations,
    machine_operations,
    place_operations,
    record_operations,
    region_operations,
    simulator_resources,
    turnstile,
    wire,
)
from shipyard_simulators.maas.calls import Operations
from shipyard_simulators.maas.description import Description, Version
from shipyard_simulators.maas.endpoints import Endpoint
from shipyard_simulators.maas.errors import MaasError
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.seeding import play
from shipyard_simulators.server import Application

_NODE = f"{wire.API}/nodes/{{system_id}}"

ROUTES: dict[str, tuple[str, Operations]] = {
    "Machines": (f"{wire.API}/machines/", collection_operations.OPERATIONS),
    "Machine": (f"{wire.API}/machines/{{system_id}}/", machine_operations.OPERATIONS),
    "Nodes": (f"{wire.API}/nodes/", {("GET", None): collection_operations.read}),
    "Node": (f"{_NODE}/", {("GET", None): machine_operations.read}),
    "NodeResults": (f"{_NODE}/results/", record_operations.RESULTS),
    "Interfaces": (f"{_NODE}/interfaces/", region_operations.NOTHING_OF_NODE),
    "BlockDevices": (f"{_NODE}/blockdevices/", region_operations.NOTHING_OF_NODE),
    "VolumeGroups": (f"{_NODE}/volume-groups/", region_operations.NOTHING_OF_NODE),
    "Tags": (f"{wire.API}/tags/", place_operations.TAGS),
    "Tag": (f"{wire.API}/tags/{{name}}/", place_operations.TAG),
    "ResourcePools": (f"{wire.API}/resourcepools/", place_operations.POOLS),
    "ResourcePool": (f"{wire.API}/resourcepool/{{id}}/", place_operations.POOL),
    "Zones": (f"{wire.API}/zones/", place_operations.ZONES),
    "Zone": (f"{wire.API}/zones/{{name}}/", place_operations.ZONE),
    "Events": (f"{wire.API}/events/", record_operations.EVENTS),
    "OldResults": (f"{wire.API}/installation-results/", record_operations.OLD_RESULTS),
    "Users": (f"{wire.API}/users/", region_operations.USERS),
    "ApiUser": (f"{wire.API}/account/", region_operations.ACCOUNT),
    "MAAS": (f"{wire.API}/maas/", region_operations.SETTINGS),
    "RackControllers": (f"{wire.API}/rackcontrollers/", region_operations.RACKS),
    "RackController": (f"{wire.API}/rackcontrollers/{{system_id}}/", region_operations.RACK),
    "RegionControllers": (f"{wire.API}/regioncontrollers/", region_operations.NOTHING),
    "Devices": (f"{wire.API}/devices/", region_operations.NOTHING),
    "BootResources": (f"{wire.API}/boot-resources/", region_operations.IMAGES_OPERATIONS),
}


def create_app(region: Region, clock: Clock, log: EventLog) -> Application:
    """Return the WSGI application."""
    app = falcon.App()
    app.add_middleware(wire.Headers())
    # Falcon tries the handler added last first.
    app.add_error_handler(Exception, wire.refuse_breakage)
    app.add_error_handler(falcon.HTTPError, wire.refuse_path)
    app.add_error_handler(MaasError, wire.refuse)
    service = FaultyService(app, clock, api=wire.API, error=wire.simulated_fault, struck=request_log.note_fault)
    service.play(region.scenario.service, seed=region.scenario.seed)
    app.add_route(f"{wire.API}/version/", Version())
    app.add_route(f"{wire.API}/describe/", Description(ROUTES))
    for path, operations in ROUTES.values():
        app.add_route(path, Endpoint(region, operations))
    commissioning = Endpoint(region, record_operations.OLD_RESULTS, {"kind": "commissioning"})
    app.add_route(f"{wire.API}/commissioning-results/", commissioning)
    scenario = control.CurrentScenario(lambda: region.scenario, lambda scenario: play(region, scenario), service)
    app.add_route("/simulator/log", simulator_resources.Log(region, log))
    app.add_route("/simulator/requests", control.Requests(log))
    app.add_route("/simulator/machines", simulator_resources.Machines(region))
    app.add_route("/simulator/scenario", scenario)
    app.add_route("/simulator/faults", control.Faults(service))
    first = 1 + max((each["cause"]["request"] or 0 for each in region.history), default=0)
    one_by_one = turnstile.Turnstile(
        service, clock, places=lambda: region.scenario.region.requests_at_once, first=first
    )
    return request_log.RequestLog(one_by_one, clock, log, also=turnstile.passage)
