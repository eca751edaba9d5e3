"""Allocations: Ironic picks a node by its resource class and traits."""

from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic import queries
from shipyard_simulators.ironic.conductor import Conductor, Operation
from shipyard_simulators.ironic.errors import IronicError, invalid
from shipyard_simulators.ironic.fields import is_uuid, links, read_uuid
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.versions import version_of
from shipyard_simulators.ironic.wire import check_members, object_of

_SINCE = 52
_OPTIONAL = ("name", "uuid", "resource_class", "traits", "candidate_nodes", "extra", "owner", "node")


class Allocations:
    """All allocations."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all of them."""
        _need(req)
        query = queries.parameters(req, ("node", "resource_class", "state", "owner", "fields", "limit", "marker"))
        names = [name for name in ("resource_class", "state", "owner") if name in query]

        def read(registry: Registry) -> list[dict[str, Any]]:
            found = [each for each in registry.allocations.values() if all(each[name] == query[name] for name in names)]
            if "node" in query:
                uuid = registry.node(query["node"]).uuid
                found = [each for each in found if each["node_uuid"] == uuid]
            return [_view(each, req.prefix) for each in found]

        resp.media = {"allocations": self._conductor.look(read)}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Request a node. The result, a node or an error, follows later."""
        _need(req)
        body = object_of(req)
        check_members(body, (), _OPTIONAL, "allocation")
        if not body.get("resource_class"):
            raise invalid("The resource_class field is mandatory when not backfilling")
        allocation: dict[str, Any] = {
            "uuid": read_uuid("uuid", body["uuid"]) if body.get("uuid") else str(uuid4()),
            "name": body.get("name"),
            "resource_class": body["resource_class"],
            "traits": body.get("traits") or [],
            "extra": body.get("extra") or {},
            "owner": body.get("owner"),
            "state": "allocating",
            "node_uuid": None,
            "last_error": None,
            "updated_at": None,
        }

        def add(registry: Registry) -> dict[str, Any]:
            _check_free(registry, allocation)
            try:
                candidates = [registry.node(str(ident)) for ident in body.get("candidate_nodes") or []]
            except IronicError as cause:
                raise invalid(cause.text) from cause
            allocation["candidate_nodes"] = [node.uuid for node in candidates]
            allocation["created_at"] = self._conductor.stamp()
            registry.allocations[allocation["uuid"]] = allocation
            answer = _view(allocation, req.prefix)
            self._conductor.begin_apart(allocation["uuid"], _allocate(self._conductor, allocation))
            return answer

        resp.media = self._conductor.look(add)
        resp.status = falcon.HTTP_201
        resp.set_header("Location", f"{req.prefix}/v1/allocations/{allocation['uuid']}")

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return one."""
        _need(req)
        resp.media = self._conductor.look(lambda registry: _view(_find(registry, ident), req.prefix))

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Release the node, unless an instance is deployed on it."""
        _need(req)

        def delete(registry: Registry) -> None:
            allocation = _find(registry, ident)
            node = registry.nodes.get(allocation["node_uuid"] or "")
            if node is not None and node.state not in ("available", "manageable"):
                raise IronicError(
                    409,
                    f"Cannot delete allocation {allocation['uuid']}: node {node.uuid} is in state {node.state}",
                )
            if node is not None:
                node.values |= {"instance_uuid": None, "allocation_uuid": None}
                node.values["instance_info"].pop("traits", None)
            del registry.allocations[allocation["uuid"]]

        self._conductor.look(delete)
        resp.status = falcon.HTTP_204


def _need(req: falcon.Request) -> None:
    if version_of(req) < _SINCE:
        raise IronicError(404 if req.method == "GET" else 405, "The API version does not allow allocations")


def _check_free(registry: Registry, allocation: dict[str, Any]) -> None:
    if allocation["uuid"] in registry.allocations:
        raise IronicError(409, f"An allocation with UUID {allocation['uuid']} already exists.")
    name = allocation["name"]
    if name and any(each["name"] == name for each in registry.allocations.values()):
        raise IronicError(409, f"An allocation with name {name} already exists.")


def _allocate(conductor: Conductor, allocation: dict[str, Any]) -> Operation:
    yield 1.0
    wanted = allocation["candidate_nodes"]
    kind, traits = allocation["resource_class"], set(allocation["traits"])
    nodes = [
        node
        for node in conductor.registry.nodes.values()
        if node.values["resource_class"] == kind and _free(node) and (not wanted or node.uuid in wanted)
    ]
    candidates = [node for node in nodes if traits <= set(node.values["traits"])]
    allocation["updated_at"] = conductor.stamp()
    if not candidates:
        reason = f"no available nodes match the resource class {kind}"
        if nodes:
            reason = f"no suitable nodes have the requested traits {', '.join(sorted(traits))}"
        text = f"Failed to process allocation {allocation['uuid']}: {reason}."
        allocation |= {"state": "error", "last_error": text}
        return
    node = candidates[0]
    allocation |= {"state": "active", "node_uuid": node.uuid}
    node.values |= {"instance_uuid": allocation["uuid"], "allocation_uuid": allocation["uuid"]}
    node.values["instance_info"]["traits"] = sorted(traits)
    conductor.touch(node)
    conductor.note("claim", node, before=None, instance=allocation["uuid"])


def _free(node: Node) -> bool:
    values = node.values
    usable = node.state == "available" and not values["maintenance"] and not values["reservation"]
    return usable and not values["instance_uuid"] and values["power_state"] is not None


def _find(registry: Registry, ident: str) -> dict[str, Any]:
    if is_uuid(ident) and ident in registry.allocations:
        return registry.allocations[ident]
    for allocation in registry.allocations.values():
        if allocation["name"] == ident:
            return allocation
    raise IronicError(404, f"Allocation {ident} could not be found.")


def _view(allocation: dict[str, Any], base: str) -> dict[str, Any]:
    return {**allocation, "links": links(base, f"allocations/{allocation['uuid']}")}
