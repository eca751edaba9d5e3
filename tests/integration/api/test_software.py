"""Releases, clusters, roles, tags and task graphs over HTTP, as Fuel's clients ask (contract: fuel-task-graph, 5)."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import AssignmentRefused
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.assignment_plugin import AssignmentPlugin
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.software.nodes import SoftwareNodes
from shipyard_api.wiring import bootstrap
from tests.distributions import installed_example
from tests.factories import document, node_document
from tests.integration.api import description
from tests.integration.api.conftest import settings
from tests.integration.api.in_process import Client
from tests.integration.api.recorded import record
from tests.integration.api.wire import JSON, Site, small_design
from tests.integration.storage.rows import counts
from tests.refusals import refuses
from tests.task_graphs import real_graph
from tests.unit.tables import every_row

V1 = "/api/v1"
SHELL = {"type": "shell", "parameters": {"cmd": "true"}}


def task(name: str, **more: object) -> dict[str, object]:
    return {"id": name, **SHELL, **more}


# Seed 002, Data model impact and its example of tasks.
TAGS = {
    name: {"name": name, "has_primary": primary}
    for name, primary in (("controller-common", True), ("mysql", True), ("rabbitmq", False))
}
ROLES = {
    "controller": {"name": "Controller", "tags": list(TAGS)},
    "compute": {"name": "Compute", "tags": []},
}
GRAPH = [
    task("mysql", role=["controller"], tags=["mysql", "primary-mysql"], odd={"kept": [1.5, None]}),
    task("rabbitmq", role=["controller"], tags=["rabbitmq"]),
    task("haproxy", role=["controller"], tags=["controller-common", "primary-controller-common"]),
    task("globals", role=["/.*/"]),
]
CHAIN = [
    {"id": "pre", "type": "stage"},
    task("a", role="*", required_for=["pre"]),
    task("b", role="*", requires=["pre"]),
    task("c", role="*", requires=["b"]),
    task("d", role="*", requires=["a"]),
]


class Fuel:
    """A caller who speaks as Fuel's clients do."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, method: str, path: str, body: object = ..., raw: str | None = None) -> Result:
        target, _, query = path.partition("?")
        text = raw if raw is not None else None if body is ... else json.dumps(body)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        path = target if target.startswith("/") else f"{V1}/{target}"
        answer = self.client.simulate_request(method, path, query_string=query, body=text, headers=headers)
        description.check(method, path.rstrip("/"), answer)
        return answer

    def get(self, path: str) -> Any:
        return self._sound("GET", path)

    def put(self, path: str, body: object) -> Any:
        return self._sound("PUT", path, body)

    def post(self, path: str, body: object) -> Any:
        return self._sound("POST", path, body)

    def tags_of(self, node: str) -> list[str]:
        found: list[str] = self.get(f"nodes/{node}")["tags"]
        return found

    def _sound(self, method: str, path: str, body: object = ...) -> Any:
        answer = self.ask(method, path, body)
        assert answer.status_code < 300, answer.text
        return answer.json


class Callers(NamedTuple):
    admin: Fuel
    viewer: Fuel
    nobody: Fuel


def fuel_of(site: Site, nodes: Sequence[str]) -> Callers:
    site.commit(*small_design(nodes))
    admin, viewer, nobody = (Fuel(one.client) for one in (site.admin, site.viewer, site.nobody))
    return Callers(admin, viewer, nobody)


def prepared(admin: Fuel) -> Fuel:
    admin.put("releases/1/", {"roles_metadata": ROLES, "tags_metadata": TAGS})
    return admin


@pytest.fixture
def callers(site: Site) -> Callers:
    return fuel_of(site, ["n1", "n2", "n3"])


def with_roles(site: Site) -> None:
    prepared(fuel_of(site, ["n1", "n2", "n3"]).admin)


@pytest.fixture
def admin(site: Site) -> Fuel:
    site.kept(with_roles)
    return Fuel(site.admin.client)


# --- Releases, clusters and nodes -------------------------------------------------------------------------------------


def test_an_installation_begins_with_a_release_and_its_site(callers: Callers) -> None:
    viewer = callers.viewer

    assert viewer.get("releases/") == [
        {
            "id": 1,
            "name": "Shipyard",
            "version": "1.0",
            "operating_system": "Linux",
            "state": "available",
            "is_deployable": True,
            "roles": [],
            "roles_metadata": {},
            "tags_metadata": {},
        }
    ]
    (cluster,) = viewer.get("clusters")
    assert (cluster["id"], cluster["status"], cluster["release_id"]) == (1, "new", 1)
    assert (viewer.get("clusters/1/"), viewer.get("releases/1")) == (cluster, viewer.get("releases")[0])
    assert [(one["id"], one["name"], one["cluster"]) for one in viewer.get("nodes/?cluster_id=1")] == [
        (first, name, 1) for first, name in enumerate(("n1", "n2", "n3"), viewer.get("nodes/n1")["id"])
    ]
    assert (viewer.get("nodes/?cluster_id=2"), viewer.get("clusters/1/deployment_tasks/")) == ([], [])


