"""A caller who writes too often is told when to come back; nobody else notices."""

import json

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.settings.types import Count
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import ApiOptions
from tests.integration.api import description
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.wire import JSON, YAML, Caller, Site, messages, small_design
from tests.integration.storage.rows import empty, with_stopped_clock
from tests.peer import Peer

CHANGES_NOTHING = ("/api/v1.0/plans", "/api/v1.0/forecasts")
WRITES = [
    (method, path.replace("{", "").replace("}", ""))
    for method, path, _ in description.airship_operations()
    # Who signs out writes nothing, and is known by a cookie.
    if method != "GET" and path not in (*CHANGES_NOTHING, "/oidc/sign-out")
]


@pytest.fixture
def stopped_url(shared_url: str, engine: sa.Engine) -> str:
    """The address of the database, whose clock has stopped: only a test lets time pass."""
    return with_stopped_clock(engine, shared_url)


@pytest.fixture
def site(stopped_url: str, store: Store, engine: sa.Engine, drydock: Peer) -> Site:
    """An API that takes two writes at once and one more in a minute."""
    empty(engine)
    api = ApiOptions(writes_per_minute=Count(1), writes_burst=2)
    return new_site(bootstrap.api(settings(stopped_url, drydock.url, api=api)), store, engine, drydock)


def exhaust(caller: Caller) -> None:
    for _ in range(2):
        assert caller.post("/commitconfigdocs").status == falcon.HTTP_409


def test_every_write_counts_and_is_refused_before_its_body_is_read(site: Site, engine: sa.Engine) -> None:
    exhaust(site.admin)

    assert len(WRITES) > 10
    for method, path in WRITES:
        answer = site.admin.ask(method, path, body=b"]", headers=YAML)
        assert answer.status == falcon.HTTP_429, f"{method} {path}"
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert (answer.json["message"], answer.json["retry"]) == ("Too many requests", True)
        assert answer.headers["Retry-After"] in messages(answer)[0]["message"]
    # Reading is not limited, nor is a plan that is not stored; another token of the same name is another caller.
    assert site.admin.get("/actions").status == falcon.HTTP_200
    for path in CHANGES_NOTHING:
        assert site.admin.ask("POST", path, body=b"{}", headers=JSON).status_code == 400
    assert site.admin.post("/plans", '{"name": "test_site"}', JSON).status == falcon.HTTP_200
    assert site.admin.post("/plans", '{"name": "test_site"}', JSON, store="true").status == falcon.HTTP_429
    _, secret = ApiTokens(site.store).create("ann", "admin")
    assert Caller(site.admin.client.app, secret).post("/commitconfigdocs").status == falcon.HTTP_409
    # Whoever comes back when told is let in.
    pause = int(site.admin.post("/commitconfigdocs").headers["Retry-After"])
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE rate_limits SET free_at = free_at - :s * interval '1 s'"), {"s": pause})
    assert site.admin.load("design", *small_design()).status == falcon.HTTP_201


def test_a_script_may_write_a_template_for_each_of_many_nodes(site: Site) -> None:
    """Each changes one row, so 20 of them count as one load; a large one counts as more."""
    step = {"interface": "bios", "step": "apply_configuration", "args": {}, "priority": 1}

    def write(name: str, note: str = "") -> int:
        body = json.dumps({"name": name, "steps": [step], "extra": {"note": note}})
        sent = {"Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": "1.55"}
        return site.admin.client.simulate_post("/v1/deploy_templates", body=body, headers=sent).status_code

    codes = [write(f"CUSTOM_T{number}") for number in range(42)]

    assert codes[:36] == [201] * 36
    assert codes[-1] == 429
    assert write("CUSTOM_LARGE", "x" * 300_000) == 429


def test_what_does_not_get_that_far_is_not_counted(site: Site, engine: sa.Engine) -> None:
    """Nor does it reach the database: there is no row of anybody."""
    for _ in range(5):
        assert site.nobody.post("/commitconfigdocs").status == falcon.HTTP_401
        assert site.viewer.post("/commitconfigdocs").status == falcon.HTTP_403
        assert site.admin.post("/commitconfigdocs", verbosity="9").status == falcon.HTTP_400
        assert site.admin.ask("PUT", "/api/v1.0/actions").status == falcon.HTTP_405

    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM rate_limits")).scalar_one() == 0


def test_all_processes_count_together(site: Site, stopped_url: str, drydock: Peer) -> None:
    api = ApiOptions(writes_per_minute=Count(1), writes_burst=2)
    _, secret = ApiTokens(site.store).create("bob", "admin")
    apps = (site.admin.client.app, bootstrap.api(settings(stopped_url, drydock.url, api=api)))
    here, there = (Caller(app, secret) for app in apps)
    assert here.post("/commitconfigdocs").status == falcon.HTTP_409
    assert there.post("/commitconfigdocs").status == falcon.HTTP_409

    assert there.post("/commitconfigdocs").status == falcon.HTTP_429
    assert here.post("/commitconfigdocs").status == falcon.HTTP_429
