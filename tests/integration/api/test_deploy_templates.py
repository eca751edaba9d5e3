"""Deploy templates over HTTP, as Ironic serves them and as seed 003 has them (contract: Ironic deploy templates)."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.api.ironic import templates
from shipyard_api.api.ironic.templates import RULES
from shipyard_api.api.mount import Mount
from shipyard_api.storage.unit_of_work import Store
from tests.integration.api import description
from tests.integration.api.in_process import Client
from tests.integration.api.wire import Site
from tests.integration.storage.rows import counts
from tests.unit.tables import every_row

PATH, DASHED = "/v1/deploy_templates", "/v1/deploy-templates"
VERSION = "X-OpenStack-Ironic-API-Version"
USED = {VERSION: "1.55"}
STEP = {"interface": "raid", "step": "create", "args": {}, "priority": 10}
NOWHERE = str(uuid4())
BASE = "http://falconframework.org"


class Ironic:
    """A caller who speaks as Ironic's clients do."""

    def __init__(self, app: Mount, token: str | None) -> None:
        self.client = Client(app, headers={"X-Auth-Token": token} if token else None)

    def ask(self, method: str, path: str = "", body: object = ..., **options: Any) -> Result:
        """Ask for a path below the templates, or for one that begins with a slash and /v1."""
        target = path if path == "/" or path.startswith("/v1") else PATH + path
        target, _, query = target.partition("?")
        headers = {
            **USED,
            "Accept": "application/json",
            "Content-Type": "application/json",
            **options.get("headers", {}),
        }
        text = options.get("raw", None if body is ... else json.dumps(body))
        sent = {name: value for name, value in headers.items() if value is not None}
        answer = self.client.simulate_request(method, target, query_string=query, body=text, headers=sent)
        if method != "HEAD":
            description.check(method, target.removesuffix(".json").rstrip("/") or "/", answer)
        return answer

    def make(self, name: str = "CUSTOM_A", *steps: object, **more: object) -> dict[str, Any]:
        answer = self.ask("POST", body={"name": name, "steps": list(steps or [STEP]), **more})
        assert answer.status == falcon.HTTP_201, answer.text
        made: dict[str, Any] = answer.json
        return made

    def patch(self, path: str, *operations: Mapping[str, object], **options: Any) -> Result:
        return self.ask("PATCH", f"/{path}", list(operations), **options)


def fault(answer: Result) -> dict[str, Any]:
    """The inner part of an error: a text that is JSON again, or the answer itself."""
    body = answer.json
    inner: dict[str, Any] = json.loads(body["error_message"]) if "error_message" in body else body
    return inner


def text(answer: Result) -> str:
    found = fault(answer)
    return str(found.get("faultstring") or found.get("description") or found)


class Callers(NamedTuple):
    admin: Ironic
    viewer: Ironic
    nobody: Ironic


@pytest.fixture
def callers(site: Site, app: Mount) -> Callers:
    admin, viewer = (one.client.headers["X-Auth-Token"] for one in (site.admin, site.viewer))
    return Callers(Ironic(app, admin), Ironic(app, viewer), Ironic(app, None))


@pytest.fixture
def admin(callers: Callers) -> Ironic:
    return callers.admin


# --- The resource -----------------------------------------------------------------------------------------------------