def test_a_node_has_the_values_of_its_design_and_of_its_profiles_but_no_secret(site: Site) -> None:
    secret = {"src": {"schema": "deckhand/Passphrase/v1", "name": "p", "path": "."}}
    labels = {"zone": "a", "key": "x"}
    node = node_document("n1", rack="r1", tags=["gpu"], labels=labels, host_profile="compute")
    node["metadata"]["substitutions"] = [secret | {"dest": {"path": ".metadata.owner_data.key"}}]
    node["data"]["addressing"] = [{"network": "oam", "address": "10.0.0.1"}, {"network": "pxe", "address": "dhcp"}]
    site.commit(
        *small_design(["n2"]),
        node,
        document("drydock/HostProfile/v1", "compute", {"metadata": {"tags": ["compute"]}}),
        document("deckhand/Passphrase/v1", "p", "correct-horse", storagePolicy="encrypted"),
    )

    found = Fuel(site.viewer.client).get("nodes")

    assert {one["name"]: one["design"] for one in found} == {
        "n1": {
            "rack": "r1",
            "tags": ["compute", "gpu"],
            "labels": {"key": "***", "zone": "a"},
            "addresses": {"oam": "10.0.0.1"},
        },
        "n2": {"rack": "", "tags": [], "labels": {}, "addresses": {}},
    }


def test_ids_roles_and_tags_survive_a_revision_without_the_node(admin: Fuel, site: Site) -> None:
    admin.post("clusters/1/assignment/", [{"id": "n2", "roles": ["controller"]}])
    before = admin.get("nodes/n2")

    site.commit(*small_design(["n1", "n4"]))
    assert [one["name"] for one in admin.get("nodes/")] == ["n1", "n4"]
    assert admin.ask("GET", f"nodes/{before['id']}").status == falcon.HTTP_404
    site.commit(*small_design(["n2", "n4"]))

    assert admin.get(f"nodes/{before['id']}/") == before
    assert [one["name"] for one in admin.get("nodes/")] == ["n2", "n4"]


def test_a_release_with_its_metadata_can_be_written_back_as_it_was_read(admin: Fuel) -> None:
    release = admin.get("releases/1/")

    assert (release["roles"], release["tags_metadata"]) == (["controller", "compute"], TAGS)
    assert admin.put("releases/1/", release) == release
    changed = release | {"version": "9.3"}
    assert admin.put("releases/1/", changed) == admin.get("releases/1/") == changed
    made = admin.post("releases/", {**release, "name": "Ubuntu", "version": "9.2"})
    assert made == {**release, "id": made["id"], "name": "Ubuntu", "version": "9.2"}
    assert admin.put("clusters/1/", {"release_id": made["id"]})["release_id"] == made["id"]
    assert admin.put("clusters/1/attributes/", {"editable": {"a": {"value": 1}}}) == {"editable": {"a": {"value": 1}}}
    assert admin.get("clusters/1/attributes/") == {"editable": {"a": {"value": 1}}}


# --- Task graphs ------------------------------------------------------------------------------------------------------


def test_a_graph_is_kept_as_it_was_written_and_a_cluster_lies_over_its_release(admin: Fuel) -> None:
    assert admin.put("releases/1/deployment_tasks/", GRAPH) == GRAPH
    own = [task("more", requires=["globals"], role="*"), {"id": "mysql", "type": "skipped", "x": 1}]

    assert admin.put("clusters/1/deployment_tasks", own) == own
    assert admin.get("clusters/1/deployment_tasks") == [own[1], *GRAPH[1:], own[0]]
    assert admin.get("clusters/1/deployment_tasks/own/?graph_type=default") == own
    assert admin.get("clusters/1/deployment_tasks/release") == admin.get("releases/1/deployment_tasks") == GRAPH
    assert admin.get("clusters/1/deployment_tasks/plugins") == []
    assert admin.get("clusters/1")["is_customized"]
    assert admin.put("clusters/1/deployment_tasks", []) == []
    assert admin.get("clusters/1/deployment_tasks") == GRAPH


