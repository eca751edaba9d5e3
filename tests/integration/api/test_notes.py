"""Notes on actions and steps, and what they lead to: contract shipyard-rest, chapter 8, row by row."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import falcon
import pytest
import requests
import sqlalchemy as sa

from shipyard_api.adapters.maas import MaasOptions
from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.domain.actions import ActionId, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.notes import note_id
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import JobReport, JobState
from shipyard_api.settings.plugins import ProvisionerName
from shipyard_api.settings.types import Secret
from shipyard_api.storage import tables as t
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import ProvisionerOptions
from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.server import in_thread
from tests.factories import group, strategy
from tests.integration.api.conftest import settings
from tests.integration.api.recorded import statements
from tests.integration.api.wire import Caller, Site, messages, small_design
from tests.peer import Answer
from tests.unit.tables import every_row
from tests.waiting import PATIENCE

A, B = GroupName("a"), GroupName("b")
N1, N2, N3 = NodeName("n1"), NodeName("n2"), NodeName("n3")
VERIFY = StepId("drydock_build.verify_site")
NODES = StepId("drydock_build.prepare_and_deploy_nodes")
VALIDATE = StepId("validate_site_design.drydock_validate_site_design")

JOB_2 = "GET /tasks/job-2"
BUILD_DATA = "GET /nodes/n2/builddata"
RECORDS = [{"node_name": "n2", "generator": "deploy:curtin", "data_element": "no root device"}]

ROLLOUT: tuple[Fact, ...] = (
    MembersKnown.of(
        strategy(group("a", critical=True), group("b", after=["a"])),
        {A: frozenset({N1, N2}), B: frozenset({N3})},
    ),
    PhaseStarted(A, Phase.PREPARE, (N1, N2), "job-1"),
    NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1, N2)),
    PhaseEnded(A, Phase.PREPARE, PhaseStatus.SUCCESS),
    PhaseStarted(A, Phase.DEPLOY, (N1, N2), "job-2"),
    NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, (N1,)),
    NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N2,), reasons={N2: "no root device"}),
    PhaseEnded(A, Phase.DEPLOY, PhaseStatus.PARTIAL_SUCCESS, "1 of 2"),
    RolloutEnded(
        Verdict.FAILED,
        {GroupStatus.FAILED: (A, B)},
        {NodeStatus.SUCCESS: (N1,), NodeStatus.FAILURE: (N2,), NodeStatus.NOT_STARTED: (N3,)},
        (A,),
    ),
)
FOUND = (
    FindingReported(Finding("DD1", Level.INFO, "fine", source="Drydock")),
    FindingReported(Finding("DD2", Level.WARNING, "odd", source="Drydock")),
)
LEFT = WorkLeftBehind("verify_site", "job-0", "http://ann:s3cret@shipyard/5", None, "limit 5 s since it started")


def recorded(store: Any, action: str, step: StepId, facts: Sequence[Fact]) -> None:
    """Let the engine record facts about a step; steps are taken in order, and the one before has ended well."""
    now = datetime.now(UTC) + timedelta(seconds=1)
    while True:
        with store.begin() as tx:
            claim = tx.turns.claim(ActionId(action), now=now, worker="w")
            assert claim is not None
            if claim.step == step:
                tx.turns.record(claim, {"v": 1}, tuple(facts), now=now, wake_at=None)
                return
            tx.turns.end_step(claim, StepState.SUCCESS, "", (), now=now)


def ended_late(store: Any) -> None:
    """Let the worker see how the work that was left behind has ended."""
    with store.begin() as tx:
        for straggler in tx.stragglers.open():
            report = JobReport(straggler.job, JobState.ENDED, ok=True, message="all is well")
            tx.stragglers.end(straggler, report, now=datetime.now(UTC) + timedelta(seconds=3), worker="w")


def noted(site: Site) -> str:
    """An action with something to say in three of its steps, and about itself."""
    site.commit(*small_design())
    action = site.create_action()
    recorded(site.store, action, VALIDATE, FOUND)
    recorded(site.store, action, VERIFY, (JobStarted("verify_site", "job-0"), LEFT))
    recorded(site.store, action, NODES, ROLLOUT)
    ended_late(site.store)
    return action


@pytest.fixture
def action(site: Site) -> str:
    action = site.kept(noted)
    site.drydock.on(JOB_2, Answer(200, {"task_id": "job-2"}))
    site.drydock.on(BUILD_DATA, Answer(200, RECORDS))
    return action


def lines(notes: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{note['verbosity']} {note['sub_type']}:{note['subject']}: {note['note_val']}" for note in notes]


def asked(caller: Caller, path: str, **params: Any) -> Any:
    answer = caller.get(path, **params)
    assert answer.status == falcon.HTTP_200, answer.text
    return answer.json


def of_step(site: Site, action: str, step: str = NODES, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(site.viewer, f"/actions/{action}/steps/{step}", **params)["notes"]
    return found


def leading_on(site: Site, action: str, subject: str) -> dict[str, Any]:
    """The note on the step of the nodes that leads to more about the subject."""
    (note,) = (
        one for one in of_step(site, action, verbosity=5) if one["subject"] == subject and one["resolved_url_value"]
    )
    return note


def own_lines(action: str) -> list[str]:
    return [
        f"1 action metadata:{action}: Configdoc revision 1",
        "1 Late Result:job-0: verify_site that was left behind: ended; all is well",
    ]


ENDS = [
    "1 Node Deployment:deploy_site: Stage.NOT_STARTED: n3; Stage.DEPLOYED: n1; Stage.FAILED: n2",
    "1 Deployment Groups:deploy_site: Stage.FAILED: a(critical), b",
]
TOLD = ["3 Task Message:job-2: node:n2:no root device (error)", "3 Task Message:job-2: group:a:1 of 2"]
EVERYTHING = [
    "5 Linked Task Info:job-1: job",
    "5 Linked Task Info:job-2: job",
    TOLD[0],
    "5 Linked Task Info:n2: detail_logs - builddata",
    TOLD[1],
    *ENDS,
]
LEFT_LINE = (
    "1 Work Left Behind:job-0: verify_site on the site may go on, Shipyard does not wait for it: "
    "limit 5 s since it started"
)
JOB_0 = "5 Linked Task Info:job-0: job"
ODD = "2 Finding:DD2: Drydock Warning: odd"
BY_VERBOSITY = {
    "0": ({"verbosity": "0"}, False, [], [], []),
    "1": ({"verbosity": "1"}, True, ENDS, [LEFT_LINE], []),
    "2": ({"verbosity": "2"}, True, ENDS, [LEFT_LINE], [ODD]),
    "3": ({"verbosity": "3"}, True, [*TOLD, *ENDS], [LEFT_LINE], [ODD]),
    "5": ({"verbosity": "5"}, True, EVERYTHING, [JOB_0, LEFT_LINE], [ODD]),
    "nothing said": ({}, True, ENDS, [LEFT_LINE], []),
}


def test_notes_are_shown_up_to_the_verbosity(site: Site, action: str) -> None:
    """All by a step; by an action its notes and the summary of its steps; by the list those of actions only."""
    asked_before = len(site.drydock.requests)

    @every_row(BY_VERBOSITY)
    def shown(params: dict[str, str], own: bool, nodes: list[str], verify: list[str], validate: list[str]) -> None:
        for step, expected in {NODES: nodes, VERIFY: verify, VALIDATE: validate}.items():
            assert lines(of_step(site, action, step, **params)) == expected
        one, (listed,) = (asked(site.viewer, path, **params) for path in (f"/actions/{action}", "/actions"))
        assert lines(one["notes"]) == lines(listed["notes"]) == (own_lines(action) if own else [])
        of_steps = {step["id"]: lines(step["notes"]) for step in one["steps"] if step["notes"]}
        assert of_steps == ({NODES: ENDS, VERIFY: [LEFT_LINE]} if own else {})
        assert [step["notes"] for step in listed["steps"]] == [[]] * len(listed["steps"])
        assert not [word for word in ("s3cret", "http://") if word in str((one, listed))]

    shown()
    assert site.drydock.requests[asked_before:] == [], "only following a note asks somebody"


def test_a_note_has_the_fields_of_the_contract_however_it_is_asked_for(site: Site, action: str) -> None:
    notes = of_step(site, action, verbosity=5)
    found = asked(site.viewer, f"/actions/{action}")

    leading = next(one for one in notes if one["subject"] == "n2")
    assert leading == {
        "note_id": leading["note_id"],
        "assoc_id": f"step/{action}/{NODES}",
        "subject": "n2",
        "sub_type": "Linked Task Info",
        "note_val": "detail_logs - builddata",
        "verbosity": 5,
        "note_timestamp": leading["note_timestamp"],
        "resolved_url_value": f"Details at notedetails/{leading['note_id']}",
    }
    assert found["notes"][0] == {
        "note_id": action,
        "assoc_id": f"action/{action}",
        "subject": action,
        "sub_type": "action metadata",
        "note_val": "Configdoc revision 1",
        "verbosity": 1,
        "note_timestamp": found["datetime"],
        "resolved_url_value": None,
    }
    everything = [*of_step(site, action, VERIFY, verbosity=5), *notes]
    for listed in (everything, found["notes"]):
        assert listed == sorted(listed, key=lambda one: (one["note_timestamp"], one["note_id"]))
    assert len({note["note_id"] for note in [*everything, *found["notes"]]}) == 11
    assert [one for one in of_step(site, action, verbosity=3) if one not in notes] == []
    assert of_step(site, action, "drydock_build", verbosity=5) == []


def test_an_action_that_has_not_begun_says_what_it_works_on(site: Site) -> None:
    site.commit(*small_design())
    revision = site.commit(*small_design(("n1", "n2", "n3")))
    action = site.admin.act(allow_intermediate_commits="true").json["id"]

    assert [note["note_val"] for note in asked(site.viewer, f"/actions/{action}")["notes"]] == [
        f"Configdoc revision {revision}"
    ]
    assert of_step(site, action, verbosity=5) == []


def test_a_list_of_many_actions_asks_the_database_once_for_all_their_notes(
    site: Site, action: str, engine: sa.Engine
) -> None:
    def asked_of(verbosity: int) -> int:
        with statements() as sent:
            asked(site.viewer, "/actions", verbosity=verbosity)
        return len(sent)

    silent, few = asked_of(0), asked_of(5)
    with engine.begin() as connection:
        row = connection.execute(sa.select(t.actions).where(t.actions.c.id == action)).one()
        over = {"exclusive": False, "state": "failed", "ended_at": row.created_at}
        others = [{**row._mapping, **over, "id": f"01BX5ZZKBKACTAV9WEVGEM{number:04}"} for number in range(50)]
        connection.execute(t.actions.insert(), others)

    assert asked_of(5) == few
    assert few - silent <= 3  # its transaction, and the one question
    listed = asked(site.viewer, "/actions")
    assert [len(one["notes"]) for one in listed] == [1] * 50 + [2]


def refused(answer: Any, code: str, message: str, reason: str, error_type: str = "ApiError") -> None:
    """Hold an answer to a row of the contract's table."""
    assert (answer.status, answer.json["message"], answer.json["reason"]) == (code, message, reason)
    assert messages(answer) == [{"message": reason, "error": True}]
    assert (answer.json["details"]["errorType"], answer.json["retry"]) == (error_type, False)


