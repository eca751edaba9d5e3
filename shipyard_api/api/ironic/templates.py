"""Deploy templates: ``/v1/deploy_templates`` as Ironic serves them, ``/v1/deploy-templates`` as seed 003 has them."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlencode

import falcon
import falcon.asgi
from msgspec import Struct

from shipyard_api.api.http import entity_tags
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.hidden_arguments import without_secrets
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.threads import answer_in_thread, threaded
from shipyard_api.api.ironic import patches, reading
from shipyard_api.domain.policy import TEMPLATE_PREFIX
from shipyard_api.ports.state.deploy_templates import Page, SortKey, StoredTemplate
from shipyard_api.usecases.deploy_templates.manage import IsCurrent, ManageTemplates, WrittenTemplate

MOST = 1000
"""Templates in one answer."""

RULES = {
    "GET": f"{TEMPLATE_PREFIX}get",
    "POST": f"{TEMPLATE_PREFIX}create",
    "PATCH": f"{TEMPLATE_PREFIX}update",
    "DELETE": f"{TEMPLATE_PREFIX}delete",
}
"""The rule of each method."""

_LIST_PARAMETERS = ("limit", "marker", "sort_key", "sort_dir", "fields", "detail")
_MEMBERS = ("name", "steps", "extra", "uuid")


class Face(Struct, frozen=True):
    """One of the two addresses. ``listed``: the key of a list. ``fields``: of its entries by default."""

    path: str
    listed: str
    fields: tuple[str, ...]


IRONIC = Face("/v1/deploy_templates", "deploy_templates", ("uuid", "name", "links"))
SEED = Face("/v1/deploy-templates", "deploy-templates", ("uuid", "name", "steps"))


class Templates:
    """All templates."""

    policy: ClassVar[Policy] = RULES
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, templates: ManageTemplates, face: Face, limit: int) -> None:
        """``limit``: the largest body, in bytes."""
        self._templates = templates
        self._face = face
        self._limit = limit

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a page of templates, and with the address of the next one if this one is full."""
        reading.check_accepts(req)
        asked = reading.query(req, _LIST_PARAMETERS)
        page = _page(asked)
        fields, repeated = self._fields(asked)
        templates = self._templates.page(page)
        resp.media = {self._face.listed: [_entity(req, template, fields) for template in templates]}
        if len(templates) == page.limit:
            following = {
                "sort_key": page.sort.value,
                "sort_dir": "desc" if page.descending else "asc",
                **repeated,
                "limit": page.limit,
                "marker": templates[-1].id,
            }
            resp.media["next"] = f"{req.prefix}{self._face.path}?{urlencode(following, safe=',')}"

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Create a template and answer with it."""
        reading.check_accepts(req)
        reading.query(req)
        sent = await reading.body(req, self._limit)
        await answer_in_thread(resp, partial(self._create, req, resp, sent))

    async def on_patch(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Refuse: a change needs a template."""
        raise Fault("Missing mandatory parameter: template_ident")

    async def on_delete(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Refuse: a removal needs a template."""
        raise Fault("Missing mandatory parameter: template_ident")

    def _create(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        body = _checked(reading.parsed(req, sent))
        chosen = body.get("uuid")
        template_id = None if chosen is None else reading.as_id(chosen)
        stored = self._templates.create(WrittenTemplate(body["name"], body["steps"], body.get("extra")), template_id)
        resp.status = falcon.HTTP_201
        resp.location = f"{req.prefix}{self._face.path}/{stored.id}"
        resp.set_header("ETag", _tag(stored))
        resp.media = _entity(req, stored, reading.FIELDS)

    def _fields(self, asked: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the fields of an entry, and the parameters that ask for them."""
        detail = "detail" in asked and reading.boolean("detail", asked["detail"])
        if detail and "fields" in asked:
            raise Fault("Can not specify ?detail=True and fields in the same request.")
        if detail:
            return reading.FIELDS, {"detail": "True"}
        if "fields" in asked:
            chosen = reading.fields(asked["fields"])
            return (*chosen, "links"), {"fields": ",".join(chosen)}
        return self._face.fields, {}


class Template:
    """A template, by id or name."""

    policy: ClassVar[Policy] = {method: rule for method, rule in RULES.items() if method != "POST"}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, templates: ManageTemplates, limit: int) -> None:
        """``limit``: the largest body, in bytes."""
        self._templates = templates
        self._limit = limit

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, template_ident: str) -> None:
        """Answer with the template."""
        reading.check_accepts(req)
        asked = reading.query(req, ["fields"])
        identity = reading.identity("template_ident", template_ident)
        fields = (*reading.fields(asked["fields"]), "links") if "fields" in asked else reading.FIELDS
        stored = self._templates.one(identity)
        if not entity_tags.holds(req, resp, *_version(stored)):
            resp.media = _entity(req, stored, fields)

    async def on_patch(self, req: falcon.asgi.Request, resp: falcon.Response, template_ident: str) -> None:
        """Change the template by a JSON patch and answer with it."""
        reading.check_accepts(req)
        reading.query(req)
        identity = reading.identity("template_ident", template_ident)
        sent = await reading.body(req, self._limit)
        await answer_in_thread(resp, partial(self._change, req, resp, sent, identity))

    @threaded
    def on_delete(self, req: falcon.Request, resp: falcon.Response, template_ident: str) -> None:
        """Remove the template."""
        reading.query(req)
        self._templates.delete(reading.identity("template_ident", template_ident), _is_current(req))
        resp.status = falcon.HTTP_204

    def _change(self, req: falcon.Request, resp: falcon.Response, sent: bytes, identity: str) -> None:
        patch = patches.check_patch(reading.parsed(req, sent))
        stored = self._templates.change(identity, partial(patches.apply, patch), _is_current(req))
        resp.set_header("ETag", _tag(stored))
        resp.media = _entity(req, stored, reading.FIELDS)