def test_a_part_of_a_graph_is_read_and_drawn(admin: Fuel) -> None:
    admin.put("releases/1/deployment_tasks/", CHAIN)

    for owner in ("releases", "clusters"):
        for query, kept in (
            ("?end=b", "pre a b"),
            ("?start_task=a&end_task=b", "pre a b"),
            ("?include=d", "pre a b c d"),
        ):
            assert [one["id"] for one in admin.get(f"{owner}/1/deployment_tasks/{query}")] == kept.split()
    answer = admin.ask("GET", "clusters/1/deploy_tasks/graph.gv?tasks=a,b&remove=stage,group")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/vnd.graphviz")
    assert {"strict digraph G {", "a [color=yellowgreen, style=filled];", "b -> c;"} <= set(answer.text.splitlines())
    assert "pre" not in answer.text


def test_every_finding_of_a_graph_is_answered_at_once(admin: Fuel) -> None:
    wrong = [
        task("a", requires=["b"]),
        task("b", requires=["a"]),
        task("c", requires=["nowhere"]),
        {"id": "d", "type": "no"},
    ]

    answer = admin.ask("PUT", "releases/1/deployment_tasks/", wrong)

    assert answer.status == falcon.HTTP_400
    assert {one["name"] for one in answer.json["errors"]} == {"SchemaError", "TaskCycle"}
    assert "Tasks wait for each other: a -> b -> a." in answer.json["message"]
    assert all(one["message"] in answer.json["message"] for one in answer.json["errors"])
    for owner in ("releases", "clusters"):
        answer = admin.ask("PUT", f"{owner}/1/deployment_tasks/", wrong[:3])
        assert [one["name"] for one in answer.json["errors"]].count("TaskCycle") == 1
        assert {one["name"] for one in answer.json["errors"]} == {"TaskCycle", "UnknownTask"}
    real = admin.ask("PUT", "releases/1/deployment_tasks/", real_graph("master"))
    said = {one["message"].partition("names '")[2].partition("'")[0] for one in real.json["errors"]}
    assert (real.status, said) == (falcon.HTTP_400, {"neutron", "primary-neutron"})


def test_what_is_not_evaluated_is_named_when_it_is_stored_planned_and_started(site: Site, admin: Fuel) -> None:
    entries = [
        task("a", role="*"),
        task("b", role="*", requires=["a"], condition={"yaql_exp": "$"}),
        task("c", role="*", requires=["b"], condition="settings:misspelt == null"),
        task("d", role="*", requires=["c"], strategy={"type": "parallel", "amount": {"yaql_exp": "$"}}),
    ]
    stored = admin.ask("PUT", "releases/1/deployment_tasks/", entries)
    admin.post("clusters/1/assignment", [{"id": "n1", "roles": ["compute"]}])
    body = '{"name": "update_software", "parameters": {"nodes": ["n1"]}}'
    plan = site.viewer.post("/plans", body, JSON).json["software"]
    created = site.admin.act(body)

    assert (stored.json, created.status) == (entries, falcon.HTTP_201)
    warnings = json.loads(stored.headers["X-Shipyard-Warnings"])
    named = ["do not run: b.", "an amount of 1: d.", "settings:misspelt (task c)"]
    assert [[text in one for text in named] for one in sorted(warnings, key=len)] == [
        *([True, False, False], [False, True, False], [False, False, True])
    ]
    assert plan["batches"][0]["runs"][0]["tasks"] == ["a"]
    assert {one["task"]: one["reason"][:13] for one in plan["skipped"]} == {"b": "its condition", "c": "its condition"}
    assert {one["message"] for one in plan["findings"] if one["level"] == "Warning"} == set(warnings)
    assert [one["message"] for one in created.json["warnings"]] == warnings
    notes = site.viewer.get(f"/actions/{created.json['id']}", verbosity="5").json["notes"]
    assert len([one for one in notes if any(text in one["note_val"] for text in warnings)]) == 3


def test_a_release_cannot_break_the_graph_of_its_cluster(admin: Fuel) -> None:
    admin.put("releases/1/deployment_tasks/", CHAIN)
    admin.put("clusters/1/deployment_tasks/", [task("own", requires=["c"], required_for=["d"], role="*")])

    lacks = admin.ask("PUT", "releases/1/deployment_tasks/", CHAIN[:3])
    cycle = admin.ask("PUT", "releases/1/deployment_tasks/", [*CHAIN[:3], task("c", requires=["d"]), task("d")])

    assert (lacks.status_code, cycle.status_code) == (400, 400)
    assert "In the graph of cluster 1: Task 'own' names 'c' in requires" in lacks.json["message"]
    assert "In the graph of cluster 1: Tasks wait for each other: " in cycle.json["message"]
    assert admin.get("releases/1/deployment_tasks/") == CHAIN


