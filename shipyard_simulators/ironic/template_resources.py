"""Deploy templates: steps that a deployment gets for a trait of its instance."""

from copy import deepcopy
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.ironic import queries
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError, Unrouted, duplicate_steps, invalid
from shipyard_simulators.ironic.fields import is_uuid, links, mask_secrets, read_flag, read_uuid
from shipyard_simulators.ironic.json_patch import apply_patch, check_patch, root_of
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.steps import check_shape, key_of
from shipyard_simulators.ironic.trait_resources import check_trait
from shipyard_simulators.ironic.versions import version_of
from shipyard_simulators.ironic.wire import body_of, check_members, object_of

_SINCE = 55
_CHANGEABLE = ("name", "steps", "extra")


class Templates:
    """All deploy templates."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all of them."""
        _need(req)
        query = queries.parameters(req, ("detail", "fields", "limit", "marker", "sort_key", "sort_dir"))
        detail = "detail" in query and read_flag("detail", query["detail"])
        names = query["fields"].split(",") if "fields" in query else ["uuid", "name"]
        found = self._conductor.look(lambda registry: list(registry.templates.values()))
        resp.media = {"deploy_templates": [_view(each, req.prefix, None if detail else names) for each in found]}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Add one."""
        _need(req)
        body = object_of(req)
        check_members(body, ("name", "steps"), ("extra", "uuid"), "template")
        template = _checked({"name": body["name"], "steps": body["steps"], "extra": body.get("extra") or {}})
        template["uuid"] = read_uuid("uuid", body["uuid"]) if body.get("uuid") else str(uuid4())

        def add(registry: Registry) -> None:
            _check_free(registry, template["name"])
            if template["uuid"] in registry.templates:
                raise IronicError(409, f"A deploy template with UUID {template['uuid']} already exists.")
            template.update(created_at=self._conductor.stamp(), updated_at=None)
            registry.templates[template["uuid"]] = template

        self._conductor.look(add)
        resp.status = falcon.HTTP_201
        resp.set_header("Location", f"{req.prefix}/v1/deploy_templates/{template['uuid']}")
        resp.media = _view({**template, "steps": body["steps"]}, req.prefix, None)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return one."""
        _need(req)
        query = queries.parameters(req, ("fields",))
        names = query["fields"].split(",") if "fields" in query else None
        resp.media = self._conductor.look(lambda registry: _view(_find(registry, ident), req.prefix, names))

    def on_patch_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Change one."""
        _need(req)
        patch = check_patch(body_of(req))
        for change in patch:
            if root_of(change) not in _CHANGEABLE:
                raise invalid(
                    f"Cannot patch /{root_of(change)}. Only the following can be updated: {', '.join(_CHANGEABLE)}"
                )

        def change_template(registry: Registry) -> dict[str, Any]:
            template = _find(registry, ident)
            after = apply_patch({name: template[name] for name in _CHANGEABLE}, patch)
            after = _checked({"extra": {}, **after})
            if after["name"] != template["name"]:
                _check_free(registry, after["name"])
            template.update(after, updated_at=self._conductor.stamp())
            return _view(template, req.prefix, None)

        resp.media = self._conductor.look(change_template)

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Delete one."""
        _need(req)
        self._conductor.look(lambda registry: registry.templates.pop(_find(registry, ident)["uuid"]))
        resp.status = falcon.HTTP_204


def _need(req: falcon.Request) -> None:
    if version_of(req) < _SINCE:
        raise Unrouted(404 if req.method == "GET" else 405, "The API version does not allow deploy templates")


def _checked(template: dict[str, Any]) -> dict[str, Any]:
    for name in ("name", "steps"):
        if name not in template:
            raise invalid(f"Schema error for template: '{name}' is a required property")
    check_trait(template["name"], "template")
    steps = check_shape(template["steps"], "template steps")
    if not steps:
        raise invalid("Schema error for template: [] should be non-empty")
    keys = [key_of(step) for step in steps]
    if len(set(keys)) < len(keys):
        raise duplicate_steps(keys)
    return {**template, "steps": [{**step, "priority": int(step["priority"])} for step in deepcopy(steps)]}


def _check_free(registry: Registry, name: str) -> None:
    if any(each["name"] == name for each in registry.templates.values()):
        raise IronicError(409, f"A deploy template with name {name} already exists.")


def _find(registry: Registry, ident: str) -> dict[str, Any]:
    for template in registry.templates.values():
        if ident in (template["uuid"], template["name"]):
            return template
    if not is_uuid(ident) and "/" in ident:
        raise invalid(f"Expected UUID or name for template_ident: {ident}")
    raise IronicError(404, f"Deploy template {ident} could not be found.")


def _view(template: dict[str, Any], base: str, names: list[str] | None) -> dict[str, Any]:
    path = f"deploy_templates/{template['uuid']}"
    wanted = list(template) if names is None else [name.strip().lower() for name in names]
    unknown = [name for name in wanted if name not in template]
    if unknown:
        raise invalid(f"Field {unknown[0]} is not a valid field.")
    return {name: mask_secrets(template[name]) for name in wanted} | {"links": links(base, path)}
