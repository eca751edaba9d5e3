"""Fuel's own clients, unmodified, against a live ``shipyard up``: ``fuel`` and ``fuel2`` (contract, 7 and 12).

Runs where ``FUEL_CLIENT`` names the command ``fuel`` of a python-fuelclient (``.ci/real_fuel_client.py``).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.acceptance.programs import run, stack_of_its_own
from tests.conftest import ROOT
from tests.waiting import PATIENCE, until

CLIENT = os.environ.get("FUEL_CLIENT", "")
pytestmark = pytest.mark.skipif(not CLIENT, reason="FUEL_CLIENT names no command of a python-fuelclient")

SHELL = {"type": "shell", "role": "*", "parameters": {"cmd": "true", "timeout": 60}}
GRAPH = [
    {"id": "pre_deployment", "type": "stage"},
    {"id": "hiera", **SHELL, "required_for": ["pre_deployment"], "odd": {"kept": [1, None]}},
    {"id": "netconfig", **SHELL, "requires": ["pre_deployment"]},
    {"id": "galera", **SHELL, "requires": ["netconfig"], "tags": ["mysql"]},
]
ROLE = {"name": "controller", "meta": {"name": "Controller", "tags": ["mysql"]}, "volumes_roles_mapping": []}


@dataclass(frozen=True)
class Clients:
    """Both commands of the client, run in one directory."""

    environment: dict[str, str]
    directory: Path

    def fuel(self, *words: str) -> str:
        return self._done(CLIENT, *words)

    def fuel2(self, *words: str) -> Any:
        """The answer of a command that shows or lists something; else its text."""
        out = self._done(f"{CLIENT}2", *words)
        return json.loads(out) if "-f" in words and "json" in words else out

    def refused(self, command: str, *words: str) -> str:
        done = self._run(command, *words)
        assert done.returncode == 1, done.stdout
        return done.stdout + done.stderr

    def file(self, name: str, content: object = ...) -> Any:
        """What is in a file of the directory; ``content``: what is put there."""
        path = self.directory / name
        if content is not ...:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return yaml.safe_load(path.read_text(encoding="utf-8"))

    def _done(self, *command: str) -> str:
        done = self._run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with stack_of_its_own() as (directory, ready, environment):
        own = {**environment, "SHIPYARD_URL": ready["url"], "SHIPYARD_TOKEN": ready["token"]}
        site = str(ROOT / "docs" / "examples" / "small-site.yaml")
        for words in (["create", "configdocs", "design", f"--filename={site}"], ["commit", "configdocs"]):
            done = run(words, own)
            assert done.returncode == 0, done.stdout + done.stderr
        address = urlsplit(ready["url"])
        where = {"SERVER_ADDRESS": str(address.hostname), "SERVER_PORT": str(address.port)}
        identity = {"OS_USERNAME": "ann", "OS_PASSWORD": ready["token"], "OS_TENANT_NAME": "shipyard"}
        kept = {name: value for name, value in own.items() if not name.startswith("OS_")}
        home = {"HOME": str(directory), "XDG_CONFIG_HOME": str(directory / "config")}
        made_clients = Clients({**kept, **home, **where, **identity}, directory)
        made_clients.fuel("rel")  # the first command writes its settings, and says so
        yield made_clients


@pytest.fixture(scope="module")
def prepared(clients: Clients) -> Clients:
    """A release with a graph, a tag and a role, all of them written by the clients."""
    clients.file("release_1/deployment_tasks.yaml", GRAPH)
    clients.fuel("rel", "--rel", "1", "--deployment-tasks", "--upload", "--dir", ".")
    clients.file("releases_1/mysql.yaml", {"name": "mysql", "meta": {"has_primary": True}})
    clients.fuel2("tag", "create", "-r", "1", "-n", "mysql", "-f", "yaml", "-d", ".")
    clients.file("role.yaml", ROLE)
    clients.fuel("role", "--rel", "1", "--create", "--file", "role.yaml")
    return clients


@pytest.fixture(scope="module")
def deployed(prepared: Clients) -> Clients:
    """The same with deployed nodes, on which tasks run."""
    for words in (["create", "action", "deploy_site"], ["watch", "latest"]):
        done = run(words, prepared.environment)
        assert done.returncode == 0, done.stdout + done.stderr
    return prepared


def test_a_graph_is_uploaded_and_downloaded(prepared: Clients) -> None:
    prepared.fuel("rel", "--rel", "1", "--deployment-tasks", "--download", "--dir", ".")
    prepared.fuel("env", "--env", "1", "--deployment-tasks", "--download", "--dir", ".")
    assert prepared.file("release_1/deployment_tasks.yaml") == GRAPH
    assert prepared.file("cluster_1/deployment_tasks.yaml") == GRAPH

    own = [{"id": "more", **SHELL, "requires": ["galera"]}]
    prepared.file("cluster_1/deployment_tasks.yaml", own)
    prepared.fuel("env", "--env", "1", "--deployment-tasks", "--upload", "--dir", ".")
    prepared.fuel("env", "--env", "1", "--deployment-tasks", "--download", "--dir", ".")
    assert prepared.file("cluster_1/deployment_tasks.yaml") == [*GRAPH, *own]
    prepared.file("cluster_1/deployment_tasks.yaml", [])
    prepared.fuel("env", "--env", "1", "--deployment-tasks", "--upload", "--dir", ".")


def test_a_layer_of_the_graph_is_downloaded(prepared: Clients) -> None:
    for level, tasks in (("--all", GRAPH), ("--release", GRAPH), ("--cluster", []), ("--plugins", [])):
        prepared.fuel2("graph", "download", "-e", "1", level, "-f", "layer.yaml")
        assert prepared.file("layer.yaml") == tasks, level


# What no seed asks for: there is one environment, and it has one graph.
REFUSED = {
    "an environment created": (["env", "create", "-r", "1", "demo"], "commit configdocs"),
    "an environment deleted": (["env", "delete", "--force", "1"], "this address takes GET, PUT."),
    "graphs listed": (["graph", "list"], "one graph, of the type default"),
    "graphs of an environment listed": (["graph", "list", "-e", "1"], "one graph, of the type default"),
    "a graph uploaded": (["graph", "upload", "-e", "1", "-t", "x", "-f", "layer.yaml"], "--deployment-tasks"),
    "a graph deleted": (["graph", "delete", "-e", "1", "-t", "x"], "one graph, of the type default"),
    "a graph executed": (["graph", "execute", "-e", "1", "-t", "x"], "fuel2 env nodes deploy"),
}


@pytest.mark.parametrize("row", REFUSED)
def test_a_refusal_names_what_to_do(prepared: Clients, row: str) -> None:
    words, text = REFUSED[row]
    prepared.file("layer.yaml", GRAPH)

    assert text in prepared.refused(f"{CLIENT}2", *words)


def test_a_tree_of_tasks_is_synchronized(prepared: Clients) -> None:
    prepared.file("tree/1.0/modules/b/tasks.yaml", GRAPH[2:])
    prepared.file("tree/1.0/modules/a/my_tasks.yaml", GRAPH[:2])
    prepared.fuel("rel", "--sync-deployment-tasks", "--dir", "tree")
    prepared.fuel("rel", "--rel", "1", "--deployment-tasks", "--download", "--dir", ".")

    found = prepared.file("release_1/deployment_tasks.yaml")
    assert sorted(found, key=lambda one: one["id"]) == sorted(GRAPH, key=lambda one: str(one["id"]))
    prepared.file("release_1/deployment_tasks.yaml", GRAPH)
    prepared.fuel("rel", "--rel", "1", "--deployment-tasks", "--upload", "--dir", ".")


def test_an_invalid_graph_is_refused_with_what_is_wrong(prepared: Clients) -> None:
    cycle = [{"id": "a", **SHELL, "requires": ["b"]}, {"id": "b", **SHELL, "requires": ["a", "nowhere"]}]
    prepared.file("cluster_1/deployment_tasks.yaml", cycle)

    said = prepared.refused(CLIENT, "env", "--env", "1", "--deployment-tasks", "--upload", "--dir", ".")

    assert "Tasks wait for each other: a -> b -> a." in said


def test_a_graph_is_drawn(prepared: Clients) -> None:
    drawn = prepared.fuel("graph", "--env", "1", "--download", "--end", "netconfig", "--remove", "stage")
    prepared.fuel("graph", "--env", "1", "--download", "--skip", "galera", "--dir", ".")
    parents = prepared.fuel("graph", "--env", "1", "--download", "--parents-for", "galera")

    assert "strict digraph G {" in drawn
    assert "galera [color=gray95];" in drawn
    assert "netconfig [color=yellowgreen, style=filled];" in drawn
    assert "pre_deployment [" not in drawn
    assert ("netconfig -> galera;" in parents, "hiera" in parents) == (True, False)


def test_tags_are_created_changed_and_deleted(prepared: Clients) -> None:
    prepared.file("clusters_1/swift.yaml", {"name": "swift", "meta": {"has_primary": False}})
    prepared.fuel2("tag", "create", "-e", "1", "-n", "swift", "-f", "yaml", "-d", ".")
    assert {one["name"] for one in prepared.fuel2("tag", "list", "-e", "1", "-f", "json")} == {"mysql", "swift"}
    prepared.file("clusters_1/swift.yaml", {"name": "swift", "meta": {"has_primary": True}})
    prepared.fuel2("tag", "update", "-e", "1", "-n", "swift", "-f", "yaml", "-d", ".")
    prepared.fuel2("tag", "download", "-e", "1", "-n", "swift", "-f", "yaml", "-d", ".")
    assert prepared.file("clusters_1/swift.yaml")["meta"] == {"has_primary": True}
    prepared.fuel2("tag", "delete", "-e", "1", "-n", "swift")
    said = prepared.refused(f"{CLIENT}2", "tag", "delete", "-e", "1", "-n", "swift")
    assert "Tag 'swift' is not found for the cluster 1" in said


def test_roles_are_shown_and_assigned_with_their_tags(prepared: Clients) -> None:
    assert [one["name"] for one in prepared.fuel2("role", "list", "-e", "1", "-f", "json")] == ["controller"]
    assert "controller" in prepared.fuel("role", "--rel", "1")
    prepared.fuel("role", "--rel", "1", "--role", "controller", "--file", "shown.yaml")
    assert prepared.file("shown.yaml") == ROLE

    node = str(prepared.fuel2("node", "list", "-f", "json")[0]["id"])
    prepared.fuel2("env", "add", "nodes", "-e", "1", "-n", node, "-r", "controller")

    assert prepared.fuel2("node", "show", node, "-f", "json")["roles"] in (["controller"], "controller")
    said = prepared.refused(f"{CLIENT}2", "tag", "delete", "-r", "1", "-n", "mysql")
    assert "Tag 'mysql' is assigned to nodes" in said
    prepared.fuel2("env", "remove", "nodes", "-e", "1", "-n", node)
    assert prepared.fuel2("node", "show", node, "-f", "json")["roles"] in ([], "")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--tasks", "hiera", "netconfig"], id="tasks"),
        pytest.param(["--skip", "netconfig"], id="skip"),
        pytest.param(["--end", "pre_deployment"], id="end"),
        pytest.param(["--start", "netconfig", "--end", "galera"], id="start and end"),
    ],
)
def test_tasks_run_on_nodes(deployed: Clients, words: list[str]) -> None:
    at_rest(deployed)
    before = len(deployed.fuel2("task", "list", "-f", "json"))
    node = str(deployed.fuel2("node", "list", "-f", "json")[0]["id"])
    deployed.fuel2("env", "add", "nodes", "-e", "1", "-n", node, "-r", "controller")

    deployed.fuel("node", "--node", node, *words)

    runs = at_rest(deployed)
    assert len(runs) == before + 1
    number = str(runs[-1]["id"])
    assert deployed.fuel2("task", "show", number, "-f", "json")["cluster"] == 1
    deployed.fuel2("task", "history", "show", number, "-f", "json")
    deployed.fuel("deployment-tasks", "--task-id", number)


def test_nodes_are_deployed_and_unknown_tasks_refused(deployed: Clients) -> None:
    at_rest(deployed)
    first, second = (str(one["id"]) for one in deployed.fuel2("node", "list", "-f", "json")[:2])
    deployed.fuel2("env", "add", "nodes", "-e", "1", "-n", first, second, "-r", "controller")

    assert "task" in deployed.fuel2("env", "nodes", "deploy", "-e", "1", "-n", first, second, "--force").lower()
    said = deployed.refused(CLIENT, "node", "--node", first, "--tasks", "nowhere")
    assert "Tasks nowhere are not present in deployment graph" in said


def at_rest(clients: Clients) -> list[Any]:
    """Wait until no tasks run, and return all runs, of which there may be none."""
    runs: list[Any] = []

    def ended() -> bool:
        runs[:] = sorted(clients.fuel2("task", "list", "-f", "json"), key=lambda one: one["id"])
        return all(one["status"] in ("ready", "error") for one in runs)

    until(ended, every=0.5)
    return runs