def test_a_template_is_created_shown_changed_and_removed(admin: Ironic) -> None:
    answer = admin.ask("POST", body={"name": "CUSTOM_A", "steps": [{**STEP, "priority": "7"}], "extra": {"a": 1}})

    made = answer.json
    path = f"{PATH}/{made['uuid']}"
    assert answer.status == falcon.HTTP_201
    assert answer.headers["Location"] == BASE + path
    assert made == {
        "uuid": made["uuid"],
        "name": "CUSTOM_A",
        "steps": [{**STEP, "priority": 7}],
        "extra": {"a": 1},
        "created_at": made["created_at"],
        "updated_at": None,
        "links": [
            {"href": f"{BASE}{path}", "rel": "self"},
            {"href": f"{BASE}/deploy_templates/{made['uuid']}", "rel": "bookmark"},
        ],
    }
    assert made["created_at"].endswith("+00:00")
    for name in (
        "CUSTOM_A",
        made["uuid"],
        made["uuid"].upper(),
        made["uuid"].replace("-", ""),
        "CUSTOM_A/",
        "CUSTOM_A.json",
    ):
        assert admin.ask("GET", f"/{name}").json == made
    changed = admin.patch("CUSTOM_A", {"op": "replace", "path": "/name", "value": "CUSTOM_B"}).json
    assert {**changed, "updated_at": None} == {**made, "name": "CUSTOM_B"}
    assert changed["updated_at"] >= made["created_at"]
    removed = admin.ask("DELETE", "/CUSTOM_B", headers={"Accept": "*/*", "Content-Type": "application/octet-stream"})
    assert (removed.status, removed.content, removed.headers.get("Content-Type")) == (falcon.HTTP_204, b"", None)
    assert admin.ask("GET", f"/{made['uuid']}").status == falcon.HTTP_404
    chosen = str(uuid4())
    made = admin.make(uuid=chosen.upper(), extra=None)
    assert (made["uuid"], made["extra"]) == (chosen, {})
    assert admin.make("CUSTOM_B", uuid=None)["uuid"] != chosen


def test_secrets_among_arguments_are_hidden_and_stay_stored(admin: Ironic, store: Store) -> None:
    args = {"Password": "x", "deep": [{"my_token": "y", "n": 1}], "api_key": "shown"}
    hidden = {"Password": "******", "deep": [{"my_token": "******", "n": 1}], "api_key": "shown"}
    made = admin.make("CUSTOM_A", {**STEP, "args": args})

    changed = admin.patch("CUSTOM_A", {"op": "add", "path": "/extra/a", "value": 1})

    shown = [
        made,
        changed.json,
        admin.ask("GET", "/CUSTOM_A").json,
        admin.ask("GET", "?detail=1").json["deploy_templates"][0],
    ]
    assert [one["steps"][0]["args"] for one in shown] == [hidden] * 4
    with store.begin() as tx:
        kept = tx.deploy_templates.get(made["uuid"])
    assert kept is not None
    assert kept.template.steps[0].args == args


def test_the_seeds_example_on_its_own_path(admin: Ironic) -> None:
    """Seed 003, REST API impact: its addresses, the key of its list, entries with their steps."""
    disks = {
        "logical_disks": [{"size_gb": "MAX", "raid_level": "1", "is_root_volume": True}],
        "delete_configuration": True,
    }
    step = {"interface": "raid", "step": "create_configuration", "args": disks, "priority": 10}
    name = "CUSTOM_BM_CONFIG_RAID_DISK_MIRROR"

    made = admin.ask("POST", DASHED, {"name": name, "steps": [step]})

    assert (made.status, made.headers["Location"]) == (falcon.HTTP_201, f"{BASE}{DASHED}/{made.json['uuid']}")
    listed = {"uuid": made.json["uuid"], "name": name, "steps": [step]}
    assert admin.ask("GET", DASHED).json == {"deploy-templates": [listed]}
    shown = admin.ask("GET", f"{DASHED}/{name}").json
    assert {key: shown[key] for key in listed} == listed
    assert admin.ask("GET", f"/{name}").json == shown
    operations = [
        {"op": "replace", "path": "/name", "value": name},
        {"op": "replace", "path": "/steps", "value": [step]},
    ]
    assert admin.ask("PATCH", f"{DASHED}/{name}", operations).json == shown
    assert admin.ask("GET", f"{DASHED}/?limit=1").json["next"].startswith(f"{BASE}{DASHED}?")
    assert admin.ask("DELETE", f"{DASHED}/{name}").status == falcon.HTTP_204
    assert admin.ask("GET").json == {"deploy_templates": []}


