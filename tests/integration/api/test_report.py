"""The report of an action: all groups, all nodes, what was found, and where to look."""

from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import pytest

from shipyard_api.domain.actions import ActionId, RunState, StepState
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.criteria import Criterion, Shortfall
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from tests.factories import group, strategy
from tests.integration.api.recorded import record, statements
from tests.integration.api.wire import Site, five_groups_design, small_design

A, B = GroupName("a"), GroupName("b")
N1, N2, N3 = NodeName("n1"), NodeName("n2"), NodeName("n3")
MISSED = Shortfall(Criterion.MINIMUM, 2, 1)
FOUND = Finding(
    "NodeInSeveralGroups", Level.INFO, "n2 is in a and b", (DocumentRef("shipyard/DeploymentStrategy/v1", "s"),)
)


@pytest.fixture
def action(site: Site) -> str:
    """An action under way: n1 deployed by a, n2 failed there, n3 not sent since b depends on a."""
    site.commit(*small_design())
    action = site.create_action()
    record(
        site.store,
        action,
        [
            FindingReported(FOUND),
            MembersKnown.of(
                strategy(group("a", critical=True), group("b", after=["a"])),
                {A: frozenset({N1, N2}), B: frozenset({N2, N3})},
            ),
            PhaseStarted(A, Phase.PREPARE, (N1, N2), "job-1"),
            GroupChanged(A, GroupStatus.PREPARING),
            NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1, N2)),
            PhaseEnded(A, Phase.PREPARE, PhaseStatus.SUCCESS),
            PhaseStarted(A, Phase.DEPLOY, (N1, N2), "job/2"),
            GroupChanged(A, GroupStatus.DEPLOYING),
            NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, (N1,)),
            NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N2,), reasons={N2: "no root device"}),
            PhaseEnded(A, Phase.DEPLOY, PhaseStatus.PARTIAL_SUCCESS, "1 of 2"),
            GroupChanged(A, GroupStatus.FAILED, Reason.DEPLOY, str(MISSED), (MISSED,)),
            GroupChanged(B, GroupStatus.FAILED, Reason.DEPENDENCY, "depends on a, which failed"),
        ],
    )
    return action


def ended(site: Site, action: str, state: RunState, *, after: timedelta) -> None:
    now = datetime.now(UTC) + timedelta(seconds=2)
    with site.store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=now, worker="w")
        assert claim is not None
        begun = tx.actions.get(ActionId(action))
        assert begun is not None
        assert begun.started_at is not None
        tx.turns.end_action(claim, state, now=begun.started_at + after)


def report(site: Site, action: str) -> dict[str, Any]:
    answer = site.viewer.get(f"/actions/{action}/report")
    assert answer.status == falcon.HTTP_200, answer.text
    found: dict[str, Any] = answer.json
    return found


def test_an_action_that_was_not_looked_at_yet(site: Site) -> None:
    revision = site.commit(*five_groups_design())
    action = site.create_action()

    found = report(site, action)

    waiting = found["action"].pop("waiting_for")
    assert (waiting["who"], waiting["since"]) == ("worker", found["action"]["created_at"])
    assert found.pop("action") | {"created_at": None} == {
        "id": action,
        "name": "deploy_site",
        "parameters": {},
        "user": "ann",
        "committed_rev_id": revision,
        "dag_status": "queued",
        "action_lifecycle": "Pending",
        "created_at": None,
        "started_at": None,
        "ended_at": None,
    }
    nodes = {"total": 0, "not_started": 0, "prepared": 0, "success": 0, "failure": 0}
    groups = {"total": 0, "not_started": 0, "preparing": 0, "deploying": 0, "success": 0, "failed": 0}
    assert found == {
        "verdict": None,
        "seconds": None,
        "failed_steps": [],
        "way_back": [],
        "older": [],
        "cases": [],
        "totals": {"groups": groups, "nodes": nodes},
        "findings": [],
        "groups": [],
        "nodes": [],
        "tasks": [],
        "failed_tasks": [],
        "skipped_tasks": [],
        "tolerated": [],
    }


