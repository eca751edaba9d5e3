"""Holds on nodes: placed, shown, released; and no action that touches a held node is created."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.api.mount import Mount
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.holds import OVERRIDDEN
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.layers import SITE, Layer, ReleaseId
from shipyard_api.storage import tables as t
from shipyard_api.usecases.tokens import ApiTokens
from tests.factories import group_entry, strategy_document
from tests.integration.api.recorded import record
from tests.integration.api.test_site_nodes import members, names
from tests.integration.api.wire import JSON, Caller, Site, everything_said, messages, small_design
from tests.task_graphs import group, task

LATER = (datetime.now(UTC) + timedelta(days=300)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
DISK = {"reason": "new disk", "kind": "hardware", "until": LATER}
FORCED = '{"name": "deploy_site", "parameters": {"force": "true"}}'


def hold(site: Site, node: str = "n1", **body: Any) -> Any:
    return site.admin.post(f"/nodes/{node}/holds", json.dumps({"reason": "new disk", **body}), JSON)


@pytest.fixture
def held(site: Site) -> str:
    """A site of two nodes, of which the first is held."""
    site.commit(*small_design())
    return str(hold(site, **DISK).json["id"])


def lower(app: Mount, site: Site) -> Caller:
    """Somebody who may create actions, and may not override holds."""
    return Caller(app, ApiTokens(site.store).create("bob", "admin_ucp")[1])


def test_a_hold_is_placed_shown_and_released(site: Site) -> None:
    site.commit(*small_design())

    placed = hold(site, **DISK)
    again = hold(site, **DISK)
    other = hold(site, "n2", until="P36500D")

    entity = placed.json
    assert (placed.status, again.status, other.status) == (falcon.HTTP_201,) * 3
    assert again.json == entity
    assert placed.headers["Location"] == f"/api/v1.0/holds/{entity['id']}"
    assert entity.pop("under_way") == []
    assert {key: value for key, value in entity.items() if key not in ("id", "placed_at")} == {
        "node": "n1",
        "placed_by": "ann",
        "released_by": None,
        "released_at": None,
        "class": "all",
        **DISK,
    }
    assert [one["node"] for one in site.viewer.get("/holds").json["holds"]] == ["n1", "n2"]
    assert site.viewer.get("/holds", node="n1").json["holds"] == [entity]
    assert site.viewer.get(f"/holds/{entity['id']}").json == entity

    path = f"/api/v1.0/holds/{entity['id']}"
    released = site.admin.ask("DELETE", path)
    assert (released.status, released.json["released_by"]) == (falcon.HTTP_200, "ann")
    assert site.admin.ask("DELETE", path).json == released.json
    assert [one["node"] for one in site.viewer.get("/holds").json["holds"]] == ["n2"]
    assert site.viewer.get("/holds", node="n1", ended="true").json["holds"] == [released.json]
    assert site.viewer.get("/holds", node="n1").json["holds"] == []
    assert [one["node"] for one in site.viewer.get("/holds", ended="true").json["holds"]] == ["n2", "n1"]


BAD = {
    "no reason": ("n1", {"reason": ...}, "400", '"reason" is a required property'),
    "reason that reads backwards": ("n1", {"reason": "disk \u202ekcab"}, "400", "U+202E, which is not shown"),
    "an unknown class": ("n1", {"class": "none"}, "400", "none"),
    "a member too many": ("n1", {"node": "n2"}, "400", "node"),
    "no end": ("n1", {"until": "tomorrow"}, "400", "'tomorrow'"),
    "an end at once": ("n1", {"until": "PT0S"}, "400", "in the past"),
    "an end beyond time": ("n1", {"until": "P9999Y"}, "400", "'P9999Y'"),
    "an end that is too far away": ("n1", {"until": "P36501D"}, "400", "'P36501D'"),
    "unknown node": ("n3", {}, "404", "node n3"),
}


def test_a_hold_that_cannot_be_placed_and_what_holds_no_action(app: Mount, site: Site, engine: sa.Engine) -> None:
    only = strategy_document(group_entry("only", selectors=[{"node_names": ["n1"]}]))
    design = [*small_design(), only]
    design[0]["data"]["physical_provisioner"] = {"deployment_strategy": only["metadata"]["name"]}
    site.commit(*design)

    for node, change, code, says in BAD.values():
        body = {key: value for key, value in {"reason": "disk", **change}.items() if value is not ...}
        answer = site.admin.post(f"/nodes/{node}/holds", json.dumps(body), JSON)
        assert answer.status.startswith(code)
        assert says in everything_said(answer)
    for answer in (site.viewer.get("/holds/none"), site.admin.ask("DELETE", "/api/v1.0/holds/none")):
        assert (answer.status, answer.json["reason"]) == (falcon.HTTP_404, "There is no hold none")
    assert site.viewer.get("/holds").json == {"holds": []}

    # Force needs no further rule without a hold; a class keeps only its own work, a group decides what is touched.
    assert lower(app, site).act(FORCED).status == falcon.HTTP_201
    _fail(engine)
    hold(site, "n2")
    assert hold(site, **{"class": "no_teardown"}).json["class"] == "no_teardown"
    assert site.admin.act().status == falcon.HTTP_201
    _fail(engine)
    hold(site, **{"class": "no_deployment"})
    assert site.admin.act().status == falcon.HTTP_409


def report(caller: Caller, **body: Any) -> Any:
    return caller.ask("PUT", "/api/v1.0/nodes/n1/health", body=json.dumps(body), headers=JSON)


def test_a_health_source_holds_a_node_until_it_is_healthy(app: Mount, site: Site) -> None:
    site.commit(*small_design())
    fans, disks = (Caller(app, ApiTokens(site.store).create(name, "health")[1]) for name in ("fans", "disks"))
    by_hand = hold(site).json["id"]

    def held_by() -> list[tuple[str, str, str, str]]:
        found = site.viewer.get("/holds").json["holds"]
        return [(one["kind"], one["placed_by"], one["class"], one["reason"]) for one in found if one["id"] != by_hand]

    assert report(fans, healthy=True).json == {"holds": []}
    first = report(fans, healthy=False, reason="fan 3")
    assert (first.status, len(first.json["holds"])) == (falcon.HTTP_200, 1)
    assert report(fans, healthy=False, reason="fan 3").json == first.json
    assert report(disks, healthy=False, reason="disk", **{"class": "no_teardown"}).status == falcon.HTTP_200
    of_disks = ("health", "disks", "no_teardown", "disk")
    assert held_by() == [("health", "fans", "no_deployment", "fan 3"), of_disks]

    report(fans, healthy=False, reason="fans 3 and 4")
    assert sorted(held_by()) == [of_disks, ("health", "fans", "no_deployment", "fans 3 and 4")]
    for _ in range(2):
        assert report(fans, healthy=True).json == {"holds": []}
    assert held_by() == [of_disks]

    assert report(fans, healthy=False).status == falcon.HTTP_400
    assert report(fans, healthy=False, reason="fan\u202e").status == falcon.HTTP_400
    assert fans.get("/holds").status == falcon.HTTP_403


def test_a_held_node_shows_what_is_pending_for_it(site: Site) -> None:
    site.commit(*small_design())
    action = site.create_action()
    prepared = NodesChanged(GroupName("a"), Phase.PREPARE, NodeStatus.PREPARED, (NodeName("n1"),))
    record(site.store, action, [members(a="n1 n2 gone"), prepared])
    assert site.viewer.get("/nodes/n1").json["pending"] == []
    hold(site)

    found = site.viewer.get("/nodes").json["nodes"]
    pending = [{"action_id": action, "action": "deploy_site", "phase": "deploy"}]
    assert {one["name"]: one["pending"] for one in found} == {"gone": [], "n1": pending, "n2": []}
    assert site.viewer.get("/nodes/n1").json["pending"] == pending
    deployed = NodesChanged(GroupName("a"), Phase.DEPLOY, NodeStatus.SUCCESS, (NodeName("n1"),))
    record(site.store, action, [deployed])
    assert site.viewer.get("/nodes/n1").json["pending"] == []
    # A node that an action has had is known without the design.
    shown = {key: value for key, value in hold(site, "gone").json.items() if key != "under_way"}
    assert site.viewer.get("/nodes/gone").json["holds"] == [shown]


def test_an_action_that_touches_a_held_node_is_refused_with_every_hold(site: Site, held: str) -> None:
    second = hold(site, reason="no power").json["id"]

    refused = site.admin.act()

    assert (refused.status, refused.json["message"]) == (falcon.HTTP_409, "Nodes are held")
    until = f"{LATER[:19]}Z"
    hardware = f"held (hardware) by ann until {until}: new disk"
    assert refused.json["reason"] == (
        f"node n1 is {hardware}; held (operator) by ann: no power. Release the holds, or use the parameter force=true "
        "if the policy allows you to override them."
    )
    assert [one["message"] for one in messages(refused)] == [
        f"Hold {held}: node n1 is {hardware}.",
        f"Hold {second}: node n1 is held (operator) by ann: no power.",
    ]
    plan = site.viewer.post("/plans", '{"name": "deploy_site"}', JSON).json
    assert (plan["refused"]["title"], [one["id"] for one in plan["held"]]) == ("Nodes are held", [held, second])


def test_actions_that_touch_no_held_node_are_created(site: Site, engine: sa.Engine, held: str) -> None:
    with site.store.begin() as tx:
        release = tx.software.release(ReleaseId(1))
        assert release
        tx.software.save_release(replace(release, layer=Layer((group("web"), task("one", groups=["web"])))))
        tx.software.add_nodes(SITE, map(NodeName, ("n1", "n2")))
        for node in tx.software.nodes(SITE):
            tx.software.save_node(replace(node, roles=("web",)))
    update = {"name": "update_software", "parameters": {"nodes": "n1"}}
    assert site.admin.act(json.dumps(update)).status == falcon.HTTP_409
    created = site.admin.act('{"name": "update_software", "parameters": {"nodes": "n2"}}').json["id"]
    deployed = NodesChanged(GroupName("a"), Phase.DEPLOY, NodeStatus.SUCCESS, (NodeName("n1"), NodeName("n2")))
    record(site.store, created, [members(a="n1 n2"), deployed])
    _fail(engine)
    hold(site, "n2")
    assert site.admin.post(f"/actions/{created}/control/retry").status == falcon.HTTP_409
    # Without names, it runs on those that are deployed; those that are held are left out then.
    assert site.admin.act('{"name": "update_software"}').status == falcon.HTTP_201
    assert site.admin.act('{"name": "test_site"}').status == falcon.HTTP_201


def test_force_overrides_holds_with_a_rule_of_its_own(app: Mount, site: Site, held: str) -> None:
    refused = lower(app, site).act(FORCED)
    assert refused.status == falcon.HTTP_403
    assert held in everything_said(refused)

    created = site.admin.act(FORCED)

    assert created.status == falcon.HTTP_201
    with site.store.begin() as tx:
        assert tx.actions.inputs(created.json["id"])[OVERRIDDEN] == [held]
    notes = site.viewer.get(f"/actions/{created.json['id']}").json["notes"]
    assert [note["note_val"] for note in notes if note["sub_type"] == "Hold Overridden"] == [
        f"node n1 is held (hardware) by ann until {LATER[:19]}Z: new disk"
    ]


def test_a_retry_is_held_by_the_nodes_that_it_would_touch(site: Site, engine: sa.Engine) -> None:
    """n1 is deployed and kept, n2 is retried, and n3 was no node of the action."""
    site.commit(*small_design(("n1", "n2", "n3")))
    action = site.create_action()
    deployed = NodesChanged(GroupName("a"), Phase.DEPLOY, NodeStatus.SUCCESS, names("n1"))
    record(site.store, action, [members(a="n1 n2"), deployed])
    _fail(engine)
    kept = hold(site, "n1").json["id"]
    hold(site, "n3")

    def planned() -> dict[str, Any]:
        found: dict[str, Any] = site.viewer.post("/plans", json.dumps({"retry": action}), JSON).json
        return found

    assert (planned()["refused"], planned()["held"]) == (None, [])
    # A node that is kept is touched as well if tasks run on it.
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE actions SET inputs = inputs::jsonb || '{\"software\": {}}'"))
    assert [one["id"] for one in planned()["held"]] == [kept]
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE actions SET inputs = inputs::jsonb - 'software'"))
    placed = hold(site, "n2").json["id"]
    retried = site.admin.post(f"/actions/{action}/control/retry")
    assert (retried.status, retried.json["message"]) == (falcon.HTTP_409, "Nodes are held")
    assert (planned()["refused"]["title"], [one["id"] for one in planned()["held"]]) == ("Nodes are held", [placed])
    forced = site.admin.post(f"/actions/{action}/control/retry", force="true").json["id"]
    with site.store.begin() as tx:
        assert tx.actions.inputs(forced)[OVERRIDDEN] == [placed]
    _fail(engine)
    # Its own retry is not forced, and before an action knows its nodes, any may be one of them.
    assert site.admin.post(f"/actions/{forced}/control/retry").status == falcon.HTTP_409


def test_a_retry_is_held_where_it_would_take_a_server_down(site: Site, engine: sa.Engine) -> None:
    """A teardown is forbidden on n1 and n2, of which the action takes down only n2, to install it again."""
    site.commit(*small_design())
    action = site.create_action()
    record(site.store, action, [members(a="n1 n2")])
    _fail(engine)
    hold(site, "n1", **{"class": "no_teardown"})
    placed = hold(site, "n2", **{"class": "no_teardown"}).json["id"]
    assert site.viewer.post("/plans", json.dumps({"retry": action}), JSON).json["held"] == []
    with site.store.begin() as tx:
        inputs = ActionInputs.from_json(tx.actions.inputs(action))
    inputs = replace(inputs, site=replace(inputs.of_site, ways=Ways(reinstalled=names("n2"))))
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(inputs=inputs.to_json()))

    plan = site.viewer.post("/plans", json.dumps({"retry": action}), JSON).json
    retried = site.admin.post(f"/actions/{action}/control/retry")

    assert ([one["id"] for one in plan["held"]], plan["refused"]["title"]) == ([placed], "Nodes are held")
    assert (retried.status, retried.json["message"]) == (falcon.HTTP_409, "Nodes are held")


@pytest.mark.parametrize(
    ("nodes", "retries"), [("n1", True), ("n3", True), ("n2", False), ("n1 n2", False), (None, False)]
)
def test_a_retry_waits_for_earlier_work_on_the_nodes_that_it_would_touch(
    nodes: str | None, retries: bool, site: Site, engine: sa.Engine
) -> None:
    """n1 is deployed and kept, n2 is retried, and n3 was no node of the action; None: work on the whole site."""
    site.commit(*small_design(("n1", "n2", "n3")))
    action = site.create_action()
    deployed = NodesChanged(GroupName("a"), Phase.DEPLOY, NodeStatus.SUCCESS, names("n1"))
    left = WorkLeftBehind("deploy_nodes", "j", "d", nodes and names(*nodes.split()), "why")
    record(site.store, action, [members(a="n1 n2"), deployed, left])
    _fail(engine)

    plan = site.viewer.post("/plans", json.dumps({"retry": action}), JSON).json
    retried = site.admin.post(f"/actions/{action}/control/retry")

    assert (plan["refused"] is None, retried.status == falcon.HTTP_201) == (retries, retries)


def _fail(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