# --- Lists ------------------------------------------------------------------------------------------------------------


def names(answer: Result) -> list[str]:
    assert answer.status == falcon.HTTP_200, answer.text
    return [one["name"].removeprefix("CUSTOM_") for one in answer.json["deploy_templates"]]


def test_fields_and_details_of_a_list(admin: Ironic) -> None:
    made = admin.make()
    links = {"links": made["links"]}

    for query, entry in {
        "": {"uuid": made["uuid"], "name": "CUSTOM_A", **links},
        "?detail=True": made,
        "?detail=off": {"uuid": made["uuid"], "name": "CUSTOM_A", **links},
        "?fields=name,steps": {"name": "CUSTOM_A", "steps": [STEP], **links},
        "?fields=NAME,%20Extra%20&fields=uuid": {"name": "CUSTOM_A", "extra": {}, "uuid": made["uuid"], **links},
        "?fields=": links,
        "?fields=name&detail=false": {"name": "CUSTOM_A", **links},
        "?fields=links": links,
    }.items():
        assert admin.ask("GET", query).json == {"deploy_templates": [entry]}, query
    assert admin.ask("GET", "/CUSTOM_A?fields=name").json == {"name": "CUSTOM_A", **links}


def test_pages_and_order(admin: Ironic, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {name: admin.make(f"CUSTOM_{name}") for name in "CAB"}

    assert names(admin.ask("GET")) == ["C", "A", "B"]
    assert names(admin.ask("GET", "?sort_key=name")) == ["A", "B", "C"]
    assert names(admin.ask("GET", "?sort_key=name&sort_dir=desc")) == ["C", "B", "A"]
    assert names(admin.ask("GET", f"?marker={made['A']['uuid']}")) == ["B"]
    assert names(admin.ask("GET", "?limit=5000")) == ["C", "A", "B"]
    first = admin.ask("GET", "/?limit=2&detail=yes&sort_key=name")
    assert first.json["next"] == (
        f"{BASE}{PATH}?sort_key=name&sort_dir=asc&detail=True&limit=2&marker={made['B']['uuid']}"
    )
    last = admin.ask("GET", first.json["next"].removeprefix(BASE))
    assert (names(first), names(last), "next" in last.json) == (["A", "B"], ["C"], False)
    full = admin.ask("GET", "?limit=3&fields=uuid,name").json["next"]
    assert "&fields=uuid,name&limit=3" in full
    assert names(admin.ask("GET", full.removeprefix(BASE))) == []
    monkeypatch.setattr(templates, "MOST", 2)
    for query in ("", "?limit=3"):
        largest = admin.ask("GET", query)
        assert (names(largest), "limit=2" in largest.json["next"]) == (["C", "A"], True)


# --- Patches ----------------------------------------------------------------------------------------------------------

OTHER = {**STEP, "step": "delete"}
PATCHES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "nothing": ([], {}),
    "name by add": ([{"op": "add", "path": "/name", "value": "CUSTOM_B"}], {"name": "CUSTOM_B"}),
    "append": ([{"op": "add", "path": "/steps/-", "value": OTHER}], {"steps": [STEP, OTHER]}),
    "insert": ([{"op": "add", "path": "/steps/0", "value": OTHER}], {"steps": [OTHER, STEP]}),
    "an argument": (
        [{"op": "add", "path": "/steps/0/args/k", "value": [1]}],
        {"steps": [{**STEP, "args": {"k": [1]}}]},
    ),
    "a priority": (
        [{"op": "replace", "path": "/steps/0/priority", "value": "0"}],
        {"steps": [{**STEP, "priority": 0}]},
    ),
    "insert and remove": (
        [{"op": "add", "path": "/steps/-", "value": OTHER}, {"op": "remove", "path": "/steps/0"}],
        {"steps": [OTHER]},
    ),
    "extra by key": ([{"op": "add", "path": "/extra/c", "value": 3}], {"extra": {"a": 1, "c": 3}}),
    "no extra": ([{"op": "remove", "path": "/extra"}], {"extra": {}}),
    "extra of null": ([{"op": "replace", "path": "/extra", "value": None}], {"extra": {}}),
}