def test_a_cluster_moves_only_to_a_release_that_has_what_it_uses(admin: Fuel) -> None:
    other = {"release_id": admin.post("releases/", {"name": "other", "version": "1"})["id"]}
    admin.put("releases/1/deployment_tasks/", CHAIN)
    admin.put("clusters/1/deployment_tasks/", [task("own", requires=["c"], role="*")])
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["compute"]}])

    used = admin.ask("PUT", "clusters/1/", other)
    admin.post("clusters/1/unassignment/", [{"id": "n1"}])
    lacks = admin.ask("PUT", "clusters/1/", other)
    admin.put("clusters/1/deployment_tasks/", [])

    assert (used.status_code, used.json["message"]) == (409, "Role 'compute' is assigned to nodes n1")
    assert (lacks.status_code, "names 'c' in requires" in lacks.json["message"]) == (400, True)
    assert admin.put("clusters/1/", other)["release_id"] == other["release_id"]
    assert admin.put("clusters/1/", {"name": "north"})["name"] == admin.get("clusters/1/")["name"] == "north"


# --- Roles and tags ---------------------------------------------------------------------------------------------------


def test_tags_of_a_release_and_of_a_cluster(admin: Fuel) -> None:
    own = {"name": "swift", "meta": {"has_primary": False, "note": [1]}}

    assert admin.post("clusters/1/tags/", own) == own
    listed = admin.get("clusters/1/tags/")
    assert [(one["name"], one["owner"], one["predefined"]) for one in listed] == [
        *((name, "release", True) for name in TAGS),
        ("swift", "cluster", False),
    ]
    assert [one["name"] for one in admin.get("releases/1/tags/")] == list(TAGS)
    assert admin.get("clusters/1/tags/swift/") == own
    assert admin.ask("GET", "clusters/1/tags/mysql").json["message"] == "Tag 'mysql' is not found for the cluster 1"
    changed = {"name": "swift", "meta": {"has_primary": True}}
    assert admin.put("clusters/1/tags/swift/", changed) == changed == admin.get("clusters/1/tags/swift")
    assert admin.ask("DELETE", "clusters/1/tags/swift/").status == falcon.HTTP_204
    assert admin.ask("GET", "clusters/1/tags/swift/").status == falcon.HTTP_404
    assert admin.post("clusters/1/tags/", {"name": "mysql", "meta": {"has_primary": False}})["name"] == "mysql"


def test_roles_of_a_release_and_of_a_cluster(admin: Fuel) -> None:
    own = {"name": "db", "meta": {"name": "Database", "tags": ["mysql"]}, "volumes_roles_mapping": []}

    assert admin.post("clusters/1/roles/", own) == own
    assert admin.get("clusters/1/roles/db/") == own
    assert [(one["name"], one["owner"]) for one in admin.get("clusters/1/roles/")] == [
        ("controller", "release"),
        ("compute", "release"),
        ("db", "cluster"),
    ]
    assert admin.put("clusters/1/roles/db/", {**own, "meta": {"tags": []}})["meta"] == {"tags": []}
    assert admin.ask("DELETE", "clusters/1/roles/db/").status == falcon.HTTP_204


def test_a_cluster_changes_the_tags_of_a_role_of_its_release_for_itself(admin: Fuel) -> None:
    fewer = {"name": "controller", "meta": {"tags": ["mysql"]}, "volumes_roles_mapping": []}

    assert admin.put("clusters/1/roles/controller/", fewer) == fewer == admin.get("clusters/1/roles/controller/")
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    assert admin.tags_of("n1") == ["mysql"]
    assert admin.get("releases/1/roles/controller/")["meta"] == ROLES["controller"]
    assert admin.ask("DELETE", "clusters/1/roles/controller/").status == falcon.HTTP_204
    admin.post("clusters/1/assignment/", [{"id": "n2", "roles": ["controller"]}])
    assert admin.tags_of("n2") == list(TAGS)


def test_a_role_without_tags_gives_none_wherever_it_is_declared(admin: Fuel) -> None:
    assert admin.post("releases/1/roles/", {"name": "plain", "meta": {}})["meta"] == {}
    admin.put("releases/1/", {"roles_metadata": {**ROLES, "bare": {}}})
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["plain", "bare"]}])
    assert admin.tags_of("n1") == []


def test_a_deleted_tag_leaves_the_roles_of_its_owner(admin: Fuel) -> None:
    admin.post("releases/1/tags/", {"name": "own", "meta": {"has_primary": False}})
    admin.post("releases/1/roles/", {"name": "r", "meta": {"tags": ["own", "mysql"]}})

    admin.ask("DELETE", "releases/1/tags/own")

    assert admin.get("releases/1/roles/r")["meta"]["tags"] == ["mysql"]


