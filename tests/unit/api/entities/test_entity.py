"""An entity is filled from a record by the names of its fields, and read from the answers of other releases."""

from datetime import UTC, datetime

import msgspec
import pytest

from shipyard_api.api import entities
from shipyard_api.api.entities.actions import ActionNews
from shipyard_api.api.entities.groups import OverviewGroup
from shipyard_api.api.entities.holds import Hold, HoldList
from shipyard_api.api.entities.nodes import NodePast
from shipyard_api.api.entities.reports import Report
from shipyard_api.domain import holds
from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import Late, NodeHistory, NodeRecord
from shipyard_api.usecases.actions.describe import ListedGroup

AT = datetime(2026, 11, 21, 1, 23, 55, tzinfo=UTC)
RECORD = holds.Hold(holds.HoldId("01M7"), NodeName("n1"), holds.HoldKind.LATE, "slow", "shipyard", AT, until=AT)
WRITTEN = {
    "id": "01M7",
    "node": "n1",
    "kind": "late",
    "class": "all",
    "reason": "slow",
    "placed_by": "shipyard",
    "placed_at": "2026-11-21T01:23:55.000000Z",
    "until": "2026-11-21T01:23:55.000000Z",
    "released_by": None,
    "released_at": None,
}


def test_an_entity_is_filled_from_a_record() -> None:
    assert msgspec.to_builtins(Hold.of(RECORD)) == WRITTEN
    assert list(msgspec.to_builtins(Hold.of(RECORD))) == list(WRITTEN)
    assert Hold.of(RECORD, reason="other").reason == "other"


def test_a_field_is_that_of_the_first_record_which_has_it() -> None:
    node = NodeRecord("n1", NodeStatus.SUCCESS, None, "", "g", ("g",), AT, Late(AT, 60.5))
    past = NodeHistory(ActionId("01M7"), ActionName("deploy_site"), RunState.SUCCESS, AT, node, (), ())
    written = msgspec.to_builtins(NodePast.of(past, node))
    assert [written[name] for name in ("action_id", "action", "dag_status", "status")] == [
        "01M7", "deploy_site", "success", "success"
    ]  # fmt: skip
    assert (written["groups"], written["late"]) == (["g"], {"since": WRITTEN["placed_at"], "usual_seconds": 60.5})
    with pytest.raises(AttributeError):
        NodePast.of(node)


def test_answers_of_older_and_newer_servers_are_read() -> None:
    older = {name: value for name, value in WRITTEN.items() if name != "class"}
    newer = WRITTEN | {"kind": "a new word", "a_new_field": 1}
    read = msgspec.convert({"holds": [older, newer]}, HoldList).holds
    assert [(hold.kind, hold.hold_class) for hold in read] == [("late", "all"), ("a new word", "all")]


def test_a_group_counts_its_nodes_by_every_status_and_in_all() -> None:
    phase = PhaseRecord("g", "deploy", 2, "running", "j", ("n1", "n2"), "", AT, None, None)
    group = GroupRecord(0, "g", True, ("a",), "deploying", None, "", {NodeStatus.PREPARED: 2}, (phase,))
    written = msgspec.to_builtins(OverviewGroup.of(ListedGroup(group, 1), group))
    assert written["nodes"] == {"total": 2, "not_started": 0, "prepared": 2, "success": 0, "failure": 0}
    assert (written["needs"], written["phases"][0]["nodes_sent"], written["phases"][0]["batch"]) == (1, 2, 2)


def test_a_report_of_an_older_and_of_a_newer_server_is_read() -> None:
    action = {"id": "01M7", "name": "deploy_site", "parameters": {}, "user": "u", "committed_rev_id": None}
    action |= {"dag_status": "new", "action_lifecycle": "New", "created_at": "", "started_at": None, "ended_at": None}
    counts = {"groups": {"total": 1, "new": 1}, "nodes": {"total": 0}}
    older = {"action": action, "verdict": None, "seconds": None, "totals": counts, "groups": [], "nodes": []}
    report = msgspec.convert(older | {"a_new_field": 1}, Report)
    assert (report.action.state, report.action.waiting_for, report.totals.groups["new"]) == ("new", None, 1)
    assert not any((report.cases, report.cases_unknown, report.way_back, report.failed_tasks))


def test_an_action_of_a_server_without_our_parts_has_no_news() -> None:
    news = msgspec.convert({"id": "01M7", "dag_status": "running"}, ActionNews)
    assert not any((news.waiting_for, news.teardowns, news.cases, news.cases_unknown))


def test_the_package_has_its_modules_and_nothing_else() -> None:
    assert entities.nodes.NodePast is NodePast
    with pytest.raises(AttributeError):
        _ = entities.nodez  # type: ignore[attr-defined]
