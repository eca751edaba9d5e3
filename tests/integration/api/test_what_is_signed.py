"""What a signature covers is what runs: every input of an action, changed after the signature, and after the start.

The inputs are listed by the content of plans, by what an action freezes, and by the tables of the store: a new part, a
new field and a new table need a row here.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import falcon
import sqlalchemy as sa
from msgspec.structs import fields

from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.roles import Primaries
from shipyard_api.storage.site_tables import metadata
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.integration.api.test_plans import ended
from tests.integration.api.test_site_nodes import members, rolled
from tests.integration.api.test_software import Fuel, fuel_of, prepared, task
from tests.integration.api.test_software_runs import run
from tests.integration.api.test_stored_plans import ALLOWED, act, stored
from tests.integration.api.wire import JSON, Site, configuration, messages, small_design

DEPLOY = {"name": "deploy_site", "parameters": {"force": True}}
SETTINGS = {"text": "old", "switch": True}
POLICY = {"budgets": [{"name": "site", "max_unavailable": 1}]}
GRAPH = [
    task("one", role=["controller"], parameters={"cmd": "echo old {SETTINGS.text} {VALUES.x}"}),
    task("two", role=["compute"], requires=["one"], condition="settings:switch == true"),
    task("three", tags=["primary-mysql"], requires=["two"]),
]
VALUES = {"all": {"x": "old", "password": "hunter22"}, "secret": ["password"]}
RUN = {"name": "update_software", "parameters": {"nodes": ["n1", "n2"], "values": VALUES}}


def another_graph(site: Site, fuel: Fuel) -> None:
    graph = [{**GRAPH[0], "parameters": {"cmd": "touch /tmp/owned"}}, *GRAPH[1:]]
    fuel.put("releases/1/deployment_tasks", graph)


def settings(**changed: Any) -> Callable[[Site, Fuel], None]:
    return lambda _site, fuel: fuel.put("clusters/1/attributes", {"editable": {**SETTINGS, **changed}})


def another_primary(site: Site, _fuel: Fuel) -> None:
    with site.store.begin() as tx:
        tx.software.keep_primaries(SITE, Primaries(tags={"mysql": NodeName("n2")}))


def another_version(_site: Site, fuel: Fuel) -> None:
    fuel.put("releases/1/deployment_tasks", [{**GRAPH[0], "parameters": {"cmd": "{VERSION}"}}, *GRAPH[1:]])


def with_values(**changed: Any) -> Any:
    values = {**VALUES, "all": {**VALUES["all"], **changed}}  # type: ignore[dict-item]  # an object
    return {**RUN, "parameters": {**RUN["parameters"], "values": values}}  # type: ignore[dict-item]  # an object


def on(*nodes: str) -> Any:
    return {"name": "update_software", "parameters": {"nodes": list(nodes), "values": VALUES}}


@dataclass(frozen=True)
class Input:
    """An input of an action: how it changes, what the refusal says of it, and which part, field and table has it."""

    change: Callable[[Site, Fuel], Any]
    said: str
    part: str
    table: str = ""
    frozen: str = ""
    request: Any = None
    now: Any = None
    before: Callable[[Site, Fuel], Any] = lambda _site, _fuel: None


def runs(change: Callable[[Site, Fuel], Any], said: str, part: str, **more: Any) -> Input:
    return Input(change, said, part, request=RUN, **more)


def nothing(_site: Site, _fuel: Fuel) -> None:
    """The request itself differs."""


def assign(node: str, role: str) -> Callable[[Site, Fuel], Any]:
    return lambda _site, fuel: fuel.post("clusters/1/assignment", [{"id": node, "roles": [role]}])


PREFIX = "tasks one parameters cmd: was echo old .*, is "
INPUTS = {
    "a command": runs(another_graph, rf"{PREFIX}touch /tmp/owned\.", "tasks", table="releases", frozen="tasks"),
    "a setting in a command": runs(
        settings(text="$(reboot)"), rf"{PREFIX}echo old '\$\(reboot\)'", "tasks", table="clusters", frozen="keys"
    ),
    "a setting of a condition": runs(settings(switch=False), r"tasks two: .* is gone\.", "settings", frozen="models"),
    "a role": runs(
        assign("n2", "controller"), r"facts n2 roles: controller is new", "facts", table="cluster_nodes", frozen="nodes"
    ),
    "a tag": runs(
        lambda _site, fuel: fuel.post("nodes/n2/tags/", ["rabbitmq"]), r"facts n2 tags: rabbitmq is new\.", "facts"
    ),
    "a primary": runs(
        another_primary,
        r"facts n2 primary_tags: mysql is new\.",
        "software",
        table="cluster_primaries",
        frozen="primaries",
        before=assign("n2", "controller"),
    ),
    "a value": runs(nothing, r"action parameters values all x: was old, is new\.", "action", now=with_values(x="new")),
    "a secret value": runs(
        nothing, r"values of the run has changed\.", "secrets", now=with_values(password="swordfish")
    ),
    "the nodes of a run": runs(nothing, r"software nodes: n2 is gone\.", "software", now=on("n1")),
    "another action": Input(
        nothing, r"action name: was deploy_site, is update_site\.", "steps", now={**DEPLOY, "name": "update_site"}
    ),
    "a status": Input(
        lambda site, _: ended(site, site.create_action(), *rolled(members(a="n1 n2"), {"n1": NodeStatus.FAILURE})),
        r"nodes n1: was not_started, is failure\.",
        "nodes",
        table="action_nodes",
    ),
    "a hold": Input(
        lambda site, _: site.admin.post("/nodes/n1/holds", '{"reason": "disk"}', JSON),
        r"holds n1: .* is new\.",
        "holds",
        table="holds",
    ),
    "a limit": Input(
        lambda site, _: site.commit(configuration(physical_provisioner={"deploy_timeout": 60}), *small_design()[1:]),
        r"limits deploy_nodes timeout: was 3600.0, is 60.0\.",
        "limits",
        table="revision_documents",
    ),
    "a policy": Input(
        lambda site, _: site.commit(configuration(physical_provisioner={"policy": POLICY}), *small_design()[1:]),
        r"policy data",
        "policy",
        table="revisions",
    ),
    "a node": Input(
        lambda site, _: site.commit(*small_design(("n1", "n2", "n3", "n4"))),
        r"nodes n4: not_started is new\.",
        "groups",
        table="revision_tags",
    ),
}


def test_a_change_of_any_input_after_the_signature_is_refused_by_its_name(site: Site) -> None:
    fuel = prepared(fuel_of(site, ["n1", "n2", "n3"]).admin)
    for name, row in INPUTS.items():
        reset(site, fuel)
        request = row.request or DEPLOY
        row.before(site, fuel)
        plan = stored(site.admin, request, **ALLOWED)
        row.change(site, fuel)

        answer = act(site.admin, plan, row.now or request, **ALLOWED)

        assert answer.status == falcon.HTTP_409, (name, answer.text)
        assert answer.json["message"] == "The plan no longer holds", (name, answer.text)
        said = [one["message"] for one in messages(answer)]
        assert any(re.search(row.said, text) for text in said), (name, said)
        assert not any("hunter22" in text or "swordfish" in text for text in said)


def reset(site: Site, fuel: Fuel) -> None:
    fuel.put("releases/1/deployment_tasks", GRAPH)
    fuel.put("clusters/1/attributes", {"editable": SETTINGS})
    for node, role in (("n1", "controller"), ("n2", "compute")):
        fuel.post("clusters/1/assignment", [{"id": node, "roles": [role]}])


WITHOUT_ROW = {
    # Tables that no action reads what it does from, and why not.
    "plans": "the signatures themselves",
    "deploy_templates": "test_plan_content: what templates ask for; test_deploy_steps: frozen since the action exists",
    "deploy_template_steps": "as deploy_templates",
    "document_contents": "the text of a revision's documents, which never changes; covered by the design's digest",
    "store_keys": "keys of encryption and of cursors",
    "node_specifications": "what each node was given: the class of a node, and the ways of an update, follow from it",
    "node_sightings": "what was observed: drift, shown beside plans",
    "seen_hardware": "names what failed nodes have in common; an action that compares hardware reads it itself",
    "sighted_actions": "as node_sightings",
    "stragglers": "work of ended actions, which refuses an action and changes none",
    "node_teardowns": "what an action has done",
    "work_items": "what an action does",
    "actions": "the action itself",
    "steps": "what an action does",
    "deployment_groups": "what an action does",
    "group_phases": "what an action has done; how long it took is measured anew for each action",
    "node_changes": "what an action has done",
    "journal": "what an action has done",
    "command_audit": "who said what",
    "task_results": "what an action has done; a retry's plan lists what is left",
    "event_tickets": "readers of events",
    "webhooks": "receivers of events",
    "api_tokens": "who may ask",
    "site_clock": "the time",
    "clock_anchors": "the time",
    "rate_limits": "how often one may ask",
    "histories": "which database this is",
}
PARTS_WITHOUT_ROW = {
    "revision": "a node, a limit",
    "left_alone": "what the provisioner shows as deployed",
    "kept": "test_stored_plans: a retry",
    "deploy_steps": "test_plan_content",
    "labels": "test_plan_content",
    "classes": "what nodes were given: test_left_alone",
}
FROZEN_WITHOUT_ROW = {
    "status": "of the newest ended action: conditions read it, and the order shows it",
    "hosts": "test_frozen_software",
    "unreachable": "test_frozen_software",
    "addresses": "test_frozen_software",
}


def test_every_part_of_a_plan_every_frozen_field_and_every_table_has_a_row(site: Site) -> None:
    fuel = prepared(fuel_of(site, ["n1", "n2", "n3"]).admin)
    reset(site, fuel)
    plan = stored(site.admin, RUN, **ALLOWED)
    with site.store.begin() as tx:
        found = tx.plans.get(plan["id"])
    rows = INPUTS.values()

    assert found is not None
    assert {*found.content.parts} == {row.part for row in rows} | {*PARTS_WITHOUT_ROW}
    assert {one.name for one in fields(FrozenSoftware)} == {row.frozen for row in rows} - {""} | {*FROZEN_WITHOUT_ROW}
    assert {*metadata.tables} == {row.table for row in rows} - {""} | {*WITHOUT_ROW}


def test_a_change_of_any_input_after_the_start_changes_the_next_action_only(site: Site, engine: sa.Engine) -> None:
    fuel = prepared(fuel_of(site, ["n1", "n2", "n3"]).admin)
    reset(site, fuel)
    fuel.post("clusters/1/assignment", [{"id": "n2", "roles": ["controller"]}])
    plan = stored(site.admin, RUN, **ALLOWED)
    action = act(site.admin, plan, RUN, **ALLOWED).json["id"]
    changes = [row.change for row in INPUTS.values() if row.request is RUN and row.change is not nothing]
    for change in changes:
        change(site, fuel)

    sent = commands(site, engine, action)
    assert sent == [("n1", "echo old old old"), ("n1", "true"), ("n2", "echo old old old")]
    again = site.admin.post("/actions", json.dumps(RUN), JSON, **ALLOWED).json["id"]
    # The first run has chosen the primary.
    assert commands(site, engine, again) == [("n1", "touch /tmp/owned"), ("n1", "true"), ("n2", "touch /tmp/owned")]


def test_a_graph_that_is_replaced_while_a_deployment_runs_is_for_the_next_action(site: Site, engine: sa.Engine) -> None:
    fuel = prepared(fuel_of(site, ["n1", "n2", "n3"]).admin)
    fuel.post("clusters/1/assignment", [{"id": node, "roles": ["compute"]} for node in ("n1", "n2", "n3")])
    fuel.put("releases/1/deployment_tasks", [task("one", role="*", parameters={"cmd": "echo old"})])
    action = site.create_action()
    graph = [task(name, role="*", parameters={"cmd": "new"}) for name in ("one", "two")]
    n1 = {"id": "n1", "roles": ["controller"]}
    role = {"name": "compute", "meta": {"name": "Compute", "tags": []}}
    answers = [
        fuel.ask(method, path, body)
        for method, path, body in (
            ("PUT", "releases/1/deployment_tasks", graph),
            ("PUT", "clusters/1/attributes", {"editable": {"x": 1}}),
            ("PUT", "releases/1/roles/compute", role),
            ("PUT", "clusters/1/roles/compute", role),
            ("POST", "clusters/1/assignment", [n1]),
            ("POST", "nodes/n1/tags", ["mysql"]),
            ("DELETE", "nodes/n1/tags", ["mysql"]),
            ("POST", "clusters/1/unassignment", [n1]),
            ("PUT", "clusters/1", {"name": "other"}),
        )
    ]

    said = f"deploy_site {action} keeps the tasks that it was created with; this is for the next action."
    told = [json.loads(answer.headers.get("X-Shipyard-Warnings", "[]")) for answer in answers]
    assert told == [*[[said]] * 8, []]  # a name is no input of any action
    assert commands(site, engine, action) == [("n1", "echo old"), ("n2", "echo old"), ("n3", "echo old")]


def commands(site: Site, engine: sa.Engine, action: str) -> list[tuple[str, str | None]]:
    """Run an action, and return what ran where."""
    tasks = FakeRemoteTasks(polls=1)
    run(site, engine, ActionId(action), tasks)
    return sorted((str(node), task.command) for (_, node), task in tasks.sent.items())