def test_a_role_gives_its_tags_and_takes_them_with_it_except_those_of_the_user(admin: Fuel) -> None:
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    assert admin.tags_of("n1") == list(TAGS)
    admin.post("nodes/n1/tags/", ["mysql", "mysql"])  # now his own as well
    assert admin.ask("DELETE", "nodes/n1/tags/?tags=rabbitmq,rabbitmq").status == falcon.HTTP_204
    assert admin.ask("DELETE", "nodes/n1/tags/", ["rabbitmq"]).status == falcon.HTTP_204  # again

    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller", "compute"]}])
    assert admin.tags_of("n1") == ["controller-common", "mysql"]
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["compute"]}])
    assert admin.tags_of("n1") == ["mysql"]
    admin.ask("DELETE", "nodes/n1/tags/?tags=mysql")  # no longer his own
    for role in ("controller", "compute"):
        admin.post("clusters/1/assignment/", [{"id": "n1", "roles": [role]}])
    assert admin.tags_of("n1") == []
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    admin.post("clusters/1/unassignment/", [{"id": admin.get("nodes/n1")["id"]}])
    assert (admin.tags_of("n1"), admin.get("nodes/n1")["roles"]) == ([], [])


def test_a_plug_in_adds_instances_of_tags_to_a_node_that_gets_a_role(admin: Fuel, site: Site, shared_url: str) -> None:
    with installed_example("numbered_tags"):
        app = bootstrap.api(settings(shared_url, site.drydock.url))
    ours = Fuel(Client(app, headers=site.admin.client.headers))

    def assign(*nodes: str, roles: Sequence[str] = ("controller",)) -> None:
        ours.post("clusters/1/assignment/", [{"id": node, "roles": list(roles)} for node in nodes])

    assign("n2", "n1")
    assert (admin.tags_of("n2"), admin.tags_of("n1")) == ([*TAGS, "mysql:1"], [*TAGS, "mysql:2"])
    assign("n2", roles=["compute"])
    assign("n1", roles=["controller", "compute"])
    assign("n3")
    assert [admin.tags_of(node) for node in ("n1", "n2", "n3")] == [[*TAGS, "mysql:2"], [], [*TAGS, "mysql:1"]]
    admin.ask("DELETE", "nodes/n1/tags/?tags=mysql:2")
    assign("n1", roles=["controller"])  # no new role, so the plug-in is not asked
    assert admin.tags_of("n1") == list(TAGS)


def test_a_plug_in_that_fails_or_invents_tags_keeps_every_assignment_from_being_made(admin: Fuel, site: Site) -> None:
    def broken(*_: object) -> list[str]:
        raise ValueError("no number is free")

    for tags, why in ((broken, "ValueError: no number is free"), (lambda *_: ["zz", "mysql:1"], "do not exist: zz.")):
        plugins = {"odd": AssignmentPlugin(tags)}
        nodes = SoftwareNodes(site.store, site.designs, RenderedDesigns(site.designs), plugins)
        with refuses(AssignmentRefused) as refused:
            nodes.assign_roles(1, {"n1": [], "n2": ["controller"]})
        assert "The plug-in odd does not let node n2" in str(refused.value)
        assert why in str(refused.value)
    assert [admin.get(f"nodes/{node}")["roles"] for node in ("n1", "n2")] == [[], []]


def test_the_tag_check_names_predefined_tags_without_a_node(admin: Fuel) -> None:
    admin.post("clusters/1/assignment/", [{"id": "n1", "roles": ["controller"]}])
    assert admin.get("clusters/1/tag_check/") == []

    admin.ask("DELETE", "nodes/n1/tags/?tags=mysql")
    (found,) = admin.get("clusters/1/tag_check/")
    assert (found["level"], "roles in use: mysql." in found["message"]) == ("Warning", True)
    admin.post("clusters/1/unassignment/", [{"id": "n1"}])
    (found,) = admin.get("clusters/1/tag_check/")
    assert found["level"] == "Info"


# --- Running tasks ----------------------------------------------------------------------------------------------------