def test_a_patch(admin: Ironic) -> None:
    made = admin.make(extra={"a": 1})

    @every_row(PATCHES)
    def patched(patch: list[dict[str, Any]], change: dict[str, Any]) -> None:
        """From the template as it was made."""
        answer = admin.patch(made["uuid"], *patch)

        assert answer.status == falcon.HTTP_200, answer.text
        assert {**answer.json, "updated_at": None} == made | change
        assert admin.ask("GET", f"/{made['uuid']}").json == answer.json
        unchanged = [{"op": "add", "path": f"/{name}", "value": made[name]} for name in ("name", "steps", "extra")]
        assert admin.patch(made["uuid"], *unchanged).status == falcon.HTTP_200

    assert admin.patch(made["uuid"]).json["updated_at"] is None
    patched()


def test_a_reader_knows_the_version_and_a_writer_changes_only_that(admin: Ironic) -> None:
    admin.make()
    shown = admin.ask("GET", "/CUSTOM_A")
    tag = shown.headers["ETag"]
    rename = {"op": "add", "path": "/name", "value": "CUSTOM_B"}

    assert admin.ask("GET", "/CUSTOM_A", headers={"If-None-Match": tag}).status == falcon.HTTP_304
    refused = admin.patch("CUSTOM_A", rename, headers={"If-Match": 'W/"other"'})
    assert (refused.status, text(refused)) == (
        falcon.HTTP_412,
        "Deploy template CUSTOM_A has changed: get it again, and use its new ETag.",
    )
    changed = admin.patch("CUSTOM_A", rename, headers={"If-Match": f'"x", {tag}'})
    assert changed.status == falcon.HTTP_200
    assert admin.ask("GET", "/CUSTOM_B").headers["ETag"] == changed.headers["ETag"] != tag
    assert admin.ask("DELETE", "/CUSTOM_B", headers={"If-Match": tag}).status == falcon.HTTP_412
    assert admin.ask("DELETE", "/CUSTOM_B", headers={"If-Match": "*"}).status == falcon.HTTP_204


# --- Versions and discovery -------------------------------------------------------------------------------------------

RANGE = ("1.1", "1.55")
VERSIONS: dict[str, tuple[str, str, dict[str, str], int, str | None, bool]] = {
    # name: method, path, headers, code, version that was used, whether the range is named
    "templates": ("GET", PATH, {VERSION: "1.55"}, 200, "1.55", True),
    "latest": ("GET", PATH, {VERSION: "Latest"}, 200, "1.55", True),
    "the common header": ("GET", PATH, {"OpenStack-API-Version": "baremetal 1.55"}, 200, "1.55", True),
    "the common header wins": (
        "GET",
        PATH,
        {"OpenStack-API-Version": "baremetal 1.55", VERSION: "1.1"},
        200,
        "1.55",
        True,
    ),
    "another service": ("GET", PATH, {"OpenStack-API-Version": "compute 2.1", VERSION: "1.55"}, 200, "1.55", True),
    "no version": ("GET", PATH, {}, 404, None, False),
    "no version, no method": ("PUT", f"{DASHED}/x", {}, 405, None, False),
    "too high": ("GET", PATH, {VERSION: "1.56"}, 406, None, True),
    "the newest Ironic's": ("PATCH", f"{PATH}/x", {VERSION: "1.115"}, 406, None, True),
    "below all": ("GET", "/", {VERSION: "1.0"}, 406, None, True),
    "another major one": ("GET", "/v1", {VERSION: "2.1"}, 406, None, True),
    "no number": ("GET", "/v1", {VERSION: "abc"}, 406, None, False),
    "discovery": ("GET", "/v1", {}, 200, "1.1", True),
    "the root": ("GET", "/", {}, 200, "1.1", True),
    "an error of a resource": ("GET", f"{PATH}/CUSTOM_NONE", {VERSION: "1.55"}, 404, "1.55", True),
}