def test_a_note_that_was_made_up_about_a_line_that_there_is(site: Site, action: str) -> None:
    with site.store.begin() as tx:
        entries = tx.journal.entries(ActionId(action), ("phase_started", "step_ended"))
    started = next(entry for entry in entries if entry.kind == "phase_started")
    silent = next(entry for entry in entries if entry.kind == "step_ended")
    line, at = started.id, started.at
    assert started.fact.job == "job-1"
    site.drydock.on("GET /tasks/job-1", Answer(200, {"task_id": "job-1"}))
    moment = timedelta(milliseconds=1)
    made_up = [
        note_id(at + moment, line, 0),
        note_id(at - moment, line, 0),
        note_id(datetime(1970, 1, 1, tzinfo=UTC), line, 0),
        note_id(at, line, 1),
        note_id(at, line, 65_535),
        note_id(at, line + 100_000, 0),
        note_id(silent.at, silent.id, 0),
        note_id(at, line, 0).lower(),
    ]

    past = datetime(2026, 1, 1, tzinfo=UTC)
    made_up += ["é" * 26, "'" * 26, "7" + "Z" * 25, note_id(past, 2**63 - 1, 0), note_id(past, 2**63, 0)]

    assert site.viewer.get(f"/notedetails/{note_id(at, line, 0)}").json == {"task_id": "job-1"}
    for written in made_up:
        reason = f"Note {written} is not found"
        refused(site.viewer.get(f"/notedetails/{written}"), falcon.HTTP_404, "No note found", reason)
    found = asked(site.viewer, f"/actions/{action}")
    for note in [*found["notes"], *of_step(site, action, verbosity=4), *of_step(site, action, VERIFY)]:
        refused(
            site.viewer.get(f"/notedetails/{note['note_id']}"),
            falcon.HTTP_404,
            "No further note details are available",
            f"Note {note['note_id']} has no additional information to return",
        )
    assert site.drydock.asked(JOB_2) == []