def test_tasks_run_on_chosen_nodes_as_an_action(admin: Fuel, store: Store) -> None:
    admin.put("releases/1/deployment_tasks", CHAIN)
    admin.post("clusters/1/assignment", [{"id": name, "roles": ["controller"]} for name in ("n1", "n2")])
    node = admin.get("nodes/n2")["id"]

    answer = admin.ask("PUT", f"clusters/1/deploy_tasks/?nodes={node},n1&force=0&noop_run=0", ["b", "pre", "b"])

    made = answer.json
    assert (answer.status_code, made["status"], made["progress"], made["cluster"]) == (202, "pending", 0, 1)
    assert (admin.get("transactions/"), admin.get(f"transactions/{made['id']}/")) == ([made], made)
    with store.begin() as tx:
        (action,) = tx.actions.matching()
    assert (action.id, action.name) == (made["uuid"], "update_software")
    assert action.parameters == {"nodes": ["n2", "n1"], "tasks": ["b", "pre"]}
    done = NodeResult(NodeName("n1"), TaskStatus.SUCCESS, 0, 1)
    failed = NodeResult(NodeName("n2"), TaskStatus.FAILED, 1, 3)
    record(store, action.id, [TaskChanged(TaskId("b"), "m", (done, failed))])
    history = f"transactions/{made['id']}/deployment_history/?nodes=&tasks_names=b&statuses="
    rows = admin.get(history)
    assert sorted((one["task_name"], one["node_id"], one["status"]) for one in rows) == sorted(
        [("b", str(admin.get("nodes/n1")["id"]), "ready"), ("b", str(node), "error")]
    )
    assert admin.get(f"{history}error") == [one for one in rows if one["status"] == "error"]
    again = admin.ask("PUT", "clusters/1/deploy/?nodes=n1", {})
    assert (again.status_code, again.json["message"]) == (
        409,
        f"update_software {made['uuid']} is running on n1. Wait until it has ended.",
    )


def test_runs_on_different_nodes_go_side_by_side_and_are_retried_side_by_side(
    site: Site, admin: Fuel, engine: sa.Engine, store: Store
) -> None:
    admin.put("releases/1/deployment_tasks", CHAIN)
    admin.post("clusters/1/assignment", [{"id": name, "roles": ["controller"]} for name in ("n1", "n2", "n3")])
    first, second = (admin.put(f"clusters/1/deploy/?nodes={nodes}", {}) for nodes in ("n1,n2", "n3"))
    record(
        store, first["uuid"], [TaskChanged(TaskId("a"), "m", (NodeResult(NodeName("n1"), TaskStatus.FAILED, 1, 3),))]
    )
    with engine.begin() as connection:
        own = tables.actions
        ended = own.update().where(own.c.id == first["uuid"]).values(state="success", ended_at=sa.func.now())
        connection.execute(ended)

    plan = site.viewer.post("/plans", json.dumps({"retry": first["uuid"]}), JSON).json
    third = site.admin.post(f"/actions/{first['uuid']}/control/retry")
    refused = site.admin.post(f"/actions/{first['uuid']}/control/retry")

    assert (plan["refused"], third.status) == (None, falcon.HTTP_201), third.text
    assert refused.status == falcon.HTTP_409
    assert f"update_software {third.json['id']} is running on node n1, n2. Wait until it has ended" in refused.text
    whole = site.admin.act('{"name": "deploy_site"}')
    assert (whole.status, f"update_software {second['uuid']} is running" in whole.text) == (falcon.HTTP_409, True)


# --- Who may what -----------------------------------------------------------------------------------------------------


def test_observers_change_nothing_and_a_client_gets_its_token_for_the_password(callers: Callers) -> None:
    for method, path, body in (
        ("PUT", GRAPHS, []),
        ("POST", TAGS_URL, TAG),
        ("POST", "nodes/n1/tags", ["mysql"]),
        ("POST", "clusters/1/assignment", []),
        ("PUT", "clusters/1/deploy", {}),
    ):
        refused = callers.viewer.ask(method, path, body)
        assert (refused.status_code, refused.json["message"]) == (403, "Access was denied")
    unknown = callers.nobody.ask("GET", "nodes/")
    assert (unknown.status_code, "WWW-Authenticate" in unknown.headers) == (401, True)

    token = callers.viewer.client.headers["X-Auth-Token"]
    assert callers.nobody.get("version/")["auth_required"] is True
    for auth in ({"passwordCredentials": {"username": "x", "password": token}}, {"token": {"id": token}}):
        access = callers.nobody.post("/keystone/v2.0/tokens", {"auth": {**auth, "tenantName": "admin"}})["access"]
        assert (access["token"]["id"], access["user"]["name"], access["serviceCatalog"]) == (token, "vic", [])


# --- What is refused --------------------------------------------------------------------------------------------------

TAG = {"name": "own", "meta": {"has_primary": False}}
ROLE = {"name": "own", "meta": {"tags": []}}
GRAPHS, TAGS_URL, ROLES_URL = "releases/1/deployment_tasks", "clusters/1/tags", "clusters/1/roles"

