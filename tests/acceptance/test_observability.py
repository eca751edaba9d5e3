"""What a monitoring system sees of API and worker as they are run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from shipyard_simulators.held_port import HeldPort
from tests.conftest import ROOT
from tests.stand import Stand
from tests.waiting import PATIENCE

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
SAMPLES = ("grafana/shipyard.json", "prometheus/shipyard-rules.yaml")
Samples = dict[str, list[tuple[dict[str, str], float]]]


def parsed(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        found.setdefault(family.name, [])
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


@pytest.fixture
def port() -> Iterator[int]:
    with HeldPort() as held:
        yield held.number


def test_api_and_worker_are_scraped_and_probed(tmp_path: Path, database_url: str, port: int) -> None:
    settings = {"SHIPYARD_API_WORKERS": "2"}
    status = {"SHIPYARD_WORKER_STATUS_PORT": str(port), "SHIPYARD_WORKER_STALLED_SECONDS": "4"}
    with Stand(tmp_path, database_url, settings=settings, worker_settings=status) as stand:
        stand.commit(SITE.read_bytes())
        stand.start("worker")
        action = stand.request("POST", "/actions", json={"name": "deploy_site"}).json()["id"]
        assert stand.wait(action)["verdict"] == "success"
        # Connections of its own for each: whichever process answers counts for both.
        scrapes = [
            parsed(requests.get(f"{stand.url}/metrics", headers={"X-Auth-Token": stand.token}, timeout=PATIENCE).text)
            for _ in range(6)
        ]
        probe = subprocess.run(
            [sys.executable, "-m", "shipyard_api.programs.worker", "--probe"],
            env={**os.environ, **status, "SHIPYARD_CONFIG": os.devnull},
            capture_output=True,
            text=True,
            check=False,
        )
        worker = parsed(requests.get(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).text)
        stand.processes["worker"].send_signal(signal.SIGTERM)
        assert stand.processes["worker"].wait(PATIENCE) == 0

    assert (probe.returncode, probe.stderr) == (0, "")
    api = scrapes[-1]
    queries = "".join((ROOT / "etc" / name).read_text() for name in SAMPLES)
    used = {
        name.removesuffix("_count").removesuffix("_bucket")
        for name in re.findall(r"\b(?:shipyard|process)_\w+", queries)
    }
    assert used <= {*api, *worker}
    assert ({"action": "deploy_site", "state": "success"}, 1.0) in api["shipyard_actions"]
    assert api["shipyard_nodes"] == [({"status": "success"}, 16.0)]
    assert {labels["phase"] for labels, _ in api["shipyard_phases"]} == {"prepare", "deploy"}
    assert api["shipyard_workers"] == [({}, 1.0)]
    created = {"method": "POST", "route": "/api/v1.0/actions", "status": "201"}
    counted = [
        value for scrape in scrapes for labels, value in scrape["shipyard_request_seconds_count"] if labels == created
    ]
    assert counted == [1.0] * 6
    turns = {labels["outcome"]: value for labels, value in worker["shipyard_turn_seconds_count"]}
    assert turns["success"] > 3
    peers = {labels["system"] for labels, _ in worker["shipyard_peer_call_seconds_count"]}
    assert "Drydock" in peers
    assert worker["shipyard_effect_seconds_count"]
    known = {action, "n1", "node"}
    values = {
        value for samples in (*api.values(), *worker.values()) for labels, _ in samples for value in labels.values()
    }
    assert not values & known
