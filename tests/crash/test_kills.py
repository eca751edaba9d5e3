"""A site is deployed while processes are killed and frozen, connections are cut, the database is restarted and its
provisioner breaks: as if nothing were. ``./dev crash tests/crash/test_kills.py -k seed-N`` plays a trial again.

The proof is the simulator's own log: no node is worked on twice in a phase, whatever was repeated on our side.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.storage import migrations
from shipyard_api.storage.run_history import Entry
from shipyard_api.storage.unit_of_work import connect
from shipyard_simulators.embedded_postgres.server import RunningPostgres, temporary
from tests import run_histories
from tests.conftest import ROOT
from tests.cuttable import cuttable
from tests.databases import let_go
from tests.factories import layering_policy
from tests.stand import SHORT, Stand


class Blow(Enum):
    """What happens to one of the processes."""

    KILL_WORKER = "a worker is killed"
    FREEZE_WORKER = "a worker stops for a while, and goes on"
    KILL_API = "the API is killed"
    CUT = "all connections between workers and database are reset"


ALL = tuple(Blow)


@dataclass(frozen=True)
class Trial:
    """How large the site is and how much goes wrong: how many blows of which sorts, and restarts of the database."""

    groups: int
    nodes: int
    blows: int
    restarts: int
    workers: int
    seed: int
    scale: float
    sorts: tuple[Blow, ...] = (Blow.KILL_WORKER,)
    provisioner: str = "drydock"


SMALL = Trial(groups=5, nodes=40, blows=6, restarts=1, workers=1, seed=7, scale=0.03)
LARGE = [
    Trial(groups=12, nodes=200, blows=25, restarts=2, workers=1, seed=11, scale=0.05),
    Trial(groups=12, nodes=200, blows=30, restarts=2, workers=2, seed=12, scale=0.1),
    *(
        Trial(groups=6, nodes=60, blows=12, restarts=1, workers=2, seed=seed, scale=0.1, sorts=ALL)
        for seed in range(100, 110)
    ),
    *(
        Trial(6, 60, blows=12, restarts=1, workers=2, seed=seed, scale=0.1, sorts=ALL, provisioner=peer)
        for peer, seeds in (("maas", range(200, 203)), ("ironic", range(300, 303)))
        for seed in seeds
    ),
]

FAULTS: dict[str, list[dict[str, Any]]] = {
    "drydock": [
        {"method": "POST", "path": "/tasks", "action": "drop_after_effect", "probability": 0.15},
        {"method": "POST", "path": "/tasks", "action": "error_after_effect", "status": 500, "probability": 0.1},
        {"method": "POST", "path": "/tasks", "action": "drop", "probability": 0.1},
        {"method": "POST", "path": "/tasks", "action": "hang", "seconds": 700, "probability": 0.03},
        {"method": "GET", "path": "/tasks/*", "action": "drop", "probability": 0.05},
        {"method": "GET", "path": "/tasks", "status": 500, "probability": 0.1},
        {"method": "GET", "path": "/tasks/*", "status": 500, "probability": 0.1},
        {"method": "POST", "path": "/nodefilter", "status": 500, "probability": 0.1},
        {"method": "GET", "path": "/nodes", "status": 500, "probability": 0.1},
    ],
    **{
        peer: [
            {"method": method, "action": "drop_after_effect", "probability": 0.1},
            {"method": method, "action": "error_after_effect", "status": 500, "probability": 0.05},
            {"method": method, "action": "drop", "probability": 0.05},
            {"method": "GET", "action": "drop", "probability": 0.05},
            {"method": "GET", "status": 500, "probability": 0.05},
        ]
        for peer, method in (("maas", "POST"), ("ironic", "PUT"))
    },
}


@pytest.fixture
def server() -> Iterator[RunningPostgres]:
    """A server of this test alone, since it is restarted."""
    with temporary({"synchronous_commit": "on"}) as running:
        engine = connect(running.url)
        migrations.upgrade(engine, ROOT / "migrations")
        engine.dispose()
        yield running


def design(trial: Trial) -> bytes:
    """A site of groups that partly overlap and partly depend on each other; one node in twenty fails."""
    pick = random.Random(trial.seed)
    documents: list[dict[str, Any]] = []
    names = []
    for number in range(trial.nodes):
        fate = {0: "-fails-prepare", 1: "-fails-deploy"}.get(number % 40, "")
        names.append(f"n{number:03}{fate}")
        metadata = {"tags": [f"group-{number % trial.groups}"], "rack": f"rack{number % 3}"}
        documents.append(_document("drydock/BaremetalNode/v1", names[-1], {"metadata": metadata}))
    groups = [
        {
            "name": f"group-{index}",
            "critical": index % 4 == 0,
            "depends_on": sorted({f"group-{pick.randrange(index)}" for _ in range(2)}) if index > 2 else [],
            "selectors": [{"node_tags": [f"group-{index}"]}, {"node_names": pick.sample(names, 3)}],
            "success_criteria": {"percent_successful_nodes": pick.choice([50, 80, 100])},
        }
        for index in range(trial.groups)
    ]
    documents.append(_document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": groups}))
    configuration = {"armada": {"manifest": "full-site"}, "physical_provisioner": {"verify_timeout": 30_000}}
    for phase in ("deploy", "prepare_node", "prepare_site"):
        # Long limits: this trial is about repeating and losing, and a slow machine must not turn it into timeouts.
        configuration["physical_provisioner"][f"{phase}_timeout"] = 30_000
    documents.append(_document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration))
    documents.append(_document("drydock/Region/v1", "region", {}))
    documents.append(layering_policy())
    return yaml.safe_dump_all(documents).encode()


def _document(schema: str, name: str, data: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "schema": "metadata/Document/v1",
        "name": name,
        "storagePolicy": "cleartext",
        "layeringDefinition": {"layer": "site", "abstract": False},
    }
    return {"schema": schema, "metadata": metadata, "data": data}


Ending = tuple[str, dict[str, tuple[str, str]], dict[str, tuple[str, str]]]


def ending(stand: Stand, action: str) -> Ending:
    """How an action ended: verdict, groups and nodes with status and reason."""
    groups = {one["name"]: (one["status"], one["reason"]) for one in stand.listing(action, "groups")}
    nodes = {one["name"]: (one["status"], one["reason"]) for one in stand.listing(action, "nodes")}
    return stand.action(action)["verdict"], groups, nodes


def calm_run(directory: Path, database_url: str, trial: Trial) -> Ending:
    """How the same site ends when nothing goes wrong but its own nodes."""
    with Stand(directory, database_url, scale=0.002, **_peer(directory, trial)) as stand:
        stand.commit(design(trial))
        stand.start("worker")
        action = stand.deploy_site()
        stand.wait(action)
        return ending(stand, action)


def _peer(directory: Path, trial: Trial) -> dict[str, Any]:
    """Which provisioner a stand has; MAAS and Ironic know their machines from the design."""
    if trial.provisioner == "drydock":
        return {}
    machines = directory / "design.yaml"
    machines.write_bytes(design(trial))
    return {"provisioner": trial.provisioner, "machines": machines}


def troubled_run(
    directory: Path, server: RunningPostgres, url: str, trial: Trial, happened: list[Entry]
) -> tuple[Ending, Stand]:
    """The same site while workers are killed at random instants and the database is restarted: ``happened``."""
    scenario = directory / "faults.yaml"
    faults = {"name": "now-and-then", "seed": 5, "service": FAULTS[trial.provisioner]}
    scenario.write_text(yaml.safe_dump(faults))
    pick, peer = random.Random(trial.seed), _peer(directory, trial)
    with cuttable(url) as line, Stand(directory, url, scenario=scenario, scale=trial.scale, **peer) as stand:
        stand.worker_settings = {"DATABASE_URL": line.url}
        stand.commit(design(trial))
        workers = [f"worker-{number}" for number in range(trial.workers)]
        for name in workers:
            stand.start(name)
        action = stand.deploy_site()
        restarts = set(pick.sample(range(1, trial.blows), trial.restarts))
        for blow in range(trial.blows):
            time.sleep(pick.uniform(0.2, 3.0))
            name, sort = pick.choice(workers), pick.choice(trial.sorts)
            happened.append(_fault(sort.name.lower(), sort.value))
            if sort is Blow.KILL_WORKER:
                stand.kill(name)
                stand.start(name)
            elif sort is Blow.FREEZE_WORKER:
                stand.freeze(name, pick.uniform(0.5, 4.0))
            elif sort is Blow.KILL_API:
                stand.kill("api")
                stand.start("api")
            else:
                line.cut()
            if blow in restarts:
                if blow % 2:
                    os.kill(server.pid, signal.SIGKILL)
                server.restart()
                happened.append(_fault("restart", "the database"))
            stand.tend()
        ended_early = stand.action(action)["verdict"] is not None
        stand.wait(action)
        assert not ended_early, "the action ended before all the blows: the trial is too short to mean anything"
        return ending(stand, action), stand


def _fault(kind: str, what: str) -> Entry:
    now = datetime.now(UTC)
    return {"at": now, "process": "fault", "operation": kind, "type": "info", "value": {"what": what}}


def check(tmp_path: Path, server: RunningPostgres, trial: Trial) -> None:
    head, _, _name = server.url.rpartition("/")
    calm, troubled = tmp_path / "calm", tmp_path / "troubled"
    calm.mkdir()
    troubled.mkdir()
    _clone(server.url, "calm_run")
    _clone(server.url, "troubled_run")
    expected = calm_run(calm, f"{head}/calm_run", trial)
    happened: list[Entry] = []
    found, stand = troubled_run(troubled, server, f"{head}/troubled_run", trial, happened)

    assert found == expected
    begun = Counter(_begun(trial.provisioner, stand.events()))
    assert {what: times for what, times in begun.items() if times > 1} == {}
    assert {name for _phase, name in begun} == {
        name for name, (status, _reason) in found[2].items() if status != "not_started"
    }
    settle = float(SHORT["SHIPYARD_ENGINE_SETTLE_SECONDS"])
    header = {"made_by": "crash", "provisioner": trial.provisioner, "seed": trial.seed, "settle": settle}
    name, peers = f"kills-{trial.seed}", {trial.provisioner: stand.events()}
    assert run_histories.of_processes(name, f"{head}/troubled_run", peers, more=happened, **header) == []


def _begun(provisioner: str, events: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Give each phase of a node that the provisioner was asked for, by its own log."""
    for event in events:
        match provisioner, event:
            case "drydock", {"event": "task_requested", "action": action, "node_filter": {"filter_set": [one, *_]}}:
                yield from ((action, name) for name in one["node_names"])
            case "drydock", {"event": "node_started", "phase": phase, "node": node}:
                yield phase, node
            case "maas", {"event": "machine", "kind": "status", "to": "Commissioning" | "Deploying" as phase}:
                # A machine that failed may be commissioned once more: its mark follows the operation.
                if not (phase == "Commissioning" and event["from"] == "Failed commissioning"):
                    yield phase, event["machine"]
            case "ironic", {"event": "verb", "verb": "provide" | "active" as phase}:
                yield phase, event["node"]


def _clone(url: str, name: str) -> None:
    import psycopg2

    head, _, source = url.rpartition("/")
    let_go(url)
    connection = psycopg2.connect(f"{head}/postgres")
    connection.autocommit = True
    connection.cursor().execute(f"CREATE DATABASE {name} TEMPLATE {source}")
    connection.close()


def test_a_killed_worker_a_restarted_database_and_a_failing_drydock_change_nothing(
    tmp_path: Path, server: RunningPostgres
) -> None:
    check(tmp_path, server, SMALL)


@pytest.mark.crash
@pytest.mark.parametrize("trial", LARGE, ids=lambda trial: f"seed-{trial.seed}")
def test_at_full_size(tmp_path: Path, server: RunningPostgres, trial: Trial) -> None:
    check(tmp_path, server, trial)