def test_versions(callers: Callers) -> None:
    @every_row(VERSIONS)
    def answered(method: str, path: str, headers: dict[str, str], code: int, used: str | None, ranged: bool) -> None:
        caller = callers.viewer if method == "GET" else callers.admin
        answer = caller.ask(method, path, headers={VERSION: None, "Accept": "*/*", **headers})

        assert answer.status_code == code, answer.text
        named = tuple(answer.headers.get(f"X-OpenStack-Ironic-API-{one}-Version") for one in ("Minimum", "Maximum"))
        assert (answer.headers.get(VERSION), named) == (used, RANGE if ranged else (None, None))
        if used is None:
            assert set(fault(answer)) == {"code", "title", "description"}
            assert fault(answer)["code"] == code

    answered()


def test_discovery_is_public_and_leads_to_the_templates(callers: Callers) -> None:
    root, version = callers.nobody.ask("GET", "/").json, callers.nobody.ask("GET", "/v1/").json

    one = {
        "id": "v1",
        "status": "CURRENT",
        "min_version": "1.1",
        "version": "1.55",
        "links": [{"href": f"{BASE}/v1/", "rel": "self"}],
    }
    assert (root["default_version"], root["versions"], version["version"]) == (one, [one], one)
    assert version["deploy_templates"] == [
        {"href": f"{BASE}{PATH}/", "rel": "self"},
        {"href": f"{BASE}/deploy_templates/", "rel": "bookmark"},
    ]
    assert "deploy_templates" not in callers.nobody.ask("GET", "/v1", headers={VERSION: "1.54"}).json


# --- Who may ----------------------------------------------------------------------------------------------------------


def test_readers_read_and_admins_write(callers: Callers) -> None:
    callers.admin.make()
    addresses = (("GET", ""), ("GET", "/CUSTOM_A"), ("POST", ""), ("PATCH", "/CUSTOM_A"), ("DELETE", "/CUSTOM_A"))

    for method, address in [(method, path + below) for path in (PATH, DASHED) for method, below in addresses]:
        unknown, viewer = (one.ask(method, address, []) for one in (callers.nobody, callers.viewer))
        error = {"code": 401, "title": "Unauthorized", "message": unknown.json["error"]["message"]}
        assert (unknown.status_code, unknown.json["error"]) == (401, error)
        assert unknown.headers["WWW-Authenticate"]
        assert viewer.status_code == (200 if method == "GET" else 403)
        if method != "GET":
            assert text(viewer) == f"Access was denied to the following resource: {RULES[method]}"
    private = callers.admin.ask("GET", "/CUSTOM_NONE").headers
    assert private["Cache-Control"] == "no-store"
    assert private["X-Openstack-Request-Id"] == f"req-{private['X-Shipyard-Req']}"
    assert names(callers.admin.ask("GET")) == ["A"]


# --- Bad input --------------------------------------------------------------------------------------------------------


class Bad(NamedTuple):
    method: str
    path: str
    code: int
    says: str
    options: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


def create(says: str, code: int = 400, **changed: Any) -> Bad:
    body = {key: value for key, value in {"name": "CUSTOM_N", "steps": [STEP], **changed}.items() if value is not ...}
    return Bad("POST", "", code, says, {"body": body})


def patch(says: str, *operations: object, code: int = 400, path: str = "/CUSTOM_A") -> Bad:
    return Bad("PATCH", path, code, says, {"body": list(operations)})


def raw(says: str, body: bytes, code: int = 400, **headers: Any) -> Bad:
    return Bad("POST", "", code, says, {"raw": body, "headers": headers})


