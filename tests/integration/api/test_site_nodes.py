"""Nodes over all actions: as the latest one left each, and what every one of them did with it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import falcon
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.facts.jobs import LateResult
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.settings.types import Secret
from shipyard_api.storage import journal
from shipyard_api.storage.projections import Line
from shipyard_api.wiring import bootstrap, parts
from shipyard_simulators.deckhand.simulator import running as deckhand
from tests.distributions import installed_example
from tests.factories import group, strategy
from tests.integration.api.conftest import settings
from tests.integration.api.in_process import Client
from tests.integration.api.recorded import pages, record, statements
from tests.integration.api.wire import Caller, Site, kept, small_design
from tests.unit.tables import every_row

A, B = GroupName("a"), GroupName("b")
GOOD, BAD, PREPARED = NodeStatus.SUCCESS, NodeStatus.FAILURE, NodeStatus.PREPARED


def names(*words: str) -> tuple[NodeName, ...]:
    return tuple(NodeName(word) for word in words)


def members(**groups: str) -> MembersKnown:
    """The groups with their nodes, ``a="n1 n2"``."""
    return MembersKnown.of(
        strategy(*(group(name) for name in groups)),
        {GroupName(name): frozenset(names(*nodes.split())) for name, nodes in groups.items()},
    )


def rolled(found: MembersKnown, outcomes: Mapping[str, NodeStatus], *, job: str = "job") -> Iterator[Fact]:
    """What is told of a rollout in which every node of the first group is prepared and then deployed, or fails."""
    (one, held), *_ = found.membership
    first, everyone = one.name, tuple(sorted(held))
    yield found
    yield PhaseStarted(first, Phase.PREPARE, everyone, f"{job}-prepare")
    yield NodesChanged(first, Phase.PREPARE, PREPARED, everyone)
    yield PhaseEnded(first, Phase.PREPARE, PhaseStatus.SUCCESS)
    yield PhaseStarted(first, Phase.DEPLOY, everyone, f"{job}-deploy")
    for status in (GOOD, BAD):
        nodes = tuple(node for node in everyone if outcomes.get(node, GOOD) is status)
        if nodes:
            reasons = {node: f"{node} has no root device" for node in nodes if status is BAD}
            yield NodesChanged(first, Phase.DEPLOY, status, nodes, reasons=reasons)
    yield PhaseEnded(first, Phase.DEPLOY, PhaseStatus.SUCCESS)
    yield GroupChanged(first, GroupStatus.SUCCESS)


def played(site: Site, facts: Iterable[Fact]) -> str:
    """An action that has ended, of which this was told."""
    action = site.create_action()
    record(site.store, action, facts)
    now = datetime.now(UTC) + timedelta(seconds=1)
    with site.store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=now + timedelta(seconds=1), worker="w")
        assert claim is not None
        tx.turns.end_action(claim, RunState.FAILED, now=now)
    return action


@pytest.fixture
def committed(site: Site) -> Site:
    site.commit(*small_design())
    return site


@kept
def two(site: Site) -> tuple[str, str]:
    """Two actions: n2 failed in the first one; the second holds n1, n3 and n10, and did not come to n3."""
    site.commit(*small_design())
    first = played(site, rolled(members(a="n1 n2 n3"), {"n2": BAD}, job="first"))
    second = played(site, rolled(members(a="n1 n10", b="n3 n1"), {"n10": BAD}, job="second"))
    return first, second


def test_lists_of_nodes_are_filtered_and_come_in_pages(site: Site, two: tuple[str, str]) -> None:
    @every_row(FILTERS)
    def filtered(params: dict[str, Any], expected: list[str]) -> None:
        assert [node["name"] for node in site.viewer.get("/nodes", **params).json["nodes"]] == expected

    @every_row(PAGES)
    def paged(params: dict[str, Any], expected: list[list[str]]) -> None:
        assert pages(site.viewer, "/nodes", "nodes", **params) == expected

    filtered()
    paged()


def test_every_node_is_shown_as_the_latest_action_that_worked_on_it_has_it(site: Site, two: tuple[str, str]) -> None:
    first, second = two

    found = {node["name"]: node for node in site.viewer.get("/nodes").json["nodes"]}

    assert list(found) == ["n1", "n10", "n2", "n3"]
    assert {name: (node["status"], node["action_id"]) for name, node in found.items()} == {
        "n1": ("success", second),
        "n10": ("failure", second),
        "n2": ("failure", first),
        "n3": ("success", first),
    }
    failed = found["n10"]
    assert failed.pop("updated_at").endswith("Z")
    assert failed == {
        "name": "n10",
        "status": "failure",
        "reason": "deploy",
        "detail": "n10 has no root device",
        "group": "a",
        "groups": ["a"],
        "late": None,
        "action_id": second,
        "holds": [],
        "pending": [],
        "in_design": False,
        "cordon": None,
        "roles": [],
        "tags": [],
        "impact": None,
    }
    assert (found["n1"]["groups"], found["n3"]["group"]) == (["a", "b"], "a")


def test_a_node_has_its_roles_and_tags(site: Site, two: tuple[str, str]) -> None:
    with site.store.begin() as tx:
        tx.software.add_nodes(SITE, names("n1", "n2"))
        (first, _) = tx.software.nodes(SITE)
        tx.software.save_node(replace(first, roles=("web",), tags=("mysql", "mysql:2")))

    listed = {node["name"]: (node["roles"], node["tags"]) for node in site.viewer.get("/nodes").json["nodes"]}
    one = site.viewer.get("/nodes/n1").json

    assert (one["roles"], one["tags"]) == listed.pop("n1") == (["web"], ["mysql", "mysql:2"])
    assert listed == {"n10": ([], []), "n2": ([], []), "n3": ([], [])}


def test_a_design_in_deckhand_is_read_once_for_many_lists_of_nodes(
    site: Site, two: tuple[str, str], shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert two
    monkeypatch.setattr(parts, "_DESIGN_SECONDS", 10_000.0)
    with deckhand() as simulator:
        client = DeckhandOptions(url=f"{simulator.url}/api/v1.0", token=Secret("any"))
        options = settings(shared_url, site.drydock.url, client)
        admin = Caller(bootstrap.api(options), site.admin.client.headers["X-Auth-Token"])

        def known() -> tuple[list[str], int]:
            """The nodes of the committed design, and how many requests Deckhand got for the answer."""
            before = len(simulator.requests())
            nodes = admin.get("/nodes").json["nodes"]
            return [one["name"] for one in nodes if one["in_design"]], len(simulator.requests()) - before

        assert known()[0] == []
        admin.load("design", *small_design(("n1", "n2")))
        assert admin.commit().status == falcon.HTTP_200
        nodes, asked = known()
        assert (nodes, asked > 0) == (["n1", "n2"], True)
        assert [known(), known(), known()] == [(["n1", "n2"], 0)] * 3
        admin.load("design", *small_design(("n1",)), buffermode="replace")
        assert known() == (["n1", "n2"], 0)
        assert admin.commit().status == falcon.HTTP_200
        assert known()[0] == ["n1"]


FILTERS = {
    "one status": ({"status": "failure"}, ["n10", "n2"]),
    "two statuses": ({"status": ["success", "not_started"]}, ["n1", "n3"]),
    "a beginning": ({"name": "n1"}, ["n1", "n10"]),
    "no pattern": ({"name": "n%"}, []),
    "not SQL": ({"name": "'; --"}, []),
    "empty is absent": ({"name": "", "status": "", "marker": ""}, ["n1", "n10", "n2", "n3"]),
    "after no node": ({"marker": "n11"}, ["n2", "n3"]),
    "a comma does not split": ({"name": "n1,n2"}, []),
    "a node set and a name": ({"node": ["n[2-12]", "n1"], "status": ["failure", "success"]}, ["n1", "n10", "n2", "n3"]),
}


PAGES = {
    "one by one": ({"limit": 1}, [["n1"], ["n10"], ["n2"], ["n3"], []]),
    "uneven": ({"limit": 3}, [["n1", "n10", "n2"], ["n3"]]),
    "filtered": ({"limit": 1, "status": "failure"}, [["n10"], ["n2"], []]),
}


def test_one_node_with_all_that_was_done_with_it(site: Site, two: tuple[str, str]) -> None:
    first, second = two

    node = site.viewer.get("/nodes/n1").json

    assert (node["name"], node["status"], node["action_id"], node["next"]) == ("n1", "success", second, None)
    assert [(past["action_id"], past["action"], past["dag_status"]) for past in node["history"]] == [
        (second, "deploy_site", "failed"),
        (first, "deploy_site", "failed"),
    ]
    newest = node["history"][0]
    assert [(one["status"], one["phase"], one["group"], one["late"]) for one in newest["changes"]] == [
        ("not_started", None, None, False),
        ("prepared", "prepare", "a", False),
        ("success", "deploy", "a", False),
    ]
    times = [one["at"] for one in newest["changes"]]
    assert times == sorted(times)
    assert [(one["phase"], one["group"], one["status"], one["job"]) for one in newest["phases"]] == [
        ("prepare", "a", "success", "second-prepare"),
        ("deploy", "a", "success", "second-deploy"),
    ]
    assert all(one["submitted_at"] <= one["ended_at"] for one in newest["phases"])
    assert newest["phases"][0]["look_at"].endswith("/tasks/second-prepare?subtaskerrors=true")
    # The past comes in pages.
    latest = site.viewer.get("/nodes/n1", limit=1).json
    earlier = site.viewer.get("/nodes/n1", limit=1, marker=latest["next"]).json
    assert ([one["action_id"] for one in latest["history"]], latest["next"]) == ([second], second)
    assert ([one["action_id"] for one in earlier["history"]], earlier["action_id"]) == ([first], second)
    assert site.viewer.get("/nodes/n1", marker=first).json["history"] == []
    # One that failed tells why, and one that no group sent has no phases.
    (past,) = site.viewer.get("/nodes/n2").json["history"]
    for told in (past, past["changes"][-1]):
        assert (told["status"], told["reason"], told["detail"]) == ("failure", "deploy", "n2 has no root device")
    unsent = site.viewer.get("/nodes/n3").json["history"][0]
    assert (unsent["status"], unsent["phases"], len(unsent["changes"])) == ("not_started", [], 1)
    for name in ("n9", "N1", "n", ""):
        unknown = site.viewer.get(f"/nodes/{name}")
        told = (unknown.status_code, unknown.json["message"], unknown.json["reason"])
        assert told == (404, "Node not found", f"No action has had a node {name}")


def test_names_of_every_sort_and_a_node_with_the_name_of_a_group(committed: Site) -> None:
    """Changes are found by the groups that hold the node and by its name; a phase is that of the nodes it sent."""
    odd = ('a"b', "a b", "ä", "a\\b", "%", "?", "n" * 500, "{}", "a'b", "📦")
    sent = frozenset(names(*odd))
    found = MembersKnown.of(strategy(group("a"), group("b")), {A: sent, B: frozenset(names("a"))})
    facts = rolled(found, dict.fromkeys(odd, BAD))
    played(committed, facts)

    for name in odd:
        node = committed.viewer.get(f"/nodes/{quote(name, safe='')}").json
        assert (node["name"], node["status"]) == (name, "failure")
        assert [one["status"] for one in node["history"][0]["changes"]] == ["not_started", "prepared", "failure"]
    assert [one["name"] for one in committed.viewer.get("/nodes").json["nodes"]] == sorted(("a", *odd))
    (past,) = committed.viewer.get("/nodes/a").json["history"]
    assert ([one["status"] for one in past["changes"]], past["phases"]) == (["not_started"], [])
    alone = [members(a="n1 n2"), PhaseStarted(A, Phase.PREPARE, names("n1"), "job")]
    played(committed, [*alone, NodesChanged(A, Phase.PREPARE, PREPARED, names("n1"))])
    jobs = [committed.viewer.get(f"/nodes/{name}").json["history"][0]["phases"] for name in ("n1", "n2")]
    assert [[one["job"] for one in phases] for phases in jobs] == [["job"], []]


def test_what_came_late_is_told_and_changes_nothing(committed: Site, engine: sa.Engine) -> None:
    action = played(committed, rolled(members(a="n1 n2"), {"n1": BAD, "n2": BAD}))
    late_results = [
        LateResult("j", "prepare_nodes", "ended", names("n1"), (), "n1, at last"),
        LateResult("j", "deploy_nodes", "ended", names("n1"), names("n2"), "n1, at last"),
        LateResult("j", "verify_site", "ended", names("n1"), (), "n1, at last"),
        LateResult("j", "deploy_nodes", "ended", (), names("n3"), "n1, at last"),
    ]
    with engine.begin() as connection:
        journal.record(connection, Line(ActionId(action), 1, None, datetime.now(UTC), "w"), late_results)

    nodes = {name: committed.viewer.get(f"/nodes/{name}").json for name in ("n1", "n2")}

    late = {
        name: [(one["status"], one["phase"]) for one in node["history"][0]["changes"] if one["late"]]
        for name, node in nodes.items()
    }
    assert late == {"n1": [("prepared", "prepare"), ("success", "deploy")], "n2": [("failure", "deploy")]}
    assert {node["status"] for node in nodes.values()} == {"failure"}


def test_nodes_that_a_retry_kept_tell_where_they_were_deployed(committed: Site) -> None:
    first = played(committed, rolled(members(a="n1 n2"), {"n2": BAD}))
    played(committed, [members(a="n1 n2"), NodesKept(names("n1"), first)])

    node = committed.viewer.get("/nodes/n1").json

    kept = f"kept: deployed before the retry of {first}"
    assert (node["status"], node["reason"], node["detail"]) == ("success", None, kept)
    assert [(one["status"], one["detail"]) for one in node["history"][0]["changes"]] == [
        ("not_started", ""),
        ("success", f"kept: deployed before the retry of {first}"),
    ]


def test_more_nodes_and_more_actions_take_no_more_questions(committed: Site) -> None:
    def asked(path: str) -> int:
        with statements() as sent:
            assert committed.viewer.get(path).status == falcon.HTTP_200
        return len(sent)

    assert committed.viewer.get("/nodes").json == {"nodes": [], "next": None}
    played(committed, rolled(members(a="n1"), {}))
    few = [asked("/nodes"), asked("/nodes/n1")]
    for _ in range(3):
        played(committed, rolled(members(a=" ".join(f"n{number}" for number in range(1, 200))), {}))
    many = [asked("/nodes"), asked("/nodes/n1")]

    assert few == many
    assert max(many) <= 16


def test_a_page_is_found_by_way_of_the_index(committed: Site, engine: sa.Engine) -> None:
    """Whatever the number of actions: no table is read as a whole for the first page."""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO actions (id, name, parameters, user_name, context_marker, revision, exclusive, inputs, state, "
            "ended_at) SELECT lpad(n::text, 26, '0'), 'deploy_site', '{}', 'ann', '-', 1, true, '{}', 'success', now() "
            "FROM generate_series(0, 39) n"
        )
        connection.exec_driver_sql(
            "INSERT INTO action_nodes (action_id, name, status, groups, updated_at) SELECT id, "
            "'n' || lpad(n::text, 4, '0'), 'success', '{a}', now() FROM actions, generate_series(0, 499) n"
        )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("ANALYZE action_nodes"))

    with statements() as sent:
        (first,) = committed.viewer.get("/nodes", limit=1).json["nodes"]
    (walk,) = (statement for statement in sent if "RECURSIVE" in statement)

    assert (first["name"], first["action_id"]) == ("n0000", f"{39:026}")
    with engine.connect() as connection:
        limits = {f"param_{number}": 1 for number in range(1, 6)}
        words = {"name_1": "", "status_1": "not_started", "reason_1": "teardown", "reason_2": "teardown"}
        values = {**words, "state_1": "success", **limits}
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {walk}", values).scalars())
    assert "Seq Scan" not in plan
    assert "action_nodes_name_action_id_index" in plan


def test_a_dialect_of_a_plug_in_shows_them_in_its_own_form(site: Site, two: tuple[str, str], shared_url: str) -> None:
    with installed_example("redfish_dialect"):
        app = bootstrap.api(settings(shared_url, site.drydock.url))
    viewer, nobody = Client(app, headers=site.viewer.client.headers), Client(app)
    systems = "/redfish/v1/Systems"

    listed, failed, unknown = (viewer.simulate_get(systems + rest) for rest in ("", "/n2", "/n9"))

    assert two
    assert [one["@odata.id"].rpartition("/")[2] for one in listed.json["Members"]] == ["n1", "n10", "n2", "n3"]
    assert failed.json == {"@odata.id": f"{systems}/n2", "Id": "n2", "Status": {"Health": "Critical"}}
    assert (unknown.status_code, *unknown.json) == (404, "error")
    assert nobody.simulate_get(systems).status == falcon.HTTP_401
    assert nobody.simulate_get("/v1").json["id"] == "v1"
