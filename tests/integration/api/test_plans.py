"""Plans: what an action or a retry would do, told without doing any of it."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.http.second_process import SecondProcess, command
from shipyard_api.api.http.threads import USUAL_THREADS, use_threads
from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.storage import tables
from shipyard_api.wiring import bootstrap
from tests.factories import document, group, group_entry, layering_policy, node_document, strategy, strategy_document
from tests.integration.api.conftest import KEY, settings
from tests.integration.api.recorded import record
from tests.integration.api.wire import (
    JSON,
    Caller,
    Site,
    configuration,
    everything_said,
    five_groups_design,
    kept,
    messages,
    small_design,
)
from tests.integration.storage.rows import counts
from tests.peer import Answer, Peer


def ask(caller: Caller, body: Any, **params: Any) -> Result:
    written = body if isinstance(body, str) else json.dumps(body)
    return caller.post("/plans", written, JSON, **params)


def planned(site: Site, body: Any, **params: Any) -> dict[str, Any]:
    answer = ask(site.viewer, body, **params)
    assert answer.status == falcon.HTTP_200, answer.text
    found: dict[str, Any] = answer.json
    return found


DEPLOY = {"name": "deploy_site"}


def test_a_caller_who_plans_much_is_answered_by_a_second_process(
    site: Site, shared_url: str, drydock: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers, refusals included; the time that it takes counts as the caller's."""
    site.commit(*five_groups_design())
    given = {
        "DATABASE_URL": shared_url,
        "SHIPYARD_DRYDOCK_URL": drydock.url,
        "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
        "SHIPYARD_SECRETS_KEYS": KEY,
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    second, used = SecondProcess(command("shipyard_api.programs.planner")), [0.0]
    # The first plan is much already, however long it takes, and the clock gives nothing back meanwhile.
    costly = CostlyWork(seconds=[second], clock=lambda: 0.0, processor=lambda: used.append(used[-1] + 0.4) or used[-1])
    caller = Caller(
        bootstrap.api(settings(shared_url, drydock.url), costly), site.viewer.client.headers["X-Auth-Token"]
    )
    try:
        bodies = [DEPLOY, {"name": "no_such"}, {"retry": "01" * 13}]
        expected = [ask(site.viewer, body) for body in bodies]
        while not second._is_ready:
            ask(caller, DEPLOY)
            if second._connection is not None and not second._is_ready:
                second._connection.poll(30)  # until it serves; the next request finds that out
        found = [ask(caller, body) for body in bodies]
    finally:
        second.close()

    assert [(answer.status, answer.json) for answer in found] == [(answer.status, answer.json) for answer in expected]
    assert [answer.status_code for answer in found] == [200, 400, 404]


def ended(site: Site, action: str, *facts: object, state: RunState = RunState.FAILED) -> None:
    """Let an action end, after these facts."""
    record(site.store, action, facts)
    now = datetime.now(UTC) + timedelta(seconds=5)
    with site.store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=now, worker="w")
        assert claim is not None
        tx.turns.end_action(claim, state, now=now)


