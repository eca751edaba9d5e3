"""Forecasts: of an action, of a retry, and of an action that runs, from what is given or from the site's history."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.storage import tables
from tests.factories import group, strategy
from tests.integration.api.recorded import record
from tests.integration.api.test_plans import DEPLOY, ended
from tests.integration.api.wire import JSON, Site, five_groups_design, small_design
from tests.integration.storage.rows import counts


def ask(site: Site, body: Any) -> Result:
    return site.viewer.post("/forecasts", json.dumps(body), JSON)


def foreseen(site: Site, body: Any) -> dict[str, Any]:
    answer = ask(site, body)
    assert answer.status == falcon.HTTP_200, answer.text
    found: dict[str, Any] = answer.json
    return found


def test_a_forecast_says_how_an_action_goes_with_these_failures_and_criteria(site: Site, engine: sa.Engine) -> None:
    site.commit(*five_groups_design())
    before = counts(engine)
    sure = foreseen(site, {**DEPLOY, "failure_probability": 0})
    failing = {**DEPLOY, "failure_probability": {"prepare": 0.1, "deploy": 0.2}, "runs": 400, "seed": 5}

    found, lax = foreseen(site, failing), foreseen(site, {**failing, "criteria": {"control-nodes": {}}})

    assert (sure["success"]["probability"], sure["nodes_lost"], sure["relax"]) == (1.0, {"mean": 0.0}, None)
    assert (sure["runs"], sure["seed"], sure["source"]) == (2000, 1, "given")
    assert (found["runs"], found["seed"]) == (400, 5)
    assert found == foreseen(site, failing)
    by_name = {one["name"]: one["success"]["probability"] for one in found["groups"]}
    # Given the time server, 90 % of 4 control nodes are all of them: 0.72 each.
    assert by_name["control-nodes"] / by_name["ntp-node"] == pytest.approx(0.72**4, abs=0.06)
    assert lax["success"]["probability"] == by_name["ntp-node"]
    relax = found["relax"]
    assert (relax["group"], relax["criterion"]) == ("control-nodes", "percent_successful_nodes")
    assert (relax["from"], relax["to"] <= 75) == (90, True)
    assert relax["probability_after"] > found["success"]["probability"]
    assert 0 < found["seconds"]["p10"] <= found["seconds"]["p50"] <= found["seconds"]["p90"]
    assert counts(engine) == before


def test_without_given_numbers_the_history_of_the_site_decides(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design(tuple(f"n{number}" for number in range(1, 21))))
    guessed = foreseen(site, DEPLOY)
    action = site.create_action()
    (default,) = strategy(group("default", critical=True)).groups
    nodes = tuple(NodeName(f"n{number}") for number in range(1, 21))
    held = NodesChanged(GroupName("default"), Phase.PREPARE, NodeStatus.FAILURE, nodes[10:], held=True)
    prepared = NodesChanged(GroupName("default"), Phase.PREPARE, NodeStatus.PREPARED, nodes[:10])
    failed = NodesChanged(GroupName("default"), Phase.DEPLOY, NodeStatus.FAILURE, nodes[:10])
    why = dict.fromkeys(nodes[:9], "stopped by ann")
    stopped = NodesChanged(GroupName("default"), Phase.PREPARE, NodeStatus.FAILURE, nodes[:9], reasons=why)
    ended(site, action, MembersKnown(1, 20, ((default, frozenset(nodes)),)), held, prepared, failed, stopped)
    with engine.begin() as connection:
        connection.execute(tables.actions.update().values(stopped_by="ann"))

    measured = foreseen(site, DEPLOY)

    assert (guessed["source"], guessed["assumed"]["deploy"]["failure_probability"]) == ("default", 0.02)
    assert measured["source"] == "history"
    assert measured["assumed"]["prepare"]["measured_nodes"] == measured["assumed"]["deploy"]["measured_nodes"] == 10
    # (10 failures + 0.2) of (10 nodes + 10)
    assert measured["assumed"]["deploy"]["failure_probability"] == pytest.approx(0.51)
    assert measured["assumed"]["prepare"]["failure_probability"] == pytest.approx(0.01)
    assert foreseen(site, {"retry": action, "failure_probability": 0})["success"]["probability"] == 1.0
    start = site.viewer.get(f"/actions/{action}/forecast?from-start=true").json
    assert (start["source"], start["success"]) == ("default", guessed["success"])
    assert [one["phase"] for one in start["groups"][0]["phases"]] == ["prepare", "deploy"]
    over = site.viewer.get(f"/actions/{action}/forecast").json
    assert (over["success"]["probability"], over["seconds_left"]["p90"], "seconds" in over) == (0.0, 0.0, False)


def test_a_running_action_is_foreseen_from_its_state(site: Site) -> None:
    site.commit(*five_groups_design())
    action = site.create_action()
    begins = site.viewer.get(f"/actions/{action}/forecast").json
    first, last = strategy(
        group("ntp-node", critical=True, minimum=1), group("control-nodes", critical=True, after=["ntp-node"])
    ).groups
    ntp, control = NodeName("ntp01"), NodeName("control01")
    failed = GroupChanged(first.name, GroupStatus.FAILED, Reason.PREPARE, "none")
    membership = ((first, frozenset([ntp])), (last, frozenset([control])))
    record(site.store, action, [MembersKnown(2, 2, membership), failed])

    found = site.viewer.get(f"/actions/{action}/forecast")

    assert found.status == falcon.HTTP_200, found.text
    assert (begins["success"]["probability"] > 0.5, begins["seconds_left"]["p50"] > 0) == (True, True)
    assert found.json["success"]["probability"] == 0.0
    record(site.store, action, [GroupChanged(last.name, GroupStatus.FAILED, Reason.DEPENDENCY, "")])
    over = site.viewer.get(f"/actions/{action}/forecast").json  # the groups have ended, and the action has not
    assert (over["not_known"], over["success"]["probability"]) == ("waits for a worker", 0.0)
    certain = {one["name"]: one["success"]["probability"] for one in over["groups"] if one["success"]}
    assert certain == {first.name: 0.0, last.name: 0.0}  # what has happened; the other groups are not known


def test_what_waits_without_an_end_in_sight_is_not_guessed(site: Site, engine: sa.Engine) -> None:
    site.commit(*five_groups_design())
    action = site.create_action()
    (first,) = strategy(group("ntp-node", critical=True)).groups
    nodes = (NodeName("ntp01"),)
    started = [
        MembersKnown(1, 1, ((first, frozenset(nodes)),)),
        GroupChanged(first.name, GroupStatus.PREPARING),
        PhaseStarted(first.name, Phase.PREPARE, nodes, "job"),
    ]
    record(site.store, action, started)

    def is_guessed(**phase: Any) -> bool:
        if phase:
            with engine.begin() as connection:
                connection.execute(tables.group_phases.update().values(**phase))
        found = site.viewer.get(f"/actions/{action}/forecast").json
        guesses = [found["success"], found["seconds_left"], found["nodes_lost"], found["groups"][0]["success"]]
        assert [one is None for one in guesses] == [bool(found["not_known"])] * 4
        return not found["not_known"]

    now = datetime.now(UTC)
    assert is_guessed()
    assert not is_guessed(submitted_at=now - timedelta(minutes=5)), "a queued phase"
    long_ago = now - timedelta(hours=9)
    assert not is_guessed(submitted_at=long_ago, running_at=long_ago), "a phase that lasts longer than any"
    assert is_guessed(submitted_at=now, running_at=now)
    assert site.admin.post(f"/actions/{action}/control/pause").status == falcon.HTTP_202
    assert not is_guessed()


def test_what_cannot_be_foreseen(site: Site) -> None:
    site.commit(*small_design())
    bodies: tuple[tuple[dict[str, Any], int, str], ...] = (
        ({"name": "test_site"}, 409, "deploys no nodes"),
        ({**DEPLOY, "criteria": {"none": {"percent_successful_nodes": 100}}}, 404, "no group 'none'"),
        ({**DEPLOY, "version": "buffer"}, 404, "buffer"),
        ({"retry": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, 404, "Unknown action"),
        ({**DEPLOY, "runs": 10_001}, 400, ""),
        ({**DEPLOY, "failure_probability": 1.1}, 400, ""),
    )
    for body, code, reason in bodies:
        answer = ask(site, body)
        assert (answer.status_code, reason in answer.json["reason"]) == (code, True), answer.text
