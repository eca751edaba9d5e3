"""Runs of the software stage that are asked for over HTTP, and run on nodes in memory (seed 002)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.site_checks import ActionDesigns, RemoteAccess, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.nodes import Node, NodeName
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.ports.documents import SITE_ACTIONS
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.storage import tables
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.workflow.turn import Engine
from tests.fakes.clock import FakeClock
from tests.fakes.provisioner import FakeProvisioner
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.integration.api.test_software import GRAPH, TAGS, Fuel, fuel_of, prepared, task
from tests.integration.api.wire import Site
from tests.one_action import seconds_until_due, state_of
from tests.software_world import ROLES
from tests.task_graphs import SEED_GRAPH
from tests.world import RULES, SETTLE

NODES = ["n1", "n2", "n3"]


@pytest.fixture
def admin(site: Site) -> Fuel:
    return prepared(fuel_of(site, NODES).admin)


def run(
    site: Site, engine: sa.Engine, action: ActionId, tasks: FakeRemoteTasks | None = None, deliveries: int = 0
) -> None:
    """Run an action to its end, or only until so many deliveries."""
    rendered, clock = RenderedDesigns(site.designs), FakeClock()

    def reach(_: object, nodes: Sequence[NodeName]) -> tuple[Mapping[NodeName, Host], tuple[()]]:
        return {name: Host(name, "10.0.0.1") for name in nodes}, ()

    provisioner = FakeProvisioner([Node(NodeName(name)) for name in NODES])
    systems = Systems(provisioner, access=RemoteAccess(tasks or FakeRemoteTasks(polls=1), reach))
    definitions = catalog(site.store, ActionDesigns(site.designs, rendered.of), systems, RULES, RetryPolicy())
    worker = Engine(site.store, definitions, clock, settle=SETTLE, worker="w")
    with engine.begin() as connection:
        connection.execute(tables.actions.update().where(tables.actions.c.id == action).values(wake_at=clock.now()))
    for _ in range(deliveries or 200):
        worker.run(action)
        worker.items.run(action, "run")
        if state_of(site.store, action) in ENDED:
            return
        clock.advance(seconds_until_due(engine, action, clock.now()))
    assert deliveries, "the action does not end"


ALL = ["globals", "haproxy", "mysql", "rabbitmq"]
PLACES: dict[str, tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]] = {
    "a controller with all its tags": ({}, {}, {"n1": ALL}),
    "haproxy not on a mysql node": (
        {"n1": ["rabbitmq", "controller-common"]}, {"n2": ["controller-common"]},
        {"n1": ["globals", "mysql"], "n2": ["haproxy"]},
    ),
    "an instance of a tag": (
        {"n1": list(TAGS)}, {"n1": ["mysql:1"], "n2": ["mysql:2"]}, {"n1": ["globals"], "n2": ["second"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("taken", "given", "runs"), PLACES.values(), ids=PLACES)
def test_the_examples_of_seed_002_run_where_the_tags_are(
    site: Site, engine: sa.Engine, admin: Fuel, taken: Any, given: Any, runs: Any
) -> None:
    admin.put("releases/1/deployment_tasks/", [*GRAPH, task("second", tags=["mysql:2"])])
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    for node, tags in taken.items():
        admin.ask("DELETE", f"nodes/{node}/tags/", tags)
    for node, tags in given.items():
        admin.post(f"nodes/{node}/tags/", tags)

    # Seed 001: a role of which the graph says nothing names its tasks itself.
    admin.post("clusters/1/roles/", {"name": "guest", "meta": {"tasks": ["haproxy"]}})
    admin.post("clusters/1/assignment/", [{"id": "n3", "roles": ["guest"]}])

    made = admin.put(f"clusters/1/deploy/?nodes={','.join(NODES)}", {})
    run(site, engine, ActionId(made["uuid"]))

    ended = admin.get(f"transactions/{made['id']}/")
    assert (ended["status"], ended["progress"]) == ("ready", 100), json.dumps(ended)
    names = {str(one["id"]): one["name"] for one in admin.get("nodes/")}
    found: dict[str, list[str]] = {}
    for row in admin.get(f"transactions/{made['id']}/deployment_history/"):
        assert row["status"] == "ready"
        found.setdefault(names[row["node_id"]], []).append(row["task_name"])
    assert {node: sorted(tasks) for node, tasks in found.items()} == {**runs, "n3": ["globals", "haproxy"]}


def test_a_deployment_whose_software_stage_has_nothing_to_run_says_so(
    site: Site, engine: sa.Engine, admin: Fuel
) -> None:
    admin.put("releases/1/deployment_tasks/", [task("one", role=["controller"])])
    action = site.create_action()
    run(site, engine, ActionId(action))

    report, overview = (site.viewer.get(f"/actions/{action}/{part}").json for part in ("report", "overview"))
    (said,) = [one["message"] for one in report["findings"] if one["level"] == "Warning"]
    assert (report["verdict"], said) == (
        "success",
        "The software stage had nothing to run. No task runs on 3 node(s) of the run: "
        "n1 (it has no role), n2 (it has no role), n3 (it has no role).",
    )
    assert overview["warnings"] == [said]
    assert report["skipped_tasks"] == [{"task": "one", "reason": "no node of the run has its roles or tags"}]
    with site.store.begin() as tx:
        entries = tx.journal.entries(ActionId(action), ("finding",))
    assert [entry.step for entry in entries if said in str(entry.fact)] == [SOFTWARE]


def test_the_history_has_what_is_pending_and_what_was_skipped(site: Site, engine: sa.Engine, admin: Fuel) -> None:
    admin.put(
        "releases/1/deployment_tasks/", [task("globals", role="*"), task("later", role="*", requires=["globals"])]
    )
    admin.post("clusters/1/assignment/", [{"id": node, "roles": ["compute"]} for node in ("n1", "n2")])
    tasks = FakeRemoteTasks(failing={("true", NodeName("n1"))}, hanging={NodeName("n2")})
    made = admin.put("clusters/1/deploy/?nodes=n1,n2", {})
    history, lacks = f"transactions/{made['id']}/deployment_history/", "later did not run: globals failed on n1"

    def statuses() -> set[tuple[str, str, str]]:
        names = {str(one["id"]): one["name"] for one in admin.get("nodes/")}
        return {(names[one["node_id"]], one["task_name"], one["status"]) for one in admin.get(history)}

    assert statuses() == set()
    run(site, engine, ActionId(made["uuid"]), tasks, deliveries=15)
    on_n1, on_n2 = ("n1", "globals", "error"), ("n2", "globals", "running")
    assert statuses() == {on_n1, on_n2, ("n1", "later", "pending"), ("n2", "later", "pending")}
    on_its_way = admin.get(f"transactions/{made['id']}/")
    told = (on_its_way["status"], on_its_way["progress"], on_its_way["message"])
    assert told == ("running", 0, "n1: globals: exit status 1")
    (pending,) = admin.get(f"{history}?statuses=pending&nodes={admin.get('nodes/n1')['id']}")
    assert (pending["time_start"], pending["time_end"]) == (None, None)

    tasks.hanging.clear()
    run(site, engine, ActionId(made["uuid"]), tasks)
    # A task of no group stops the run wherever it fails.
    skipped = {("n1", "later", "skipped"), ("n2", "later", "skipped")}
    assert statuses() == {on_n1, ("n2", "globals", "ready"), *skipped}
    texts = {(one["status"], one["message"]) for one in admin.get(history)}
    assert texts == {
        ("error", "exit status 1"),
        ("ready", ""),
        ("skipped", "globals: exit status 1"),
        ("skipped", lacks),
    }
    ended = admin.get(f"transactions/{made['id']}/")
    assert (ended["status"], ended["progress"]) == ("error", 100)
    assert ended["message"].startswith(
        "Task globals belongs to no group, and it failed on n1. n1: globals: exit status 1"
    )
    shown = {one["name"]: (one["status"], one["error_type"], one["progress"]) for one in admin.get("nodes/")}
    assert shown == {"n1": ("error", "deploy", 0), "n2": ("error", "deploy", 50), "n3": ("discover", None, 0)}
    assert admin.get("nodes/n2")["error_msg"] == lacks

    made = admin.put("clusters/1/deploy/?nodes=n2", {})
    run(site, engine, ActionId(made["uuid"]))
    assert {one["name"]: one["status"] for one in admin.get("nodes/")} == {
        "n1": "error",
        "n2": "ready",
        "n3": "discover",
    }
    assert admin.get(f"transactions/{made['id']}/")["message"] == "2 task(s) on 1 node(s)"


def test_a_task_that_a_stopped_run_did_not_begin_says_why_the_run_stopped(
    site: Site, engine: sa.Engine, admin: Fuel
) -> None:
    new = {"version": "2.0.0"}
    graph = [task("first", role=["controller"], **new), task("one", role=["compute"], **new)]
    admin.put("releases/1/deployment_tasks/", [*graph, task("two", role=["compute"], requires=["one"], **new)])
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}, {"id": "n2", "roles": ["compute"]}])
    tasks = FakeRemoteTasks(failing={("true", NodeName("n1"))}, hanging={NodeName("n2")})
    made = admin.put("clusters/1/deploy/?nodes=n1,n2", {})
    run(site, engine, ActionId(made["uuid"]), tasks, deliveries=15)
    tasks.hanging.clear()
    run(site, engine, ActionId(made["uuid"]), tasks)

    history = admin.get(f"transactions/{made['id']}/deployment_history/")
    found = {one["task_name"]: (one["status"], one["message"]) for one in history}
    assert found == {
        "first": ("error", "exit status 1"),
        "one": ("ready", ""),
        "two": ("skipped", "Task first failed on n1, and no group of theirs tolerates it."),
    }


def test_a_rehearsal_changes_nothing_of_the_site(site: Site, engine: sa.Engine, admin: Fuel) -> None:
    admin.put("releases/1/deployment_tasks/", [task("globals", role="*")])
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    tasks = FakeRemoteTasks(polls=1)

    made = admin.put("clusters/1/deploy/?nodes=n1&noop_run=1", {})
    run(site, engine, ActionId(made["uuid"]), tasks)

    ended = admin.get(f"transactions/{made['id']}/")
    said = "1 task(s) on 1 node(s); they showed what they would do, and changed nothing"
    assert (ended["status"], ended["noop_run"], ended["message"]) == ("ready", True, said)
    ((_, sent),) = tasks.sent.items()
    assert sent.command is not None
    assert sent.command.startswith("printf")
    assert (admin.get("nodes/n1")["status"], admin.get("clusters/1/")["status"]) == ("discover", "new")
    tags = site.designs.heads()
    assert tags.with_any(*SITE_ACTIONS) is None
    with site.store.begin() as tx:
        assert tx.software.primaries(SITE).tags == {}


def test_the_facts_of_nodes_have_their_tasks_with_priorities(site: Site) -> None:
    names = list(ROLES)
    admin = fuel_of(site, names).admin
    placed = {node: role.removeprefix("primary-") for node, role in ROLES.items()}
    roles = {role: {"name": role, "tags": [], "has_primary": role == "controller"} for role in set(placed.values())}
    admin.put("releases/1/", {"roles_metadata": roles, "tags_metadata": {}})
    admin.put("releases/1/deployment_tasks/", SEED_GRAPH)
    admin.post("clusters/1/assignment/", [{"id": node, "roles": [role]} for node, role in placed.items()])
    ids = {one["name"]: str(one["id"]) for one in admin.get("nodes/")}
    order = ["node-1", "node-4", "node-2", "node-3", "node-5", "node-6", "node-7", "node-8"]

    found = admin.get(f"clusters/1/orchestrator/deployment/defaults/?nodes={','.join(order)}")

    priorities: dict[int, list[str]] = {}
    for one in found:
        assert one["uid"] == ids[one["name"]]
        priorities.setdefault(one["priority"], []).append(one["name"])
    batches = [["node-1"], ["node-4", "node-2"], ["node-3", "node-5"], ["node-6", "node-7"], ["node-8"]]
    assert priorities == dict(zip((100, 200, 300, 400, 500), batches, strict=True))
    first = found[0]
    assert (first["role"], [(one["priority"], one["id"], one["type"]) for one in first["tasks"]]) == (
        "primary-controller",
        [(100, "setup_network", "shell"), (200, "setup_services", "puppet")],
    )
    assert first["tasks"][0]["parameters"] == {"cmd": "run_setup_network.sh", "timeout": 120}
    unknown = admin.ask("GET", "clusters/1/orchestrator/deployment/defaults?nodes=n99")
    assert (unknown.status_code, unknown.json["message"]) == (404, "NodeCollection not found: n99")