INVALID = "Schema error for template: "
TWICE = "Deploy template invalid: Duplicate deploy steps"
NO_TRAIT = INVALID + "name "
STEP_0 = INVALID + "steps[0] "
REASON = "Couldn't apply patch. Reason: "
BAD = {
    # bodies
    "no body": raw("not JSON", b""),
    "a list": raw("not an object", b"[]"),
    "no UTF-8": raw("not JSON", b'{"name": "\xff"}'),
    "too deep": raw("deeper than 25", b"[" * 26 + b"]" * 26),
    "too large": raw("at most", b'"' + b"x" * 100_001 + b'"', 413),
    "packed": raw("gzip", b"{}", 415, **{"Content-Encoding": "gzip"}),
    "no type": raw("Content-Type", b"{}", 400, **{"Content-Type": None}),
    # members
    "no name": create("'name' is a required property", name=...),
    "no steps": create("'steps' is a required property", steps=...),
    "an unknown member": create("unknown description", description="x"),
    "extra of a list": create("extra is not an object", extra=[]),
    "extra patched to a number": patch("extra is not an object", {"op": "replace", "path": "/extra", "value": 7}),
    "an empty id": create("uuid is not a UUID", uuid=""),
    "a taken name": create("A deploy template with name CUSTOM_A already exists.", 409, name="CUSTOM_A"),
    "a taken id": create("A deploy template with UUID {uuid} already exists.", 409, uuid="{uuid}"),
    # names
    "no trait": create(NO_TRAIT, name="RAID"),
    "a line feed": create(NO_TRAIT, name="CUSTOM_N\n"),
    # steps
    "an empty list": create("at least one step", steps=[]),
    "a step twice": create(TWICE, steps=[STEP, {**STEP, "args": {"a": 1}}]),
    # addresses and parameters
    "no template": Bad("GET", "/CUSTOM_NONE", 404, "Deploy template CUSTOM_NONE could not be found."),
    "no template with this id": Bad("GET", f"/{NOWHERE}", 404, f"Deploy template {NOWHERE} could not be found."),
    "no name at all": Bad("GET", "/a%20b", 400, "Expected UUID or name for template_ident: a b"),
    "no UTF-8 in the address": Bad("GET", "/%ff", 400, "not UTF-8"),
    "a name of another case": Bad("GET", "/custom_a", 404, "could not be found"),
    "no resource": Bad("GET", "/v1/nodes", 404, ""),
    "a parameter that is none": Bad("GET", "?foo=1&limit=1", 400, "Unexpected arguments: foo"),
    "detail of one": Bad("GET", "/CUSTOM_A?detail=True", 400, "Unexpected arguments: detail"),
    "a parameter of POST": Bad("POST", "?limit=1", 400, "Unexpected arguments: limit", {"body": {}}),
    "an unknown field": Bad("GET", "?fields=name,colour", 400, '"colour"'),
    "detail and fields": Bad("GET", "?detail=1&fields=name", 400, "Can not specify ?detail=True and fields"),
    "detail of maybe": Bad("GET", "?detail=maybe", 400, "'maybe'"),
    **{f"limit {one}": Bad("GET", f"?limit={one}", 400, "limit") for one in ("0", "x", "", "%D9%A3")},
    "an unknown marker": Bad("GET", f"?marker={NOWHERE}", 404, f"{NOWHERE} could not be found"),
    "no marker at all": Bad("GET", "?marker=a%20b", 400, "Expected UUID or name for marker: a b"),
    **{f"sorted by {one}": Bad("GET", f"?sort_key={one}", 400, "sort_key") for one in ("steps", "")},
    "sorted upwards": Bad("GET", "?sort_dir=up", 400, "sort_dir"),
    "another form": Bad("GET", "", 406, "Accept", {"headers": {"Accept": "text/html"}}),
    # methods
    "DELETE of all": Bad("DELETE", "", 400, "Missing mandatory parameter: template_ident"),
    "PUT": Bad("PUT", "/CUSTOM_A", 405, "", {"body": {}}),
    "HEAD": Bad("HEAD", "", 405, ""),
    "POST to the root": Bad("POST", "/", 405, "", {"body": {}}),
    "DELETE of none": Bad("DELETE", "/CUSTOM_NONE", 404, "could not be found"),
    # patches
    "a patch that is an object": Bad("PATCH", "/CUSTOM_A", 400, "not a list", {"body": {"op": "add"}}),
    "an operation that is a text": patch("operation 0 is not an object", "x"),
    "move": patch("op 'move'", {"op": "move", "path": "/name"}),
    "a key too many": patch("unknown key from", {"op": "add", "path": "/name", "value": "CUSTOM_B", "from": "/extra"}),
    "the whole": patch("path ''", {"op": "replace", "path": "", "value": {}}),
    "a path with a dot": patch("path '/extra/a.b'", {"op": "add", "path": "/extra/a.b", "value": 1}),
    "no value": patch("has no value", {"op": "add", "path": "/extra/a"}),
    "the id": patch(
        "Cannot patch /uuid. Only the following can be updated: extra, name, steps",
        {"op": "replace", "path": "/uuid", "value": NOWHERE},
    ),
    "the id of no template": patch("Cannot patch /uuid", {"op": "remove", "path": "/uuid"}, path="/CUSTOM_NONE"),
    "a target that is not there": patch(REASON, {"op": "replace", "path": "/extra/none", "value": 1}),
    "nothing to remove": patch(REASON, {"op": "remove", "path": "/steps/5"}),
    "a place beyond the end": patch(REASON, {"op": "add", "path": "/steps/5", "value": STEP}),
    "inside of a text": patch(REASON, {"op": "add", "path": "/name/x", "value": 1}),
    "without a name": patch("'name' is a required property", {"op": "remove", "path": "/name"}),
    "without its last step": patch("at least one step", {"op": "remove", "path": "/steps/0"}),
    "a step by its key": patch("unknown key foo", {"op": "add", "path": "/steps/0/foo", "value": 1}),
    "the same step again": patch(TWICE, {"op": "add", "path": "/steps/-", "value": STEP}),
    "all or nothing": patch(
        REASON, {"op": "add", "path": "/name", "value": "CUSTOM_B"}, {"op": "remove", "path": "/extra/x"}
    ),
    "another's name": patch(
        "A deploy template with name CUSTOM_O already exists.",
        {"op": "add", "path": "/name", "value": "CUSTOM_O"},
        code=409,
    ),
}