REFUSED = {
    "an unknown release": ("GET", "releases/2", ..., 404, "Release not found"),
    "an unknown cluster": ("GET", "clusters/99999999999999/deployment_tasks", ..., 404, "Cluster not found"),
    "an unknown node": ("GET", "nodes/n9", ..., 404, "NodeCollection not found: n9"),
    "no such address": ("GET", "plugins/", ..., 404, "GET /api/v1/plugins is not served. Of Fuel's API, Shipyard has"),
    "no such method": ("DELETE", "clusters/1/", ..., 405, "clusters/1 is not served: this address takes GET, PUT."),
    "another environment": ("POST", "clusters/", {"name": "x", "release_id": 1}, 405, "commit configdocs"),
    "all graphs": ("GET", "graphs/", ..., 404, "one graph, of the type default"),
    "a graph of a type": ("PUT", "releases/1/deployment_graphs/other", {"tasks": []}, 404, "--upload"),
    "an unknown layer": ("GET", "clusters/1/deployment_tasks/mine", ..., 404, "own, release and plugins"),
    "another graph": ("GET", "clusters/1/deployment_tasks?graph_type=x", ..., 404, "one graph"),
    "create tasks": ("POST", GRAPHS, [], 405, "Create not supported for this entity"),
    "no body": ("PUT", GRAPHS, ..., 400, "Empty request received"),
    "no JSON": ("PUT", GRAPHS, "[{", 400, "Invalid json received"),
    "no list": ("PUT", GRAPHS, {"id": "a"}, 400, "array"),
    "unknown start": ("GET", f"{GRAPHS}?start=zz", ..., 400, "'zz' is not in the task graph."),
    "two starts": ("GET", f"{GRAPHS}?start=a&start_task=b", ..., 400, "the same parameter"),
    "a huge graph": ("PUT", GRAPHS, [task(f"t{n}") for n in range(2001)], 400, "2000"),
    "drawn tasks": ("GET", "clusters/1/deploy_tasks/graph.gv?tasks=zz", ..., 400, "Tasks zz are not present"),
    "no tasks to run": ("PUT", "clusters/1/deploy_tasks?nodes=n1", [], 400, "Tasks list must be specified."),
    "an unknown task to run": ("PUT", "clusters/1/deploy_tasks", ["zz"], 400, "Tasks zz are not present in deployment"),
    "an unknown node to run on": ("PUT", "clusters/1/deploy_tasks?nodes=n9", ["a"], 404, "NodeCollection not found"),
    "a run that is only drawn": ("PUT", "clusters/1/deploy?dry_run=1", {}, 400, "'dry_run' is not supported"),
    "a run on no node": ("PUT", "clusters/1/deploy_tasks?nodes=", ["a"], 400, "'nodes' names no node"),
    "an unknown run": ("GET", "transactions/9", ..., 404, "Transaction not found"),
    "a release without a version": ("POST", "releases", {"name": "x"}, 400, "a name and a version"),
    "a release again": ("POST", "releases", {"name": "Shipyard", "version": "1.0"}, 409, "already exists"),
    "a long name": ("POST", "releases", {"name": "x" * 256, "version": "1"}, 400, "has 256 characters; at most 255"),
    "an unknown member": ("PUT", "releases/1", {"nme": "x"}, 400, "nme"),
    "a role with an unknown tag": (
        "PUT",
        "releases/1",
        {"roles_metadata": {"controller": {"tags": ["zz"]}}},
        400,
        "Role controller contains non-existent tag zz",
    ),
    "a tag in use, taken from the metadata": (
        "PUT",
        "releases/1",
        {"tags_metadata": {}, "roles_metadata": {"controller": {"tags": []}, "compute": {}}},
        409,
        "Tag 'controller-common' is assigned to nodes n1",
    ),
    "a role in use, taken from the metadata": (
        "PUT",
        "releases/1",
        {"roles_metadata": {"compute": {}}},
        409,
        "Role 'controller' is assigned to nodes n1",
    ),
    "a tag twice": ("POST", "releases/1/tags", {**TAG, "name": "mysql"}, 409, "already exists for release 1"),
    "a tag without has_primary": ("POST", TAGS_URL, {"name": "own", "meta": {}}, 400, "'has_primary'"),
    "a tag with a space": ("POST", TAGS_URL, {**TAG, "name": "a b"}, 400, "1 to 64 letters"),
    "a tag with NUL": ("POST", TAGS_URL, {**TAG, "name": "a\0"}, 400, "NUL"),
    "a tag renamed": ("PUT", "releases/1/tags/mine", TAG, 400, "another name"),
    "a predefined tag changed": ("PUT", "releases/1/tags/mysql", {"meta": TAG["meta"]}, 409, "Read-only tag 'mysql'"),
    "a predefined tag deleted": ("DELETE", "releases/1/tags/mysql", ..., 409, "Read-only tag 'mysql'"),
    "a tag in use deleted": ("DELETE", "releases/1/tags/mine", ..., 409, "assigned to nodes n1"),
    "a tag deleted of which a node has an instance": (
        "DELETE",
        "releases/1/tags/numbered",
        ...,
        409,
        "Tag 'numbered' is assigned to nodes n1",
    ),
    "an unknown tag deleted": ("DELETE", "clusters/1/tags/zz", ..., 404, "Tag 'zz' is not found for the cluster 1"),
    "a predefined tag changed for a cluster": ("PUT", "clusters/1/tags/mysql", {"meta": TAG["meta"]}, 409, "Read-only"),
    "a role of no owner": ("PUT", "clusters/1/roles/zz", {"meta": {}}, 404, "Role 'zz' is not found for the cluster 1"),
    "a role with a task": ("POST", ROLES_URL, {"name": "own", "meta": {"tasks": "a"}}, 400, "'tasks' of the role"),
    "a role of unknown tags": ("POST", ROLES_URL, {**ROLE, "meta": {"tags": ["z"]}}, 400, "non-existent tag z"),
    "a role changed to unknown tags": (
        "PUT",
        "releases/1/roles/compute",
        {"name": "compute", "meta": {"tags": ["z"]}},
        400,
        "non-existent tag z",
    ),
    "a role in use deleted": ("DELETE", "releases/1/roles/controller", ..., 409, "Role 'controller' is assigned"),
    "an unknown tag assigned": ("POST", "nodes/n1/tags", ["zz"], 400, "Tags zz do not exist in the cluster."),
    "tags of a node are in the node": ("GET", "nodes/n1/tags", ..., 405, "takes DELETE, POST."),
    "a role of another name": ("POST", "clusters/1/assignment", [{"id": "n1", "roles": ["zz"]}], 400, "Roles zz do"),
    "no node named": ("POST", "clusters/1/assignment", [{"roles": []}], 400, "its number or its name"),
    "wrong credentials": (
        "POST",
        "/keystone/v2.0/tokens",
        {"auth": {"passwordCredentials": {"username": "ann", "password": "no"}}},
        401,
        "Authentication required",
    ),
    "a cluster that is no number": ("GET", "clusters/one/tags", ..., 404, "Cluster not found"),
    "a tag that looks like a primary": ("POST", TAGS_URL, {**TAG, "name": "primary-x"}, 400, "primary node"),
    "a role with tags of numbers": ("POST", ROLES_URL, {**ROLE, "meta": {"tags": [1]}}, 400, "not a list of names"),
    "a member of another type": ("PUT", "releases/1", {"name": 1}, 400, "'name' is not a text."),
    "an assignment that is no list": ("POST", "clusters/1/unassignment", {"id": 1}, 400, "not a list of nodes"),
    "a node of no number": ("POST", "clusters/1/assignment", [{"id": 10**9, "roles": ["zz"]}], 404, "not found: 1000"),
    "a tag without properties": ("POST", TAGS_URL, {"name": "own"}, 400, "has no 'meta'"),
    "no credentials": ("POST", "/keystone/v2.0/tokens", {"auth": {}}, 401, "Authentication required"),
    "credentials of no form": ("POST", "/keystone/v2.0/tokens", [], 400, "'auth'"),
}


def test_what_is_refused_changes_nothing(site: Site, engine: sa.Engine) -> None:
    admin = prepared(fuel_of(site, ["n1", "n2"]).admin)
    admin.put("releases/1/deployment_tasks", CHAIN)
    for name in ("mine", "numbered"):
        admin.post("releases/1/tags", {**TAG, "name": name})
    admin.post("clusters/1/assignment", [{"id": "n1", "roles": ["controller"]}])
    admin.post("nodes/n1/tags", ["mine", "numbered:2"])
    before, release = counts(engine), admin.get("releases/1")

    @every_row(REFUSED)
    def refused(method: str, path: str, body: object, code: int, text: str) -> None:
        answer = admin.ask(method, path, body, body if isinstance(body, str) else None)

        assert (answer.status_code, set(answer.json)) == (code, {"message", "errors"}), answer.text
        assert text in answer.json["message"]
        assert (counts(engine), admin.get("releases/1")) == (before, release)

    refused()