def test_what_a_note_leads_to_is_passed_on(site: Site, action: str) -> None:
    of_node, of_job = leading_on(site, action, "n2"), leading_on(site, action, "job-2")

    answer = site.viewer.get(f"/{of_node['resolved_url_value'].removeprefix('Details at ')}")

    assert (answer.status, answer.text) == (falcon.HTTP_200, Answer(200, RECORDS).content.decode())
    assert answer.headers["Content-Type"] == "application/json"
    assert site.drydock.asked(BUILD_DATA)[0].query == [("latest", "true")]
    assert site.viewer.get(f"/notedetails/{of_job['note_id']}", verbosity="0").json == {"task_id": "job-2"}
    # The password of the design is not.
    site.drydock.on(JOB_2, Answer(200, {"design_ref": "http://drydock:s3cret@shipyard:9000/revisions/1"}))
    hidden = site.viewer.get(f"/notedetails/{of_job['note_id']}").json
    assert hidden == {"design_ref": "http://***@shipyard:9000/revisions/1"}


TROUBLES: dict[str, list[Answer]] = {
    "broken": [Answer(500, "Unexpected error.")],
    "cut off": [Answer(200, RECORDS, cut=5)],
    "hung up": [],
}


def test_what_drydock_does_not_give(site: Site, action: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nor does anybody go where Drydock sends us on, or where the name that it gives to a job would lead."""
    note = leading_on(site, action, "n2")["note_id"]

    @every_row(TROUBLES)
    def told(answers: list[Answer]) -> None:
        site.drydock.on(BUILD_DATA, *answers)
        caplog.clear()

        answer = site.viewer.get(f"/notedetails/{note}")

        refused(
            answer,
            falcon.HTTP_500,
            "Unable to retrieve URL information for note",
            f"Note {note} has additional information, but it cannot be accessed by Shipyard at this time",
        )
        (logged,) = [one for one in caplog.records if one.message == "details of a note unavailable"]
        assert "Drydock GET /nodes/n2/builddata" in logged.trouble  # type: ignore[attr-defined]  # a field of ours

    told()
    elsewhere = "GET /nodes/n1/builddata"
    site.drydock.on(BUILD_DATA, Answer(302, headers={"Location": f"{site.drydock.url}/nodes/n1/builddata"}))
    site.drydock.on(elsewhere, Answer(200, RECORDS))
    assert site.viewer.get(f"/notedetails/{note}").status == falcon.HTTP_500
    assert site.drydock.asked(elsewhere) == []
    jobs = ["../nodes/n1/builddata", "//127.0.0.1:9/x", "x@127.0.0.1:9", "job-1?x=/../../y"]
    recorded(
        site.store,
        action,
        NODES,
        [PhaseStarted(A, Phase.PREPARE, (N1,), job, batch) for batch, job in enumerate(jobs, 2)],
    )
    before = len(site.drydock.requests)
    for job in jobs:
        assert site.viewer.get(f"/notedetails/{leading_on(site, action, job)['note_id']}").status == falcon.HTTP_500
    paths = [request.path.partition("?")[0] for request in site.drydock.requests[before:]]
    assert all(path.rpartition("/")[0].endswith("/tasks") for path in paths), paths


def token_of(caller: Caller) -> str:
    return caller.client.headers["X-Auth-Token"]


def test_where_the_provisioner_shows_nothing_no_note_leads_anywhere(site: Site, action: str, shared_url: str) -> None:
    note = leading_on(site, action, "job-2")["note_id"]
    maas = settings(
        shared_url,
        provisioner=ProvisionerOptions(kind=ProvisionerName("maas")),
        of_plugins={
            "maas": MaasOptions(url="http://127.0.0.1:9/MAAS", api_key=Secret("a:b:c"), connect_timeout_seconds=1)
        },
    )
    caller = Caller(bootstrap.api(maas), token_of(site.viewer))

    notes = asked(caller, f"/actions/{action}/steps/{NODES}", verbosity=5)["notes"]

    assert lines(notes) == [*TOLD, *ENDS]
    assert caller.get(f"/notedetails/{note}").json["message"] == "No note found"


@pytest.fixture(scope="module")
def simulated() -> Iterator[DrydockSimulator]:
    with in_thread(DrydockSimulator(parse_scenario("nodes: {n2: {deploy: fail}}"), time_scale=0.001)) as simulator:
        yield simulator


def test_the_logs_of_a_node_that_drydock_could_not_deploy(
    site: Site, shared_url: str, simulated: DrydockSimulator, tmp_path: Path
) -> None:
    drydock = f"{simulated.url}/api/v1.0"
    jobs = {}
    design = tmp_path / "design.yaml"
    design.write_text("schema: drydock/BaremetalNode/v1\nmetadata: {name: n2}\ndata: {}\n", encoding="utf-8")
    for phase, operation in ((Phase.PREPARE, "prepare_nodes"), (Phase.DEPLOY, "deploy_nodes")):
        each = {"filter_type": "union", "node_names": ["n2"]}
        named = {"filter_set_type": "union", "filter_set": [each]}
        body = {"action": operation, "design_ref": design.as_uri(), "node_filter": named}
        jobs[phase] = requests.post(f"{drydock}/tasks", json=body, timeout=PATIENCE).json()["task_id"]
        while requests.get(f"{drydock}/tasks/{jobs[phase]}", timeout=PATIENCE).json()["status"] != "complete":
            pass
    site.commit(*small_design())
    action = site.create_action()
    facts = [
        MembersKnown.of(strategy(group("a")), {A: frozenset({N2})}),
        *(PhaseStarted(A, phase, (N2,), job) for phase, job in jobs.items()),
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N2,), reasons={N2: "no root device"}),
    ]
    recorded(site.store, action, NODES, facts)
    caller = Caller(bootstrap.api(settings(shared_url, drydock)), token_of(site.viewer))
    led = {
        note["subject"]: asked(caller, f"/notedetails/{note['note_id']}")
        for note in asked(caller, f"/actions/{action}/steps/{NODES}", verbosity=5)["notes"]
        if note["resolved_url_value"]
    }

    assert {led[jobs[phase]]["action"] for phase in Phase} == {"prepare_nodes", "deploy_nodes"}
    assert led[jobs[Phase.DEPLOY]]["result"]["failures"] == ["n2"]
    assert led[jobs[Phase.DEPLOY]]["subtask_errors"]
    assert {one["node_name"] for one in led["n2"]} == {"n2"}


@pytest.mark.parametrize(("rule", "codes"), [("get_action", (403, 200)), ("get_action_step", (404, 403))])
def test_the_rule_of_what_it_is_about_counts_too(
    site: Site, action: str, shared_url: str, tmp_path: Path, rule: str, codes: tuple[int, int]
) -> None:
    of_step = leading_on(site, action, "job-2")["note_id"]
    file = tmp_path / "policy.yaml"
    file.write_text(f'"workflow_orchestrator:{rule}": "role:admin"\n', encoding="utf-8")
    strict = bootstrap.api(settings(shared_url, site.drydock.url, policy=PolicyOptions(str(file))))
    viewer = Caller(strict, token_of(site.viewer))

    assert tuple(viewer.get(f"/notedetails/{note}").status_code for note in (action, of_step)) == codes
