"""The audit log: a line for each request that would change something, and no secret in any of them."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.observing import logs
from shipyard_api.settings.types import Count
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import ApiOptions
from tests.integration.api import canaries, description
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.in_process import Client
from tests.integration.api.wire import JSON, YAML, Caller, Site, small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer

FIELDS = {
    "at", "level", "logger", "message", "user", "key", "roles", "method", "path", "query", "status", "action",
    "created_action", "collection", "address", "forwarded_for_claimed", "request", "context_marker", "seconds",
}  # fmt: skip
MARKER = "10b2a3c4-0000-4000-8000-00000000cafe"


class Lines(logging.Handler):
    """Keeps the lines as they would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logs.JsonLines())
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))

    @property
    def one(self) -> dict[str, Any]:
        (line,) = self.written
        found: dict[str, Any] = json.loads(line)
        return found


@pytest.fixture
def audit() -> Iterator[Lines]:
    lines, logger = Lines(), logging.getLogger(logs.AUDIT)
    level = logger.level
    # Not the attribute: a logger remembers what it is enabled for.
    logger.setLevel(logging.INFO)
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)
    logger.setLevel(level)


def filled(path: str) -> str:
    return path.replace("{collection_id}", "design").replace("{action_id}", "x").replace("{control_verb}", "pause")


def test_every_write_leaves_a_line_whatever_becomes_of_it(site: Site, audit: Lines) -> None:
    """Reading leaves none."""
    writes = [(method, path) for method, path, _ in description.airship_operations() if method != "GET"]
    for method, path in writes:
        for caller, code in ((site.nobody, 401), (site.peer, 403), (site.admin, None)):
            audit.written.clear()

            answer = caller.ask(method, filled(path), headers={"X-Context-Marker": MARKER})

            line = audit.one
            assert set(line) == FIELDS
            assert (line["method"], line["path"]) == (method, filled(path))
            assert line["status"] == answer.status_code
            assert code in (None, answer.status_code) or path.startswith("/oidc")  # of a provider, if there is one
            assert (line["request"], line["context_marker"]) == (answer.headers["X-Shipyard-Req"], MARKER)
            assert line["address"] == "127.0.0.1"
            assert line["seconds"] >= 0
    for method, path, query, code in (
        ("POST", "/nowhere", "", 404),
        ("PUT", "/api/v1.0/actions", "", 405),
        ("POST", "/api/v1.0/actions", "verbosity=9", 400),
        ("POST", "/api/v1.0/%00", "", 400),
    ):
        audit.written.clear()
        site.admin.client.simulate_request(method, path, query_string=query)
        assert audit.one["status"] == code
    audit.written.clear()
    # A caller who hangs up while sending.
    site.admin.client.simulate_post("/api/v1.0/configdocs/design", body=b"a: 1", headers={"Content-Length": "9"})
    assert (audit.one["status"], audit.one["user"]) == (400, "ann")
    audit.written.clear()
    for method in ("GET", "OPTIONS", "HEAD"):
        site.admin.client.simulate_request(method, "/api/v1.0/actions")
    assert audit.written == []


def test_who_wrote_what(site: Site, engine: sa.Engine, audit: Lines) -> None:
    site.admin.load("design", *small_design())
    site.admin.commit()
    load, commit = map(json.loads, audit.written)
    assert (load["collection"], load["status"], load["action"], load["created_action"]) == ("design", 201, None, None)
    assert (commit["path"], commit["status"]) == ("/api/v1.0/commitconfigdocs", 200)
    audit.written.clear()

    action = site.create_action()

    line = audit.one
    assert (line["user"], line["roles"], line["action"], line["created_action"]) == ("ann", ["admin"], action, action)
    assert line["key"] in [token.id for token in ApiTokens(site.store).all()]
    audit.written.clear()
    site.admin.post(f"/actions/{action}/control/stop")
    assert (audit.one["action"], audit.one["created_action"], audit.one["status"]) == (action, None, 409)
    # The line of a retry has both actions, and an action that was refused is none.
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
    audit.written.clear()
    second = site.admin.post(f"/actions/{action}/control/retry").json["id"]
    assert (audit.one["status"], audit.one["action"], audit.one["created_action"]) == (201, action, second)
    audit.written.clear()
    assert site.admin.act().status_code >= 400
    assert (audit.one["action"], audit.one["created_action"]) == (None, None)
    # Of whom we do not know nothing is told but where they are; another of that name is told by their own key.
    audit.written.clear()
    site.nobody.ask("POST", "/api/v1.0/actions", headers={"X-Forwarded-For": "10.1.2.3", "X-Auth-Token": "wrong"})
    unknown = audit.one
    assert (unknown["user"], unknown["key"], unknown["roles"], unknown["status"]) == (None, None, [], 401)
    assert (unknown["address"], unknown["forwarded_for_claimed"]) == ("127.0.0.1", "10.1.2.3")
    audit.written.clear()
    Caller(site.admin.client.app, ApiTokens(site.store).create("ann", "viewer")[1]).post("/actions")
    assert (audit.one["user"], audit.one["key"] == line["key"]) == ("ann", False)


