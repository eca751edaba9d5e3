"""The network ports of nodes."""

import re
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic import queries
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError, invalid
from shipyard_simulators.ironic.fields import links, read_flag
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.wire import check_members, object_of

_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
_FIRST: dict[str, Any] = {
    "extra": {},
    "internal_info": {},
    "is_smartnic": False,
    "local_link_connection": {},
    "name": None,
    "physical_network": None,
    "portgroup_uuid": None,
    "pxe_enabled": True,
    "updated_at": None,
}
_GIVEN = ("extra", "is_smartnic", "local_link_connection", "name", "physical_network", "portgroup_uuid", "pxe_enabled")


class Ports:
    """All ports."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return the ports of a node, those with an address, or all."""
        query = queries.parameters(req, ("node", "node_uuid", "address", "detail", "fields", "limit", "marker"))
        detail = "detail" in query and read_flag("detail", query["detail"])

        def read(registry: Registry) -> list[dict[str, Any]]:
            ports = list(registry.ports.values())
            for name in ("node", "node_uuid"):
                if name in query:
                    uuid = registry.node(query[name]).uuid
                    ports = [port for port in ports if port["node_uuid"] == uuid]
            if "address" in query:
                ports = [port for port in ports if port["address"] == query["address"].lower()]
            return [_view(port, req.prefix, detail=detail or "fields" in query) for port in ports]

        resp.media = {"ports": self._conductor.look(read)}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Add a port to a node."""
        body = object_of(req)
        check_members(body, ("node_uuid", "address"), (*_GIVEN, "uuid"), "port")
        if not isinstance(body["address"], str) or not _MAC.fullmatch(body["address"]):
            raise invalid(f"Expected valid MAC address for address: {body['address']}")
        port = {**_FIRST, **body, "uuid": body.get("uuid") or str(uuid4()), "address": body["address"].lower()}

        def add(registry: Registry) -> None:
            try:
                port["node_uuid"] = registry.node(str(body["node_uuid"])).uuid
            except IronicError as cause:
                raise invalid(cause.text) from cause
            if any(each["address"] == port["address"] for each in registry.ports.values()):
                raise IronicError(409, f"A port with MAC address {port['address']} already exists.")
            port["created_at"] = self._conductor.stamp()
            registry.ports[port["uuid"]] = port

        self._conductor.look(add)
        resp.status = falcon.HTTP_201
        resp.set_header("Location", f"{req.prefix}/v1/ports/{port['uuid']}")
        resp.media = _view(port, req.prefix, detail=True)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, uuid: str) -> None:
        """Return one."""
        resp.media = _view(self._conductor.look(lambda registry: _port(registry, uuid)), req.prefix, detail=True)

    def on_delete_one(self, _req: falcon.Request, resp: falcon.Response, uuid: str) -> None:
        """Delete one."""
        self._conductor.look(lambda registry: registry.ports.pop(_port(registry, uuid)["uuid"]))
        resp.status = falcon.HTTP_204


def _port(registry: Registry, uuid: str) -> dict[str, Any]:
    if uuid not in registry.ports:
        raise IronicError(404, f"Port {uuid} could not be found.")
    return registry.ports[uuid]


def _view(port: dict[str, Any], base: str, *, detail: bool) -> dict[str, Any]:
    names = tuple(port) if detail else ("uuid", "address")
    return {name: port[name] for name in names} | {"links": links(base, f"ports/{port['uuid']}")}
