"""Documents as processes see them: loaders in each other's way, secrets on their way, a store beside us."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
import sqlalchemy as sa

from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.yaml_stream import read_documents, write_documents
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.server import in_thread
from tests.factories import document
from tests.integration.api import canaries
from tests.integration.storage.rows import TABLES
from tests.stand import DESIGN, Stand
from tests.waiting import PATIENCE

KEY = "x9fT5oXl0nN7p1kq3W8s2b6vC4dE0yAaRrUuZzHhJjM="  # of these tests only
FILLER = 120


def body(collection: str, number: int) -> bytes:
    """A collection whose documents say who wrote them; large enough to be cut in the middle of."""
    return write_documents(
        document("a/B/v1", f"{collection}-{index}", {"writer": number, "filler": "x" * 500}) for index in range(FILLER)
    )


def test_ten_loaders_and_a_server_that_is_killed_again_and_again(tmp_path: Path, database_url: str) -> None:
    """No acknowledged load is lost, no half of one is seen, no lock stays behind, and numbers come in order."""
    with Stand(tmp_path, database_url, settings={"SHIPYARD_API_WORKERS": "2"}) as stand:
        calm = threading.Event()

        def load(number: int) -> tuple[str, int, bool]:
            """Load a collection of its own, or with four others the same one, until there is a clear answer."""
            collection = f"own{number}" if number < 5 else "same"
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                with contextlib.suppress(requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
                    answer = stand.request(
                        "POST",
                        f"/configdocs/{collection}",
                        params={"buffermode": "append"},
                        data=body(collection, number),
                        headers={"Content-Type": DESIGN},
                    )
                    if answer.status_code == 201:
                        return collection, number, True
                    assert answer.status_code == 409, answer.text
                    if "Invalid collection" in answer.json()["message"]:
                        return collection, number, False
                time.sleep(0.02)
            raise AssertionError(f"loader {number} got no answer")

        def kill() -> None:
            for _ in range(4):
                if calm.wait(0.2):
                    return
                for pid in _children(stand.processes["api"].pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    break

        with ThreadPoolExecutor(11) as pool:
            killer = pool.submit(kill)
            outcomes = list(pool.map(load, range(10)))
            calm.set()
            killer.result()

        held = {}
        for collection in {name for name, _, _ in outcomes}:
            shown = stand.request("GET", f"/configdocs/{collection}")
            documents = read_documents(shown.content)
            assert len(documents) == FILLER, collection
            (held[collection],) = {one["data"]["writer"] for one in documents}
        assert {name for name in held if name.startswith("own")} == {f"own{number}" for number in range(5)}
        for collection, number, won in outcomes:
            # Who was told 201 is who is there. An answer that was lost on its way may have been a 201.
            if won:
                assert held[collection] == number
        free = stand.request("POST", "/configdocs/last", params={"buffermode": "append"}, data=body("last", 0))
        assert free.status_code == 201, free.text

    engine = connect(database_url, pool_size=1)
    with engine.connect() as connection:
        numbers = [row[0] for row in connection.execute(sa.text("SELECT id FROM revisions ORDER BY created_at, id"))]
    engine.dispose()
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) == 7


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def test_secrets_are_in_no_log_and_no_table_of_a_whole_deployment(tmp_path: Path, database_url: str) -> None:
    design = [*canaries.design()]
    with Stand(tmp_path, database_url, settings={"SHIPYARD_SECRETS_KEYS": KEY, "SHIPYARD_LOG_LEVEL": "DEBUG"}) as stand:
        stand.start("worker")
        stand.commit(write_documents(design))
        action = stand.deploy_site()
        ended = stand.wait(action)
        told = json.dumps(ended) + json.dumps([stand.listing(action, what) for what in ("groups", "nodes")])
        logs = stand.log("api") + stand.log("worker")
        shown = stand.request("GET", "/renderedconfigdocs", params={"version": "last_site_action"}).text
        clear = stand.request(
            "GET", "/renderedconfigdocs", params={"version": "successful_site_action", "cleartext-secrets": "true"}
        ).text

    assert ended["verdict"] == "success"
    assert canaries.found_in(clear) == list(canaries.WORDS)
    assert canaries.found_in(told + logs + shown) == []
    engine = connect(database_url, pool_size=1)
    with engine.connect() as connection:
        rows = [repr([bytes(v) if isinstance(v, memoryview) else v for v in row]) for table in TABLES for row in
                connection.execute(sa.select(table))]  # fmt: skip
    engine.dispose()
    assert canaries.found_in("\n".join(rows)) == []


def test_a_site_whose_documents_are_in_deckhand_is_deployed(tmp_path: Path, database_url: str) -> None:
    """Loaded through us, kept and rendered by Deckhand, fetched there by Drydock, and the tag is left there."""
    with in_thread(DeckhandSimulator()) as deckhand:
        url = f"{deckhand.url}/api/v1.0"
        settings = {"SHIPYARD_DESIGNS_STORE": "deckhand", "SHIPYARD_DECKHAND_URL": url,
                    "SHIPYARD_DECKHAND_TOKEN": "ours", "SHIPYARD_DRYDOCK_DESIGN_URL": "",
                    "SHIPYARD_SECRETS_KEYS": new_key()}  # fmt: skip
        with Stand(tmp_path, database_url, settings=settings) as stand:
            stand.start("worker")
            stand.commit(write_documents(canaries.design()))
            ended = stand.wait(stand.deploy_site())
            rendered = stand.request("GET", "/renderedconfigdocs", params={"version": "successful_site_action"}).text
            changed = [*canaries.design(), document("a/B/v1", "more", {"x": 1})]
            stand.request("POST", "/configdocs/design", data=write_documents(changed))
            (compared,) = stand.request("GET", "/configdocs", params={"base-version": "last-site-action"}).json()
            logs = stand.log("api") + stand.log("worker")
        revisions = requests.get(f"{url}/revisions", headers={"X-Auth-Token": "any"}, timeout=PATIENCE).text

    assert ended["verdict"] == "success"
    assert "site-action-success" in revisions
    assert "layering-policy" in rendered
    assert canaries.found_in(rendered + logs) == []
    assert [one["name"] for one in compared["documents"] if one["status"] == "created"] == ["more"]
    engine = connect(database_url, pool_size=1)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM revisions")).scalar_one() == 0
    engine.dispose()