def test_a_plan_shows_the_groups_in_the_order_in_which_they_would_run(site: Site) -> None:
    revision = site.commit(*five_groups_design())

    found = planned(site, DEPLOY)

    assert [(one["order"], one["name"]) for one in found["groups"]] == [
        (1, "monitoring-nodes"),
        (2, "ntp-node"),
        (3, "control-nodes"),
        (4, "compute-nodes-1"),
        (5, "compute-nodes-2"),
    ]
    first = found["groups"][1]
    assert first == {
        "name": "ntp-node",
        "order": 2,
        "critical": True,
        "depends_on": [],
        "success_criteria": {
            "percent_successful_nodes": None,
            "minimum_successful_nodes": 1,
            "maximum_failed_nodes": None,
        },
        "accept": [],
        "can_succeed": True,
        "nodes": ["ntp01"],
        "sends": ["ntp01"],
    }
    nodes = {node for one in found["groups"] for node in one["nodes"]}
    assert found["totals"] == {
        "groups": 5,
        "critical_groups": sum(one["critical"] for one in found["groups"]),
        "nodes": len(nodes),
        "kept": 0,
        "sent": len(nodes),
    }
    assert (found["name"], found["version"], found["retry"]) == ("deploy_site", "committed", None)
    assert (found["revision"], found["refused"], found["kept"]) == (revision, None, [])
    assert found["mode"] == {
        "max_parallel_groups": 1,
        "max_nodes_in_flight": None,
        "deploy_as_prepared": False,
        "on_timeout": "fail_group",
    }
    assert sorted(found["changes"]["added"]) == sorted(nodes)
    erasing = ["service", "reinstall", "replace"]
    assert found["changes"]["interrupts"] == {"leave": [], "least": ["service"], "reinstall": erasing}
    assert planned(site, {"name": "redeploy_server", "parameters": {"target_nodes": "n1"}})["changes"] is None
    # It is what the action then does.
    action = site.viewer.get(f"/actions/{site.create_action()}").json
    steps = [step["id"] for step in action["steps"] if step["id"] not in ("preflight", "drydock_build")]
    assert found["steps"] == steps
    with site.store.begin() as tx:
        inputs = tx.actions.inputs(ActionId(action["id"]))
    assert inputs["revision"] == found["revision"]
    assert {one["name"] for one in inputs["groups"]["groups"]} == {one["name"] for one in found["groups"]}


def test_the_order_of_parallel_groups_follows_from_how_long_their_phases_took(site: Site, engine: sa.Engine) -> None:
    groups = [group_entry(name, depends_on=[after]) for name, after in (("c", "a"), ("d", "b"))]
    groups += [group_entry(name) for name in "ab"]
    entries = [{**one, "selectors": [{"node_names": [f"n-{one['name']}"]}]} for one in groups]
    section = {"deployment_strategy": "s", "max_parallel_groups": 2}
    machines = [node_document(f"n-{name}") for name in "abcd"]
    site.commit(
        configuration(physical_provisioner=section), strategy_document(*entries, name="s"), *machines, layering_policy()
    )
    before = [one["name"] for one in planned(site, DEPLOY)["groups"]]
    measured = strategy(group("a"), group("b")).groups
    nodes = {one.name: (NodeName(f"n-{one.name}"),) for one in measured}
    known = MembersKnown(2, 2, tuple((one, frozenset(nodes[one.name])) for one in measured))
    started = [PhaseStarted(name, Phase.DEPLOY, sent, f"j-{name}") for name, sent in nodes.items()]
    over = [PhaseEnded(name, Phase.DEPLOY, PhaseStatus.SUCCESS) for name in nodes]
    ended(site, site.create_action(), known, *started, *over)
    with engine.begin() as connection:
        own = tables.group_phases
        took = sa.case((own.c.group_name == "a", timedelta(hours=2)), else_=timedelta(hours=1))
        connection.execute(own.update().values(submitted_at=own.c.ended_at - took))

    assert before == ["a", "b", "c", "d"]
    assert [one["name"] for one in planned(site, DEPLOY)["groups"]] == ["a", "b", "d", "c"]


def test_a_node_that_the_provisioner_cannot_deploy_is_the_same_error_at_commit_plan_and_post(site: Site) -> None:
    long = f"compute-{'0' * 25}"
    site.admin.load("design", layering_policy(), configuration(), node_document("n1"), node_document(long))
    text = (
        f"Drydock accepts node names of at most 32 characters. Longer: {long} (33). "
        "Shorten them: rename these BaremetalNode documents."
    )

    refused = site.admin.commit()
    assert refused.status == falcon.HTTP_400
    assert site.admin.post("/commitconfigdocs", force="true").status == falcon.HTTP_200
    plan = planned(site, DEPLOY)
    asked = site.admin.post("/actions", json.dumps(DEPLOY), JSON)

    assert plan["refused"] is not None
    assert asked.status == falcon.HTTP_400
    for found in (messages(refused), plan["findings"], messages(asked)):
        (said,) = [one for one in found if one["name"] == "NodeNameTooLong"]
        assert (said["level"], said["message"]) == ("Error", text)
        assert [one["name"] for one in said["documents"]] == [long]
    continued = DEPLOY | {"parameters": {"continue-on-fail": "true"}}
    assert site.admin.post("/actions", json.dumps(continued), JSON).status == falcon.HTTP_201