def test_a_refused_body_and_a_refused_hurry(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer, audit: Lines
) -> None:
    empty(engine)
    api = ApiOptions(json_bytes=10, writes_per_minute=Count(1), writes_burst=1)
    site = new_site(bootstrap.api(settings(shared_url, drydock.url, api=api)), store, engine, drydock)

    site.admin.post("/actions", b" " * 11, JSON)
    site.admin.post("/actions", b" " * 11, JSON)

    assert [json.loads(line)["status"] for line in audit.written] == [413, 429]
    audit.written.clear()
    # Nor need there be a database.
    nowhere = Client(bootstrap.api(settings("postgresql://nobody@127.0.0.1:9/none")))
    nowhere.simulate_post("/api/v1.0/actions", headers={"X-Auth-Token": "t"})
    assert (audit.one["status"], audit.one["user"]) == (503, None)


def test_a_bug(site: Site, audit: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: CommitConfigdocs, *_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(CommitConfigdocs, "__call__", broken)
    site.admin.client.simulate_post("/api/v1.0/commitconfigdocs")

    assert (audit.one["status"], audit.one["user"]) == (500, "ann")
    assert "swordfish" not in audit.written[0]


def test_neither_bodies_nor_secrets_are_written(site: Site, audit: Lines) -> None:
    query = f"token={canaries.TEXT}&force=true&x=http://me:{canaries.TEXT}@peer/&%74oken={canaries.TEXT}&Api-Key=abc"
    for name, body in canaries.malformed().items():
        site.admin.ask("POST", f"/api/v1.0/configdocs/{name.replace(' ', '-')}", body=body, headers=YAML, query=query)
    headers = {"Authorization": f"Bearer {canaries.TEXT}", "Cookie": canaries.TEXT, **JSON}
    site.nobody.ask("POST", "/api/v1.0/actions", body=f'{{"name": "{canaries.TEXT}"}}', headers=headers)

    assert len(audit.written) == len(canaries.malformed()) + 1
    assert canaries.found_in("\n".join(audit.written)) == []
    assert "force=true" in json.loads(audit.written[0])["query"]


def test_what_a_caller_chooses_can_neither_forge_a_line_nor_fill_the_disk(site: Site, audit: Lines) -> None:
    site.admin.ask(
        "POST", "/api/v1.0/configdocs/a%0a%7b%22user%22:%22eve%22%7d", headers={"X-Forwarded-For": "9" * 5000}
    )

    assert "\n" not in audit.written[0]
    assert audit.one["user"] == "ann"
    assert len(audit.written[0]) < 4000
    assert audit.one["forwarded_for_claimed"].endswith("9[4000 characters left out]")
    for query in ("x=password:&y=%22", 'x=token:"', "x='Cookie=[", "x=-----BEGIN PRIVATE KEY-----"):
        audit.written.clear()
        site.admin.ask("POST", "/api/v1.0/commitconfigdocs", query=f"{query}&force=true")
        assert audit.one["query"].endswith("&force=true")


def test_a_long_address_of_a_stranger_costs_no_time(site: Site, audit: Lines) -> None:
    """As long as gunicorn lets through. When each took 1.6 s, these took a minute."""
    before = time.process_time()
    for _ in range(20):
        site.nobody.ask("POST", f"/{'b' * 8000}", query="a" * 8000, headers={"X-Forwarded-For": "a-" * 4000})
    assert time.process_time() - before < 6

    line = json.loads(audit.written[0])
    assert (len(audit.written), line["query"]) == (20, f"{'a' * 1000}[7000 characters left out]")
    assert line["path"] == f"/{'b' * 999}[7001 characters left out]"


@pytest.fixture
def audit_file(tmp_path: Path) -> Iterator[Path]:
    root, logger = logging.getLogger(), logging.getLogger(logs.AUDIT)
    before = (list(root.handlers), root.level, logger.propagate, logger.level)
    yield tmp_path / "audit.log"
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    root.handlers[:], root.level, logger.propagate, logger.level = before


def test_it_may_have_a_file_of_its_own(site: Site, audit_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the level of the log, and also after somebody has moved the file away."""
    logs.configure("ERROR", str(audit_file))

    site.admin.post("/commitconfigdocs")
    moved = audit_file.rename(audit_file.with_suffix(".1"))
    site.admin.post("/actions", b"{}", JSON)

    assert [json.loads(line)["path"] for line in moved.read_text().splitlines()] == ["/api/v1.0/commitconfigdocs"]
    assert [json.loads(line)["path"] for line in audit_file.read_text().splitlines()] == ["/api/v1.0/actions"]
    assert audit_file.stat().st_mode & 0o027 == 0
    assert "write" not in capsys.readouterr().out
    with pytest.raises(OSError, match="nowhere"):
        logs.configure("INFO", str(audit_file.parent / "nowhere" / "audit.log"))
    # Without a file it is part of the log.
    logs.configure("ERROR")
    site.admin.post("/commitconfigdocs")
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["logger"] == logs.AUDIT
