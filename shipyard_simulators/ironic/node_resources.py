"""Nodes: create, read, change and delete them."""

from copy import deepcopy
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic import power_sync, queries
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import (
    IronicError,
    in_transition,
    invalid,
    node_not_found,
    protected,
)
from shipyard_simulators.ironic.fields import (
    FIELDS,
    PATCHABLE,
    first_values,
    is_name,
    is_uuid,
    need_field,
    read_fields,
    shown,
)
from shipyard_simulators.ironic.json_patch import apply_patch, check_patch, root_of
from shipyard_simulators.ironic.node import DRIVERS, HOST, Node, interfaces_of
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.states import DELETABLE, PATCH_IN_TRANSITION
from shipyard_simulators.ironic.versions import version_of
from shipyard_simulators.ironic.wire import body_of, object_of

_NAMES_SINCE = 5
_LISTED_LAST = ("parent_node", "firmware_interface")  # as a real Ironic lists them


def ident_of(req: falcon.Request, ident: str) -> str:
    """Return the name or UUID in the path. The first versions had no names."""
    if version_of(req) < _NAMES_SINCE and not is_uuid(ident):
        raise node_not_found(ident)
    return ident


def create_node(conductor: Conductor, given: dict[str, Any]) -> Node:
    """Add a node with these validated fields; all others have their defaults."""
    values = first_values()
    values |= {"uuid": str(uuid4()), "conductor": HOST, "created_at": conductor.stamp()}
    driver = given.get("driver")
    _check_driver(driver)
    values |= interfaces_of(str(driver)) | {name: value for name, value in given.items() if value is not None}
    node = conductor.registry.add(values)
    conductor.note("node_created", node, state=node.state)
    power_sync.watch(conductor, node)
    return node


def _check_driver(driver: object) -> None:
    if driver not in DRIVERS:
        raise invalid(
            f"No valid host was found. Reason: No conductor service registered which supports driver {driver} for "
            'conductor group "". Ensure the driver is valid and enabled.'
        )


class Nodes:
    """All nodes."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return a page of the nodes that the query selects."""
        self._list(req, resp, "/v1/nodes", detail=False)

    def on_get_detail(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return the same with all fields."""
        self._list(req, resp, "/v1/nodes/detail", detail=True)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Enrol a node."""
        body = object_of(req)
        if "driver" not in body:
            raise invalid("Schema error for node: 'driver' is a required property")
        given = read_fields(body, version_of(req))
        if given.get("name") is not None and not is_name(given["name"]):
            raise invalid(f"Cannot create node with invalid name '{given['name']}'")

        def create(_registry: Registry) -> dict[str, Any]:
            node = create_node(self._conductor, given)
            return shown(node.values, None, version_of(req), req.prefix)

        resp.media = self._conductor.look(create)
        resp.status = falcon.HTTP_201
        resp.set_header("Location", f"{req.prefix}/v1/nodes/{resp.media['uuid']}")

    def _list(self, req: falcon.Request, resp: falcon.Response, path: str, *, detail: bool) -> None:
        query, version = queries.list_parameters(req), version_of(req)
        names = queries.list_fields(req, query, detail=detail)
        tests = queries.filters_of(query, version)

        def read(registry: Registry) -> dict[str, Any]:
            nodes = [node for node in registry.nodes.values() if all(test(node) for test in tests)]
            rows = [(node.uuid, node.values) for node in nodes]
            uuids, following = queries.page(rows, query, req.prefix, path, ",".join(names or ()))
            answer: dict[str, Any] = {
                "nodes": [shown(registry.nodes[uuid].values, names, version, req.prefix) for uuid in uuids]
            }
            return answer | ({"next": following} if following else {})

        resp.media = self._conductor.look(read)


class OneNode:
    """One node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return it."""
        query, version = queries.parameters(req, ("fields",)), version_of(req)
        names = queries.field_names(query, version)
        ident = ident_of(req, ident)
        resp.media = self._conductor.look(
            lambda registry: shown(registry.node(ident).values, names, version, req.prefix)
        )

    def on_patch(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Change its fields: the whole patch or nothing."""
        queries.parameters(req, ("reset_interfaces",))
        patch, version = check_patch(body_of(req)), version_of(req)
        for change in patch:
            root = root_of(change)
            if root not in PATCHABLE:
                allowed = ", ".join([*sorted(set(PATCHABLE) - set(_LISTED_LAST)), *_LISTED_LAST])
                raise invalid(f"Cannot patch /{root}. Only the following can be updated: {allowed}")
            need_field(root, version)
        ident = ident_of(req, ident)
        self._conductor.look(lambda registry: _check_transition(registry.node(ident), ident))

        def change_node(node: Node) -> dict[str, Any]:
            _check_transition(node, ident)
            self._change(node, patch, ident)
            return shown(node.values, None, version, req.prefix)

        resp.media = self._conductor.locked(ident, change_node)

    def on_delete(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Delete it, if its state allows that."""
        queries.parameters(req, ())

        def delete(node: Node) -> None:
            values = node.values
            if not values["maintenance"] and values["instance_uuid"]:
                raise _associated(node)
            if values["protected"]:
                raise protected(node.uuid)
            if not values["maintenance"] and node.state not in DELETABLE:
                raise IronicError(
                    409,
                    f'Can not delete node "{node.uuid}" while it is in provision state "{node.state}". Valid provision '
                    f'states to perform deletion are: "{DELETABLE}", or set the node into maintenance mode',
                )
            for kind in ("state", power_sync.KIND):
                self._conductor.end(node, kind)
            self._conductor.note("node_deleted", node, state=node.state)
            self._conductor.registry.remove(node)

        self._conductor.locked(ident_of(req, ident), delete)
        resp.status = falcon.HTTP_204

    def _change(self, node: Node, patch: list[dict[str, Any]], ident: str) -> None:
        before = {name: node.values[name] for name in PATCHABLE}
        after = apply_patch(before, patch)
        if "driver" not in after:
            raise invalid("Schema error for patch: 'driver' is a required property")
        for name in PATCHABLE:
            # A removed field gets its default.
            value = after.get(name, deepcopy(FIELDS[name].first))
            check = FIELDS[name].check
            after[name] = check(name, value) if check and value != before[name] else value
        if after["name"] != before["name"]:
            if after["name"] is not None and not is_name(after["name"]):
                raise invalid(f"Node {ident}: Cannot change name to invalid name '{after['name']}'")
            self._conductor.registry.check_name(after["name"])
        _check_driver(after["driver"])
        if after["protected"] and not before["protected"] and node.state not in ("active", "rescue"):
            raise IronicError(
                409,
                f"Node {node.uuid} can only be made protected in provision states 'active' or 'rescue', "
                f"the current state is '{node.state}'",
            )
        claim = after["instance_uuid"]
        if claim and claim != before["instance_uuid"]:
            self._conductor.registry.check_instance(claim, node.uuid)
            if before["instance_uuid"]:
                raise _associated(node)
        self._conductor.registry.rename(node, after["name"])
        if not after["maintenance"]:
            node.values |= {"maintenance_reason": None, "fault": None}
        if claim != before["instance_uuid"]:
            self._conductor.note("claim", node, before=before["instance_uuid"], instance=claim)
        node.values |= after
        self._conductor.touch(node)


def _associated(node: Node) -> IronicError:
    return IronicError(409, f"Node {node.uuid} is associated with instance {node.values['instance_uuid']}.")


def _check_transition(node: Node, ident: str) -> None:
    if node.values["target_provision_state"] and node.state not in PATCH_IN_TRANSITION:
        raise in_transition(ident)