def test_the_mode_of_the_design_decides_the_order_and_a_whole_number_with_a_point_is_one(site: Site) -> None:
    """JSON Schema counts 2.0 as an integer, so the design is sound."""
    section = {
        "deployment_strategy": "s",
        "max_parallel_groups": 2.0,
        "max_nodes_in_flight": 7.0,
        "deploy_as_prepared": True,
        "on_timeout": "judge_criteria",
    }
    criteria = {"percent_successful_nodes": 50.0, "minimum_successful_nodes": 1.0}
    groups = [group_entry("b", depends_on=["a"], selectors=[{"node_names": ["n2"]}], success_criteria=criteria)]
    groups += [group_entry(name, selectors=[{"node_names": ["n1"]}]) for name in ("a", "c")]
    site.commit(configuration(physical_provisioner=section), strategy_document(*groups, name="s"), *small_design()[1:])

    found = planned(site, DEPLOY)

    assert found["mode"] == {name: value for name, value in section.items() if name != "deployment_strategy"}
    assert '"max_parallel_groups": 2, "max_nodes_in_flight": 7,' in json.dumps(found["mode"])
    assert [(one["name"], one["sends"]) for one in found["groups"]] == [("a", ["n1"]), ("c", []), ("b", ["n2"])]
    shown = found["groups"][2]["success_criteria"]
    assert [repr(shown[one]) for one in ("percent_successful_nodes", "minimum_successful_nodes")] == ["50", "1"]


def test_the_buffer_can_be_planned_before_it_is_committed(site: Site) -> None:
    committed = site.commit(*small_design())
    assert site.admin.load("design", *small_design(("n1", "n2", "n3")), buffermode="replace").status_code == 201

    now, then = planned(site, DEPLOY), planned(site, {**DEPLOY, "version": "buffer"})

    assert (now["version"], now["revision"], now["totals"]["nodes"]) == ("committed", committed, 2)
    assert (then["version"], then["revision"], then["totals"]["nodes"]) == ("buffer", committed + 1, 3)
    # What is committed would then be a commit that no action was run on.
    assert now["refused"] is None
    assert (then["refused"]["title"], then["refused"]["code"]) == ("Intermediate commit detected", "409 Conflict")
    assert planned(site, {**DEPLOY, "version": "buffer"}, allow_intermediate_commits="true")["refused"] is None
    assert site.admin.commit().status_code == 200
    nothing = ask(site.viewer, {**DEPLOY, "version": "buffer"})
    assert (nothing.status, nothing.json["reason"]) == (falcon.HTTP_404, "buffer version does not exist")


