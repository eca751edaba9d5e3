"""What several workers, and a machine that loses its power, do to an action."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import requests

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ActionId
from shipyard_api.programs import launch
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.wiring.settings import load
from tests.acceptance.programs import left_running, marked, processes, reachable, up
from tests.conftest import ROOT
from tests.databases import empty
from tests.forked import Program
from tests.peer import Answer, running
from tests.stand import Stand
from tests.waiting import PATIENCE, until

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"

READY = {"api": "API is ready", "worker-1": "worker is ready", "worker-2": "worker is ready"}


def test_two_deploy_site_at_once_are_one_action_that_two_workers_share(tmp_path: Path, database_url: str) -> None:
    """Drydock fetches the designs with a token of ours as password, and a webhook is told everything."""
    hooks = tmp_path / "webhooks.yaml"
    _, secret = launch.tokens(load({"DATABASE_URL": database_url})).create("drydock", "viewer")
    with (
        running() as hook,
        Stand(tmp_path, database_url, scale=0.01, worker_settings={"SHIPYARD_WEBHOOKS_FILE": str(hooks)}) as stand,
    ):
        hook.on("POST /hook", Answer(204))
        hooks.write_text(json.dumps([{"name": "ops", "url": f"{hook.url}/hook", "secret": "s" * 32}]))
        stand.commit(SITE.read_bytes())
        address = stand.url.replace("://", f"://drydock:{secret}@")
        design = f"{address}/api/v1.0/revisions/{{revision}}/rendered-documents"
        stand.worker_settings = {**stand.worker_settings, "SHIPYARD_DRYDOCK_DESIGN_URL": design}
        stand.start("worker-1")
        stand.start("worker-2")
        first = stand.request("POST", "/actions", json={"name": "deploy_site"})
        second = stand.request("POST", "/actions", json={"name": "deploy_site"})
        assert (first.status_code, second.status_code) == (201, 409)
        action = first.json()["id"]
        assert action in second.json()["reason"]
        assert stand.wait(action)["verdict"] == "success"
        streamed = _stream(stand, action)

        def all_arrived() -> list[int]:
            found = [one.json["id"] for one in hook.requests if one.json["action_id"] == action]
            return found if found and found[-1] >= streamed[-1] else []

        told = until(all_arrived, lambda: [one.json for one in hook.requests], every=0.1)
        assert stand.request("POST", "/actions", json={"name": "deploy_site"}).status_code == 201
        events = stand.events()
        logs = {name: stand.log(name).splitlines() for name in stand.processes}
    assert not any(secret in line for lines in logs.values() for line in lines)
    ready = {name: sum(f'"{message}"' in line for line in logs[name]) for name, message in READY.items()}
    assert ready == dict.fromkeys(READY, 1)
    engine = connect(database_url, pool_size=1)
    with Store(engine, ProcrastinateWakeup()).begin() as tx:
        journal = tx.journal.entries(ActionId(action))
    engine.dispose()
    ids = [entry.id for entry in journal]
    assert streamed == ids
    assert told == ids[-len(told) :]  # a new webhook begins when the first worker finds it
    owners: defaultdict[int, set[str]] = defaultdict(set)
    for entry in journal:
        owners[entry.epoch].add(entry.worker)
    assert all(len(workers) == 1 for workers in owners.values())
    assert len({worker for workers in owners.values() for worker in workers}) == 2, "only one worker took part"
    intents = Counter(entry.fact.marker for entry in journal if entry.kind == "intended")
    assert set(intents.values()) == {1}
    started = Counter((event["phase"], event["node"]) for event in events if event["event"] == "node_started")
    assert set(started.values()) == {1}


@contextlib.contextmanager
def _worker(url: str, log: Path) -> Iterator[Program]:
    """A worker that has registered."""
    settings = {"SHIPYARD_CONFIG": os.devnull, "DATABASE_URL": url, "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api"}
    settings["SHIPYARD_DRYDOCK_DESIGN_URL"] = "http://127.0.0.1:9/{revision}"
    with log.open("wb") as output, contextlib.closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        process = Program("shipyard_api.programs.worker", [], {**os.environ, **settings}, output.fileno())
        with connection.cursor() as cursor:

            def registered() -> bool:
                assert process.poll() is None, log.read_text()
                cursor.execute("SELECT id FROM procrastinate_workers")
                return cursor.rowcount > 0

            until(registered, log.read_text, every=0.05)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)


def test_a_worker_that_lost_its_database_exits_with_1_and_a_stopped_one_with_0(
    tmp_path: Path, short_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its service manager learns that it is ready, alive and stopping."""
    log = tmp_path / "worker.log"
    monkeypatch.setenv("NOTIFY_SOCKET", str(short_path / "notify"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(short_path / "notify"))
        manager.settimeout(PATIENCE)
        with _worker(database_url, log) as stopped:
            assert [manager.recv(100), manager.recv(100)] == [b"READY=1", b"WATCHDOG=1"]
            stopped.terminate()
            assert stopped.wait(PATIENCE) == 0, log.read_text()
        while (state := manager.recv(100)) == b"WATCHDOG=1":
            pass
        assert state == b"STOPPING=1"
    # The manager is gone: a worker works on without one.
    with _worker(database_url, log) as bereft:
        empty(database_url)  # ends all sessions
        assert bereft.wait(PATIENCE) == 1, log.read_text()
    # Seen once under load: libpq itself writes what a server tells a connection that is in no query.
    lines = [json.loads(line) for line in log.read_text().splitlines() if not line.startswith("FATAL:  terminating")]
    assert "worker has no database" in [line["message"] for line in lines if line["level"] == "ERROR"]


def _get(told: dict[str, Any], path: str) -> Any:
    answer = requests.get(f"{told['url']}/api/v1.0{path}", headers={"X-Auth-Token": told["token"]}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def directory() -> Iterator[Path]:
    with reachable() as made:
        yield made


def test_up_comes_back_after_everything_was_killed_and_has_kept_everything(directory: Path) -> None:
    mark, environment = marked()
    child, told = up(directory, environment)
    try:
        headers = {"X-Auth-Token": told["token"]}
        base = f"{told['url']}/api/v1.0"
        assert requests.post(f"{base}/configdocs/design", data=SITE.read_bytes(), headers=headers, timeout=PATIENCE).ok
        assert requests.post(f"{base}/commitconfigdocs", headers=headers, timeout=PATIENCE).ok
        action = requests.post(
            f"{base}/actions", json={"name": "deploy_site"}, headers=headers, timeout=PATIENCE
        ).json()["id"]
        child.send_signal(signal.SIGKILL)
        for pid, _line in processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait(PATIENCE)

        child, again = up(directory, environment)
        assert again["token"] == told["token"]
        assert [entry["collection_name"] for entry in _get(again, "/configdocs")] == ["design"]
        log = directory / "up.log"
        # The simulated Drydock has forgotten its tasks; what matters is that the action goes on and comes to an end.
        until(lambda: _get(again, f"/actions/{action}")["verdict"], log.read_text, every=0.2)

        os.kill(int((directory / "data" / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        action = f"{again['url']}/api/v1.0/actions/{action}"
        until(lambda: "PostgreSQL exited" in log.read_text(), log.read_text, every=0.2)
        until(lambda: requests.get(action, headers=headers, timeout=PATIENCE).ok, log.read_text, every=0.2)
    finally:
        child.terminate()
        child.wait(PATIENCE)
    assert left_running(mark) == []


def _stream(stand: Stand, action: str) -> list[int]:
    """The ids of all events of an action that has ended, as a page gets them."""
    ticket = requests.post(
        f"{stand.url}/events/tickets", headers={"X-Auth-Token": stand.token}, timeout=PATIENCE
    ).json()
    query = {"action": action, "last_event_id": "0", "ticket": ticket["ticket"]}
    found, last = [], 0
    with requests.get(f"{stand.url}/events", params=query, stream=True, timeout=PATIENCE) as answer:
        for line in answer.iter_lines(decode_unicode=True):
            name, _, value = line.partition(": ")
            last = int(value) if name == "id" else last
            if name == "event":
                found.append(last)
            if (name, value) == ("event", "action_ended"):
                break
    return found