def _page(asked: Mapping[str, str]) -> Page:
    limit = min(MOST, reading.positive("limit", asked["limit"])) if "limit" in asked else MOST
    sort = reading.one_of("sort_key", asked.get("sort_key", SortKey.ID.value), [key.value for key in SortKey])
    direction = reading.one_of("sort_dir", asked.get("sort_dir", "asc"), ("asc", "desc"))
    after = None
    if "marker" in asked:
        named = reading.identity("marker", asked["marker"])
        after = reading.as_id(named)
        if after is None:
            raise Fault(f"Deploy template {named} could not be found.", falcon.HTTP_404)
    return Page(limit, SortKey(sort), direction == "desc", after)


def _checked(body: object) -> Mapping[str, Any]:
    """Return the body of a new template, in which only name and steps are left to check."""
    if not isinstance(body, dict):
        raise Fault("Schema error for template: the body is not an object")
    if unknown := [key[:60] for key in body if key not in _MEMBERS]:
        raise Fault(f"Schema error for template: unknown {', '.join(unknown)}; a template has {', '.join(_MEMBERS)}")
    if missing := [key for key in ("name", "steps") if key not in body]:
        raise Fault(f"Schema error for template: {missing[0]!r} is a required property")
    if not isinstance(body.get("extra"), dict | None):
        raise Fault("Schema error for template: extra is not an object")
    chosen = body.get("uuid")
    if not (chosen is None or (isinstance(chosen, str) and reading.as_id(chosen))):
        raise Fault("Schema error for template: uuid is not a UUID")
    return body


def _entity(req: falcon.Request, stored: StoredTemplate, fields: Iterable[str]) -> dict[str, Any]:
    """Return fields of a template as JSON; secrets among the arguments of its steps are hidden."""
    steps = [step.to_json() for step in stored.template.steps]
    whole = {
        "uuid": stored.id,
        "name": stored.template.name,
        "steps": [{**step, "args": without_secrets(step["args"])} for step in steps],
        "extra": stored.extra,
        "created_at": stored.created_at.isoformat(timespec="microseconds"),
        "updated_at": stored.updated_at.isoformat(timespec="microseconds") if stored.updated_at else None,
        "links": [
            {"href": f"{req.prefix}/v1/deploy_templates/{stored.id}", "rel": "self"},
            {"href": f"{req.prefix}/deploy_templates/{stored.id}", "rel": "bookmark"},
        ],
    }
    return {name: whole[name] for name in dict.fromkeys(fields)}


def _version(stored: StoredTemplate) -> tuple[object, ...]:
    return ("deploy template", stored.id, stored.version)


def _tag(stored: StoredTemplate) -> str:
    return entity_tags.tag_of(*_version(stored))


def _is_current(req: falcon.Request) -> IsCurrent:
    """Return the check of ``If-Match``."""
    return lambda stored: entity_tags.is_for(req, _tag(stored))