def broken_design() -> list[dict[str, Any]]:
    looped = [group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"])]
    return [
        configuration(physical_provisioner={"deployment_strategy": "s"}),
        strategy_document(*looped, name="s"),
        node_document("n1"),
        layering_policy(),
    ]


def agreed(site: Site, body: dict[str, Any]) -> dict[str, Any]:
    """What the plan says is what POST /actions, or the retry, answers."""
    found = planned(site, body)
    path = f"/actions/{body['retry']}/control/retry" if "retry" in body else ""
    answer = site.admin.post(path) if path else site.admin.act(json.dumps(body))
    refused: dict[str, Any] = found["refused"]
    assert (refused["title"], refused["reason"]) == (answer.json["message"], answer.json["reason"])
    assert refused["code"] == answer.json["code"]
    if refused["messages"]:
        assert refused["messages"] == messages(answer)
    return found


def test_what_an_action_would_be_refused_with_is_what_it_is_refused_with(site: Site) -> None:
    bodies: list[dict[str, Any]] = [
        DEPLOY,
        {"name": "update_site", "parameters": {"force": "perhaps"}},
        {"name": "relabel_nodes", "parameters": {}},
        {"name": "redeploy_server", "parameters": {"target_nodes": "n1"}},
        *({"name": name} for name in ("power_cycle", "remove_server", "service_server")),
    ]

    def agree(title: str) -> dict[str, Any]:
        found = [agreed(site, body) for body in bodies]
        assert found[0]["refused"]["title"] == title
        return found[0]

    found = agree("No committed configdocs")
    assert (found["revision"], found["groups"], found["findings"]) == (None, [], [])
    site.admin.load("design", *broken_design())
    assert site.admin.commit(force="true").status_code == 200
    found = agree("Document validation failed")
    assert (found["groups"], found["mode"]) == ([], None)
    assert "a -> b -> a" in json.dumps(found["findings"])
    assert "a -> b -> a" in json.dumps(found["refused"]["messages"])
    # A broken strategy is nothing to an action that deploys nothing.
    for name in ("update_software", "test_site"):
        found = planned(site, {"name": name})
        assert (found["refused"], found["groups"], "a -> b -> a" in json.dumps(found["findings"])) == (None, [], False)
        assert found["steps"] != []
        told = [one["message"] for one in found["findings"] if one["name"] == "NothingToRun"]
        assert [text.partition(" no software")[0] for text in told] == ["Without a task graph"]
    source = {"schema": "a/B/v1", "name": "gone", "path": "."}
    taking = document("a/B/v1", "taking", {}, substitutions=[{"src": source, "dest": {"path": ".x"}}])
    site.admin.load("design", *small_design(), taking, buffermode="replace")
    found = planned(site, {**DEPLOY, "version": "buffer"}, allow_intermediate_commits="true")
    assert (found["groups"], found["refused"]["title"]) == ([], "Document validation failed")
    assert "SubstitutionSourceNotFound" in [one["name"] for one in found["findings"]]
    site.admin.load("design", *small_design(), buffermode="replace")
    assert site.admin.commit().status_code == 200
    agree("Intermediate commit detected")

    allowed = {**DEPLOY, "parameters": {"allow-intermediate-commits": True, "contineu-on-fail": "true"}}
    found = planned(site, allowed)
    assert ("UnknownParameter" in [one["name"] for one in found["findings"]], found["refused"]) == (True, None)
    assert planned(site, allowed, strict="true")["refused"]["title"] == "Invalid parameters"
    running = site.admin.act(allow_intermediate_commits="true").json["id"]
    found = agreed(site, {**DEPLOY, "parameters": {"allow-intermediate-commits": True}})
    assert (found["refused"]["title"], found["refused"]["code"]) == ("Another site action is running", "409 Conflict")
    assert running in found["refused"]["reason"]
    assert found["groups"] != []
    assert agreed(site, {"retry": running})["groups"] != []


HEALTHY, SICK, AWAY = Answer(204), Answer(403, {"message": "no such user"}), Answer(500, {"message": "MAAS is away"})
FAULT = {"message": "n1 has no boot disk", "error": True, "name": "NoBootDisk", "level": "Error", "documents": []}
FAULTY = Answer(400, {"kind": "Status", "status": "Failure", "details": {"errorCount": 1, "messageList": [FAULT]}})
ONE_DISK = {"message": "n1 has one disk", "error": False, "name": "OneDisk", "level": "Warning", "documents": []}
DOUBTFUL = Answer(200, {"kind": "Status", "status": "Success", "details": {"errorCount": 0, "messageList": [ONE_DISK]}})
GOES_ON = {"parameters": {"continue-on-fail": "true"}}
PREFLIGHT_STEP, DRYDOCK_STEP = "preflight.ucp_preflight_check", "validate_site_design.drydock_validate_site_design"


@pytest.mark.parametrize(
    ("answers", "body", "step", "found"),
    [
        pytest.param({"GET /health": [HEALTHY]}, DEPLOY, None, [], id="all is well"),
        pytest.param({"GET /health": [SICK]}, DEPLOY, PREFLIGHT_STEP, [], id="a provisioner that rejects Shipyard"),
        pytest.param({"GET /health": [SICK]}, DEPLOY | GOES_ON, None, [], id="the same, and going on"),
        pytest.param({"GET /health": [AWAY]}, DEPLOY, None, ["StepNotChecked"], id="a sick provisioner"),
        pytest.param({}, DEPLOY, None, ["StepNotChecked"], id="a silent provisioner"),
        pytest.param(
            {"GET /health": [HEALTHY], "POST /validatedesign": [FAULTY]},
            DEPLOY,
            DRYDOCK_STEP,
            ["NoBootDisk"],
            id="a design that the provisioner rejects",
        ),
        pytest.param(
            {"GET /health": [HEALTHY], "POST /validatedesign": [DOUBTFUL]},
            DEPLOY,
            None,
            ["OneDisk"],
            id="a design that the provisioner warns of",
        ),
        pytest.param(
            {"GET /health": [HEALTHY], "GET /nodes": [Answer(200, [])]},
            {"name": "update_site"},
            "drydock_build.verify_nodes_exist",
            ["NoNodesKnown"],
            id="a provisioner that has lost its data",
        ),
        pytest.param(
            {"GET /health": [SICK]},
            {"name": "test_site"},
            PREFLIGHT_STEP,
            ["NothingToRun"],
            id="an action without a design",
        ),
    ],
)
def test_a_plan_is_refused_by_what_would_fail_the_first_steps(
    site: Site, answers: dict[str, list[Answer]], body: dict[str, Any], step: str | None, found: list[str]
) -> None:
    site.commit(*small_design())
    for route, given in answers.items():
        site.drydock.on(route, *given)

    plan = planned(site, body)

    refused = plan["refused"] or {"reason": ""}
    assert refused["reason"].startswith(f"Step {step} would fail: " if step else "")
    assert [one["name"] for one in plan["findings"] if one["level"] != "Info"] == found
    assert (plan["refused"] is None) == (step is None)


def test_work_that_goes_on_is_told_unless_it_is_not_minded(site: Site) -> None:
    site.commit(*small_design())
    left = WorkLeftBehind("prepare_nodes", "job-1", "http://x/1", (NodeName("n2"),), "limit 5 s")
    action = site.create_action()
    ended(site, action, left)

    refused = planned(site, DEPLOY)["refused"]

    assert (refused["title"], refused["code"]) == ("Work of an earlier action goes on", "409 Conflict")
    assert "node n2" in refused["reason"]
    assert planned(site, {**DEPLOY, "parameters": {"force": "true"}})["refused"] is None
    assert planned(site, {"retry": action})["refused"]["title"] == "Work of an earlier action goes on"
    assert planned(site, {"retry": action}, force="true")["refused"] is None


def test_a_server_is_planned_from_the_revision_that_the_action_uses(site: Site) -> None:
    first = site.commit(*small_design())
    site.designs.tag(Revision(first), RevisionTag.SITE_ACTION_SUCCESS.value, {})
    second = site.commit(node_document("n3"), collection="more")

    def of(**parameters: str) -> tuple[str, int]:
        body = {"name": "redeploy_server", "parameters": {"target_nodes": "n1", **parameters}}
        found = planned(site, body)
        return found["version"], found["revision"]

    assert of() == ("successful_site_action", first)
    assert of(**{"target-revision": "committed"}) == ("committed", second)


def test_servers_that_are_deployed_again_together_and_their_retry(site: Site) -> None:
    site.commit(*small_design())
    parameters = {"target_nodes": "n1,n2", "max_parallel_nodes": 2, "target-revision": "committed", "force": "true"}
    body = {"name": "redeploy_server", "parameters": parameters}

    found = planned(site, body)
    action = site.admin.post("/actions", json.dumps(body), JSON).json["id"]
    with site.store.begin() as tx:
        steps = [step.id for step in tx.actions.steps([ActionId(action)])[ActionId(action)]]
    ended(site, action)
    retry = planned(site, {"retry": action})

    assert found["steps"] == retry["steps"] == steps
    (only,) = retry["groups"]
    assert (only["name"], only["sends"], retry["refused"]) == ("target-group", ["n1", "n2"], None)
    # Without that, each batch is a group; there is no n9.
    batches = planned(site, {"name": "redeploy_server", "parameters": {"target_nodes": "n2,n9"}})["groups"]
    assert [(one["name"], one["critical"], one["nodes"], one["can_succeed"]) for one in batches] == [
        ("target-group", True, ["n2"], True),
        ("target-group.2", True, [], False),
    ]


def test_a_retry_is_planned_with_the_steps_that_it_has(site: Site, engine: sa.Engine) -> None:
    """Servers that an update takes down are not checked again before the first one goes."""
    site.commit(*small_design())
    action = ActionId(site.admin.post("/actions", json.dumps({"name": "update_site"}), JSON).json["id"])
    with site.store.begin() as tx:
        inputs = ActionInputs.from_json(tx.actions.inputs(action))
    inputs = replace(inputs, site=replace(inputs.of_site, ways=Ways(reinstalled=(NodeName("n2"),))))
    with engine.begin() as connection:
        connection.execute(tables.actions.update().values(inputs=inputs.to_json()))
    ended(site, action)

    found = planned(site, {"retry": action})
    retry = ActionId(site.admin.post(f"/actions/{action}/control/retry").json["id"])

    with site.store.begin() as tx:
        assert found["steps"] == [step.id for step in tx.actions.steps([retry])[retry]]


@kept
def failed(site: Site) -> str:
    """An action of which n1 is deployed and n2 failed."""
    site.commit(*small_design())
    action = site.create_action()
    a, nodes = GroupName("default"), (NodeName("n1"), NodeName("n2"))
    members = MembersKnown.of(strategy(group("default", critical=True)), {a: frozenset(nodes)})
    good = NodesChanged(a, Phase.DEPLOY, NodeStatus.SUCCESS, nodes[:1])
    ended(site, action, members, good, NodesChanged(a, Phase.DEPLOY, NodeStatus.FAILURE, nodes[1:]))
    return action


def test_no_label_is_set_on_a_server_that_is_down(site: Site, failed: str) -> None:
    relabel = {"name": "relabel_nodes", "parameters": {"target_nodes": ["n1", "n2"]}}
    assert agreed(site, relabel)["refused"]["reason"] == (
        f"Node n2 is down, failed in deploy_site {failed}: shipyard retry {failed}."
    )
    assert planned(site, relabel | {"parameters": {"target_nodes": ["n1"]}})["refused"] is None


def test_a_retry_shows_what_it_leaves_alone(site: Site, engine: sa.Engine, failed: str) -> None:
    site.admin.load("design", *small_design(("n1", "n2", "n3")), buffermode="replace")
    assert site.admin.commit().status_code == 200
    before, asked = counts(engine), len(site.drydock.requests)

    found = planned(site, {"retry": failed})
    for body in (DEPLOY, {"name": "test_site"}):
        planned(site, body)

    assert counts(engine) == before, "a plan changes nothing"
    others = {request.path for request in site.drydock.requests[asked:] if request.method != "GET"}
    assert others <= {"/validatedesign"}
    assert (found["name"], found["version"], found["retry"], found["revision"]) == ("deploy_site", None, failed, 1)
    assert (found["kept"], found["refused"]) == (["n1"], None)
    (only,) = found["groups"]
    assert (only["nodes"], only["sends"]) == (["n1", "n2"], ["n2"])
    assert found["totals"] == {"groups": 1, "critical_groups": 1, "nodes": 2, "kept": 1, "sent": 1}
    assert found["changes"]["counts"] == {"unknown": 1, "new": 1}  # as a plan of the action
    # So is a failure that was tolerated.
    with engine.begin() as connection:
        connection.execute(tables.actions.update().values(state="success"))
    assert planned(site, {"retry": failed})["kept"] == ["n1"]
    retried = site.admin.post(f"/actions/{failed}/control/retry").json["id"]
    with site.store.begin() as tx:
        assert tx.actions.inputs(ActionId(retried))["kept"] == found["kept"]


DEFAULT, N1, N2, N9 = GroupName("default"), NodeName("n1"), NodeName("n2"), NodeName("n9")
SEEN = MembersKnown.of(strategy(group("default", critical=True)), {DEFAULT: frozenset({N1, N2, N9})})


def moved(node: NodeName, status: NodeStatus, *, refused: bool = False) -> NodesChanged:
    return NodesChanged(DEFAULT, Phase.DEPLOY, status, (node,), refused=refused)


@pytest.mark.parametrize(
    ("revision", "facts", "overtaken", "kept"),
    [
        pytest.param(2, [], None, ["n1"], id="other-revision-never-deployed"),
        pytest.param(1, [SEEN], None, ["n1"], id="sent-nothing"),
        pytest.param(1, [SEEN, moved(N1, NodeStatus.FAILURE)], "worked on node n1", [], id="failed-a-deployed-node"),
        pytest.param(
            1,
            [SEEN, NodesKept((N1,), "A"), moved(N2, NodeStatus.FAILURE)],
            "worked on node n2",
            ["n1"],
            id="kept-it-and-worked-on-another",
        ),
        pytest.param(2, [SEEN, moved(N9, NodeStatus.SUCCESS)], "deployed revision 2", ["n1"], id="other-revision"),
    ],
)
def test_a_retry_goes_by_what_later_actions_did(
    site: Site, failed: str, revision: int, facts: list[object], overtaken: str | None, kept: list[str]
) -> None:
    if revision != 1:
        site.commit(*small_design(("n1", "n2", "n3")))
    newer = site.admin.act(allow_intermediate_commits="true").json["id"]
    ended(site, newer, *facts)

    plan = planned(site, {"retry": failed})
    answer = site.admin.post(f"/actions/{failed}/control/retry")

    assert plan["kept"] == kept
    if overtaken is None:
        assert (plan["refused"], answer.status) == (None, falcon.HTTP_201)
        return
    assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, "A newer action has overtaken this one")
    assert f"deploy_site {newer} has {overtaken} since action {failed}." in answer.json["reason"]
    assert plan["refused"]["reason"] == answer.json["reason"]
    assert planned(site, {"retry": failed}, force="true")["refused"] is None
    forced = site.admin.post(f"/actions/{failed}/control/retry", force="true")
    assert forced.status == falcon.HTTP_201
    with site.store.begin() as tx:
        assert tx.actions.inputs(ActionId(forced.json["id"]))["kept"] == kept


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """How often each function of ours is called meanwhile, by its name."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("shipyard_api."):
            found[frame.f_code.co_name] += 1

    threading.setprofile(note)
    use_threads(1)  # a new thread, which is profiled
    try:
        yield found
    finally:
        threading.setprofile(None)
        use_threads(USUAL_THREADS)


@pytest.mark.parametrize(
    ("body", "params", "refused"),
    [
        pytest.param(DEPLOY, {}, None, id="an action that would be created"),
        pytest.param({**DEPLOY, "parameters": {"x": "1"}}, {"strict": "true"}, "Invalid parameters", id="one at once"),
    ],
)
def test_what_a_plan_is_made_of_is_read_once(
    site: Site, body: dict[str, Any], params: dict[str, str], refused: str | None
) -> None:
    """Also what is read although the action is refused before."""
    site.commit(*small_design())
    site.admin.load("design", *small_design(("n1", "n2", "n3")), buffermode="replace")

    with calls() as called:
        found = planned(site, body, **params)

    assert (found["refused"] or {}).get("title") == refused
    assert found["groups"] != []
    once = ("heads", "read_design", "parse_configuration", "parse_parameters")
    assert {name: called[name] for name in once} == dict.fromkeys(once, 1)


def test_a_request_that_asks_for_no_plan(site: Site) -> None:
    for body in (
        *("{}", "[]", '{"name": 1}', '{"retry": "x", "version": "committed"}', '{"retry": ""}'),
        *('{"name": "deploy_site", "parameter": {}}', '{"name": "deploy_site", "parameters": null}'),
        *('{"name": "deploy_site", "version": "last_site_action"}', '{"version": "buffer"}', '{"name": "deploy_site"'),
    ):
        answer = ask(site.viewer, body)
        assert (answer.status_code, answer.json["details"]["errorType"]) == (400, "InvalidFormatError"), body
    said = everything_said(ask(site.viewer, '{"name": "deploy_site", "retry": "x"}'))
    assert '{"name": ACTION}' in said
    assert '{"retry": ACTION_ID}' in said
    unknown = ask(site.viewer, {"name": "deploy"})
    assert (unknown.status_code, unknown.json["reason"]) == (400, "Unsupported Action: deploy")
    unknown = ask(site.viewer, {"retry": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
    assert (unknown.status_code, unknown.json["message"]) == (404, "Action not found")
    wrong = ask(site.viewer, DEPLOY, strict="perhaps")
    assert wrong.json["message"].startswith('The "strict" parameter is invalid.')
    assert [ask(one, "no JSON").status_code for one in (site.nobody, site.peer, site.viewer)] == [401, 403, 400]