def test_bad_input_is_refused_and_changes_nothing(admin: Ironic, engine: sa.Engine) -> None:
    uuid = admin.make()["uuid"]
    admin.make("CUSTOM_O")
    before, kept = counts(engine), admin.ask("GET", "?detail=1").json["deploy_templates"]

    @every_row(BAD)
    def refused(bad: Bad) -> None:
        options = dict(bad.options)
        if "body" in options:
            options["body"] = json.loads(json.dumps(options["body"]).replace("{uuid}", uuid))

        answer = admin.ask(bad.method, bad.path, **options)

        assert answer.status_code == bad.code, answer.text
        # An address that cannot be read has no version either.
        assert answer.headers.get("X-OpenStack-Ironic-API-Maximum-Version") == (None if "%ff" in bad.path else "1.55")
        if bad.method != "HEAD":
            assert bad.says.replace("{uuid}", uuid) in text(answer)
            routed = bad.code == 405 or "description" in fault(answer)
            assert set(fault(answer)) >= ({"code", "title", "description"} if routed else {"faultcode", "faultstring"})
            bare = bad.code == 413 or "deeper" in bad.says
            assert ("error_message" in answer.json) != bare
        if bad.code == 405:
            assert "GET" in answer.headers["Allow"]
        assert (counts(engine), admin.ask("GET", "?detail=1").json["deploy_templates"]) == (before, kept)

    refused()
