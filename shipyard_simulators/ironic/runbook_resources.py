"""Runbooks: steps with a name, for the cleaning and the service of nodes that have one of its traits."""

import re
from copy import deepcopy
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic import queries
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError, Unrouted, duplicate_steps, invalid
from shipyard_simulators.ironic.fields import links, mask_secrets, read_flag, read_uuid
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.steps import INTERFACES
from shipyard_simulators.ironic.trait_resources import check_trait
from shipyard_simulators.ironic.versions import need, version_of
from shipyard_simulators.ironic.wire import body_of, check_members, object_of

_SINCE, _TRAITS_SINCE = 92, 112
_OPTIONAL = ("disable_ramdisk", "extra", "public", "owner", "uuid")
_NAME = re.compile(r"[A-Za-z0-9\-._~]{1,255}")


class Runbooks:
    """All runbooks."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all of them."""
        _need(req)
        query = queries.parameters(req, ("detail", "fields", "limit", "marker", "sort_key", "sort_dir"))
        detail = "detail" in query and read_flag("detail", query["detail"])
        names = query["fields"].split(",") if "fields" in query else ["uuid", "name"]
        found = self._conductor.look(lambda registry: list(registry.runbooks.values()))
        resp.media = {"runbooks": [_view(req, each, None if detail else names) for each in found]}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Add one."""
        _need(req)
        body = object_of(req)
        with_traits = version_of(req) >= _TRAITS_SINCE
        check_members(body, ("name", "steps"), (*_OPTIONAL, *(["description"] if with_traits else [])), "runbook")
        if with_traits and not _NAME.fullmatch(str(body["name"])):
            raise invalid(f"Schema error for runbook: {body['name']!r} does not match '^[A-Za-z0-9\\\\-._~]+$'")
        if not with_traits:
            check_trait(body["name"], "runbook")
        runbook = {
            "uuid": read_uuid("uuid", body["uuid"]) if body.get("uuid") else str(uuid4()),
            "name": body["name"],
            "steps": _checked(body["steps"]),
            "traits": [],
            "description": body.get("description"),
            **{name: bool(body.get(name)) for name in ("disable_ramdisk", "public")},
            "owner": body.get("owner"),
            "extra": body.get("extra") or {},
        }

        def add(registry: Registry) -> None:
            if any(each["name"] == runbook["name"] for each in registry.runbooks.values()):
                raise IronicError(409, f"A runbook with name {runbook['name']} already exists.")
            runbook.update(created_at=self._conductor.stamp(), updated_at=None)
            registry.runbooks[runbook["uuid"]] = runbook

        self._conductor.look(add)
        resp.status = falcon.HTTP_201
        resp.set_header("Location", f"{req.prefix}/v1/runbooks/{runbook['uuid']}")
        resp.media = _view(req, runbook, None)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return one."""
        _need(req)
        query = queries.parameters(req, ("fields",))
        names = query["fields"].split(",") if "fields" in query else None
        resp.media = self._conductor.look(lambda registry: _view(req, find(registry, ident), names))

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Delete one."""
        _need(req)
        self._conductor.look(lambda registry: registry.runbooks.pop(find(registry, ident)["uuid"]))
        resp.status = falcon.HTTP_204

    def on_get_traits(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return its traits."""
        need(req, _TRAITS_SINCE)
        resp.media = self._conductor.look(lambda registry: {"traits": find(registry, ident)["traits"]})

    def on_put_trait(self, req: falcon.Request, resp: falcon.Response, ident: str, trait: str) -> None:
        """Add a trait."""
        need(req, _TRAITS_SINCE)
        if body_of(req) is not None:
            raise invalid("No body should be provided when adding a trait")
        check_trait(trait, "trait")
        self._conductor.look(
            lambda registry: find(registry, ident).update(traits=sorted({*find(registry, ident)["traits"], trait}))
        )
        resp.status = falcon.HTTP_204


def find(registry: Registry, ident: str) -> dict[str, Any]:
    """Return a runbook by its UUID or its name."""
    for runbook in registry.runbooks.values():
        if ident in (runbook["uuid"], runbook["name"]):
            return runbook
    raise IronicError(404, f"Runbook {ident} could not be found.")


def steps_for(registry: Registry, ident: object, node: Node, version: int) -> list[dict[str, Any]]:
    """Return the steps of a runbook in their order, if the node has one of its traits."""
    if version < _SINCE or not isinstance(ident, str):
        raise invalid("The API version does not allow runbooks")
    runbook = find(registry, ident)
    wanted = runbook["traits"] if version >= _TRAITS_SINCE else [runbook["name"]]
    if not wanted:
        text = "has no traits configured. Please ask an administrator to add traits to the runbook."
        raise invalid(f"Runbook {runbook['uuid']} {text}")
    if not set(wanted) & set(node.values["traits"]):
        raise invalid(
            f"This runbook has not been approved for use on this node {node.uuid}. The node does not have any of the "
            f"runbook's traits {wanted}. Please ask an administrator to add a matching trait to your node."
        )
    ordered = sorted(runbook["steps"], key=lambda step: int(step["order"]))
    return [{key: deepcopy(step[key]) for key in ("interface", "step", "args")} for step in ordered]


def _need(req: falcon.Request) -> None:
    if version_of(req) < _SINCE:
        raise Unrouted(404 if req.method == "GET" else 405, "The API version does not allow runbooks")


def _checked(steps: object) -> list[dict[str, Any]]:
    if not isinstance(steps, list) or not steps:
        raise invalid("Schema error for runbook: [] should be non-empty")
    for step in steps:
        check_members(step, ("interface", "step", "order"), ("args",), "runbook")
        if step["interface"] not in INTERFACES:
            raise invalid(f"Schema error for runbook: {step['interface']!r} is not one of {list(INTERFACES)}")
        if not str(step["order"]).isdigit():
            raise invalid(f"Schema error for runbook: {step['order']!r} is not valid under any of the given schemas")
    keys = [(step["interface"], step["step"]) for step in steps]
    if len(set(keys)) < len(keys):
        raise duplicate_steps(keys)
    return [{"args": {}, **deepcopy(step), "order": int(step["order"])} for step in steps]


def _view(req: falcon.Request, runbook: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    shown = set(runbook) if version_of(req) >= _TRAITS_SINCE else set(runbook) - {"traits", "description"}
    wanted = [name for name in runbook if name in shown] if names is None else [name.strip() for name in names]
    if unknown := [name for name in wanted if name not in shown]:
        raise invalid(f"Field(s) {', '.join(unknown)} are not valid.")
    return {name: mask_secrets(runbook[name]) for name in wanted} | {
        "links": links(req.prefix, f"runbooks/{runbook['uuid']}")
    }