def test_a_running_action_is_reported_as_it_stands(site: Site, action: str) -> None:
    found = report(site, action)

    assert (found["verdict"], found["action"]["dag_status"], found["action"]["ended_at"]) == (None, "running", None)
    assert 0 <= found["seconds"] < 60
    assert found["totals"]["groups"] == {
        "total": 2, "not_started": 0, "preparing": 0, "deploying": 0, "success": 0, "failed": 2,
    }  # fmt: skip
    assert found["totals"]["nodes"] == {"total": 3, "not_started": 1, "prepared": 0, "success": 1, "failure": 1}
    assert found["findings"] == [
        {
            "name": "NodeInSeveralGroups",
            "level": "Info",
            "message": "n2 is in a and b",
            "path": "",
            "source": "",
            "documents": [{"schema": "shipyard/DeploymentStrategy/v1", "name": "s"}],
        }
    ]
    a, b = found["groups"]
    prepare, deploy = a.pop("phases")
    assert a == {
        "name": "a",
        "critical": True,
        "status": "failed",
        "reason": "deploy",
        "detail": "minimum_successful_nodes is 1, at least 2 needed",
        "shortfalls": [{"criterion": "minimum_successful_nodes", "needed": 2, "actual": 1}],
        "depends_on": [],
        "nodes": {"total": 2, "not_started": 0, "prepared": 0, "success": 1, "failure": 1},
    }
    told = (prepare["phase"], prepare["status"], prepare["job"], prepare["nodes_sent"])
    assert told == ("prepare", "success", "job-1", 2)
    assert (deploy["phase"], deploy["status"], deploy["message"]) == ("deploy", "partial_success", "1 of 2")
    assert prepare["submitted_at"] <= prepare["ended_at"] <= deploy["submitted_at"]
    assert (b["reason"], b["shortfalls"], b["phases"]) == ("dependency", [], [])
    n1, n2, n3 = found["nodes"]
    assert (n2["name"], n2["status"], n2["reason"], n2["detail"]) == ("n2", "failure", "deploy", "no root device")
    assert (n2["group"], n2["groups"]) == ("a", ["a", "b"])
    assert [(one["group"], one["phase"], one["status"], one["job"]) for one in n2["phases"]] == [
        ("a", "prepare", "success", "job-1"),
        ("a", "deploy", "partial_success", "job/2"),
    ]
    assert n1["phases"] == n2["phases"]
    assert (n3["status"], n3["group"], n3["phases"]) == ("not_started", None, [])
    # Where to look is where Drydock shows it.
    drydock = site.drydock.url
    assert [one["look_at"] for one in (prepare, deploy)] == [
        f"{drydock}/tasks/job-1?subtaskerrors=true",
        f"{drydock}/tasks/job%2F2?subtaskerrors=true",
    ]
    of_nodes = [f"{drydock}/nodes/{name}/builddata?latest=true" for name in ("n1", "n2")]
    assert [one["look_at"] for one in found["nodes"]] == [*of_nodes, None]


def test_an_ended_action_tells_its_verdict_why_and_how_long_it_took(site: Site, action: str) -> None:
    with site.store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=datetime.now(UTC) + timedelta(seconds=1), worker="w")
        assert claim is not None
        assert claim.step is not None
        tx.turns.end_step(claim, StepState.FAILED, "the peer is ill", (), now=datetime.now(UTC))
    ended(site, action, RunState.FAILED, after=timedelta(minutes=7, milliseconds=500))
    with site.store._engine.begin() as connection:
        # As the journals of actions that an earlier release ran.
        connection.exec_driver_sql("UPDATE journal SET facts = (facts::jsonb - 'shortfalls')::json")

    found = report(site, action)

    assert found["failed_steps"] == [{"id": claim.step, "detail": "the peer is ill"}]
    assert (found["verdict"], found["seconds"], found["action"]["action_lifecycle"]) == ("failed", 420.5, "Failed")
    assert [one["command"] for one in found["way_back"]][1:] == [
        "shipyard create action redeploy_server --param=target-revision=last-site-action --param=target_nodes=n2"
    ]
    assert found["groups"][0]["shortfalls"] == []


def test_tasks_of_the_software_stage_are_counted_and_those_that_failed_are_named(site: Site, action: str) -> None:
    results = [NodeResult(N1, TaskStatus.SUCCESS), NodeResult(N2, TaskStatus.FAILED, 1, detail="exit status 1")]
    record(site.store, action, [TaskChanged(TaskId("ntp"), "m", tuple(results))])

    found = report(site, action)

    assert found["tasks"] == [{"task": "ntp", "running": 0, "success": 1, "failed": 1, "left": 0}]
    (failed,) = found["failed_tasks"]
    assert [failed[key] for key in ("node", "task", "exit_status", "detail")] == ["n2", "ntp", 1, "exit status 1"]


def test_where_to_look_for_what_was_not_prepared_or_never_taken(site: Site) -> None:
    site.commit(*small_design())
    action = site.create_action()
    members = MembersKnown.of(strategy(group("a"), group("b")), {A: frozenset({N1}), B: frozenset({N2})})
    prepared = PhaseStarted(A, Phase.PREPARE, (N1,), "job-1")
    failed = NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, (N1,))
    record(
        site.store, action, [members, prepared, failed, PhaseEnded(B, Phase.PREPARE, PhaseStatus.FAILURE, "refused")]
    )

    found = report(site, action)

    (phase,) = found["groups"][1]["phases"]
    assert (phase["job"], phase["look_at"], phase["nodes_sent"], phase["message"]) == ("", None, 0, "refused")
    task = f"{site.drydock.url}/tasks/job-1?subtaskerrors=true"
    assert [one["look_at"] for one in found["nodes"]] == [task, None]
    unknown = site.viewer.get("/actions/01M7XV7VKPMDHXJVA7WMC7P6XP/report")
    assert (unknown.status, unknown.json["message"]) == (falcon.HTTP_404, "Action not found")


def test_more_nodes_and_groups_take_no_more_questions(site: Site, action: str) -> None:
    with statements() as few:
        report(site, action)
    ended(site, action, RunState.FAILED, after=timedelta(seconds=1))
    larger = site.create_action()
    groups = [group(f"g{number}") for number in range(30)]
    members = {one.name: frozenset(NodeName(f"{one.name}-{number}") for number in range(20)) for one in groups}
    sent = [PhaseStarted(one.name, Phase.PREPARE, tuple(sorted(members[one.name])), "j") for one in groups]
    record(site.store, larger, [MembersKnown.of(strategy(*groups), members), *sent])

    with statements() as many:
        found = report(site, larger)

    assert len(found["nodes"]) == 600
    # Asking the time of the database, and whether a connection is alive, is left out: both happen now and then.
    asked = [len([statement for statement in sent if "FROM" in statement]) for sent in (few, many)]
    assert asked[0] == asked[1] <= 8
