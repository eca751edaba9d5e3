"""An API of many sites: each below its own addresses, with its own database, tokens and troubles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator, Registry

from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.programs import launch
from shipyard_api.wiring import site_serving
from shipyard_api.wiring.settings import Settings, load
from tests.integration.api import description
from tests.integration.api.in_process import Client

if TYPE_CHECKING:
    from tests.databases import Databases

UNREACHABLE = "postgresql://nobody@127.0.0.1:9/none"
ACTIONS = "/api/v1.0/actions"
YAML = "application/x-yaml"
POLICY = {
    "schema": "deckhand/LayeringPolicy/v1",
    "metadata": {"schema": "metadata/Control/v1", "name": "layering-policy"},
    "data": {"layerOrder": ["site"]},
}


def write(directory: Path, name: str, url: str, *, more: str = "") -> None:
    (directory / f"{name}.conf").write_text(
        f"[database]\nurl = {url}\n[drydock]\nurl = http://127.0.0.1:9\ndesign_url = http://127.0.0.1:9/{{revision}}\n"
        f"[identity]\ntoken_cache_seconds = 0\n{more}"
    )


def serve(directory: Path) -> Client:
    return Client(site_serving.api(str(directory), Settings(), CostlyWork()))


@pytest.fixture(scope="module")
def urls(postgres: Databases) -> Iterator[list[str]]:
    with ExitStack() as databases:
        yield [databases.enter_context(postgres.migrated()) for _ in range(2)]


@pytest.fixture
def two(tmp_path: Path, urls: list[str]) -> Client:
    """Berlin and Oslo, beside Riga whose database is away and Turku whose settings are invalid."""
    write(tmp_path, "berlin", urls[0])
    write(tmp_path, "oslo", urls[1])
    write(tmp_path, "riga", UNREACHABLE)
    write(tmp_path, "turku", urls[0].replace("/", "//", 0) + "_other", more="[nothing]\nat = all\n")
    return serve(tmp_path)


def token(url: str) -> dict[str, str]:
    return {"X-Auth-Token": launch.tokens(load({"DATABASE_URL": url})).create("tester", "admin")[1]}


def test_one_site_is_served_below_its_name_and_nowhere_else(tmp_path: Path, urls: list[str]) -> None:
    """A directory without sites serves none, and two files with one database are both refused."""
    client = serve(tmp_path)
    assert client.simulate_get("/sites").json == {"sites": []}
    assert client.simulate_get("/health").json == {"status": "ready", "sites": 0, "failed": []}
    assert client.simulate_get(f"/sites/berlin{ACTIONS}").status_code == 404

    write(tmp_path, "berlin", urls[0])
    client, headers = serve(tmp_path), token(urls[0])
    listed = client.simulate_get(f"/sites/berlin{ACTIONS}", headers=headers)
    assert (listed.status_code, listed.json) == (200, []), listed.text
    assert client.simulate_get(ACTIONS, headers=headers).status_code == 404
    assert client.simulate_get("/sites/berlin").headers["location"] == "/sites/berlin/"

    write(tmp_path, "copy", f"{urls[0]}{'&' if '?' in urls[0] else '?'}application_name=copy")
    failed = serve(tmp_path).simulate_get("/health").json["failed"]
    assert {one["name"] for one in failed} == {"berlin", "copy"}


def test_a_token_of_one_site_opens_nothing_at_another(two: Client, urls: list[str]) -> None:
    berlin, oslo = map(token, urls)

    for path in (ACTIONS, "/api/v1/nodes", "/v1/deploy_templates", "/events", "/metrics", f"{ACTIONS}/x"):
        assert two.simulate_get(f"/sites/oslo{path}", headers=berlin).status_code == 401, path
        assert two.simulate_get(f"/sites/berlin{path}", headers=oslo).status_code == 401, path
    assert two.simulate_get(f"/sites/berlin{ACTIONS}", headers=berlin).status_code == 200
    assert two.simulate_get(f"/sites/oslo{ACTIONS}", headers=oslo).status_code == 200
    # What is stored at one is not at the other, nor is it measured there.
    path, design = "/api/v1.0/configdocs/design", yaml.safe_dump(POLICY)
    made = two.simulate_post(f"/sites/berlin{path}", headers={**berlin, "Content-Type": YAML}, body=design)
    assert (made.status_code, made.headers["location"]) == (201, f"/sites/berlin{path}"), made.text
    for name, headers, code in (("berlin", berlin, 200), ("oslo", oslo, 404)):
        assert two.simulate_get(f"/sites/{name}{path}", headers=headers).status_code == code
    text = two.simulate_get("/sites/berlin/metrics", headers=berlin).text
    samples = [line for line in text.splitlines() if line and line[0] != "#"]
    assert all('site="berlin"' in line for line in samples)
    assert any(line.startswith("shipyard_request_seconds_count") for line in samples)
    assert any(line.startswith("shipyard_database_up") for line in samples)


FORMS: list[tuple[str, Callable[[Any], str]]] = [
    ("/api/v1.0/actions", lambda body: str(body["reason"] + body["message"])),
    ("/api/v1/nodes", lambda body: str(body["message"])),
    ("/v1/deploy_templates", lambda body: str(json.loads(body["error_message"])["description"])),
    ("/events", lambda body: str(body["reason"] + body["message"])),
]


PROBLEM = "application/problem+json"


def test_every_answer_outside_of_the_sites_is_described_there(two: Client) -> None:
    document = two.simulate_get("/openapi.json").json
    assert document == description.read("openapi-sites")
    registry = Registry([("urn:sites", document)])
    for method, path, operation in description.operations(document):
        answer = two.simulate_request(method, path)
        described = operation["responses"][str(answer.status_code)]
        assert answer.headers["X-Shipyard-Req"]
        if "content" in described:
            pointer = f"#/paths/{description.escape(path)}/get/responses/200/content/application~1json/schema"
            Draft202012Validator({"$ref": f"urn:sites{pointer}"}, registry=registry).validate(answer.json)


def test_an_unknown_site_and_one_with_invalid_settings_answer_in_the_form_of_the_dialect(two: Client) -> None:
    for path, text in FORMS:
        unknown, invalid = (two.simulate_get(f"/sites/{name}{path}") for name in ("bonn", "turku"))
        assert (unknown.status_code, "There is no site bonn." in text(unknown.json)) == (404, True)
        assert (invalid.status_code, "shipyard config check --sites" in text(invalid.json)) == (503, True)
    # As problems for callers who name their type.
    paths = ["/nowhere", *(f"/sites/{site}{path}" for site in ("bonn", "turku") for path, _ in FORMS)]
    for path in paths:
        answer = two.simulate_get(path, headers={"Accept": f"application/json, {PROBLEM}"})
        expected = (503, "Service Unavailable") if "turku" in path else (404, "Not Found")
        assert (answer.headers["Content-Type"], answer.json["status"], answer.json["title"]) == (PROBLEM, *expected)
        assert ("bonn" in answer.json["detail"]) == ("bonn" in path)


def test_a_sick_site_is_named_and_disturbs_no_other(two: Client, urls: list[str]) -> None:
    headers = token(urls[0])

    for _ in range(3):
        assert two.simulate_get(f"/sites/riga{ACTIONS}", headers=headers).status_code == 503
        assert two.simulate_get(f"/sites/berlin{ACTIONS}", headers=headers).status_code == 200
    health = two.simulate_get("/health")

    assert health.status_code == 200
    assert {one["name"]: one["detail"] for one in health.json["failed"]} == {
        "riga": "its database is out of reach",
        "turku": "its settings are invalid",
    }
    assert two.simulate_get("/sites/riga/health/ready").status_code == 503
    assert two.simulate_get("/sites/berlin/health/ready").status_code == 200


def test_connections_stay_below_the_bound_with_more_sites_than_it_has_room_for(
    tmp_path: Path, postgres: Databases
) -> None:
    from shipyard_api.wiring.settings import DatabaseOptions

    with ExitStack() as databases:
        urls = [databases.enter_context(postgres.migrated()) for _ in range(4)]
        for number, url in enumerate(urls):
            write(tmp_path, f"site-{number}", url)
        client = Client(site_serving.api(str(tmp_path), Settings(database=DatabaseOptions(pool_size=1)), CostlyWork()))
        asked = [(f"/sites/site-{number}{ACTIONS}", token(url)) for number, url in enumerate(urls)]

        assert [client.simulate_get(path, headers=headers).status_code for path, headers in 2 * asked] == 8 * [200]
