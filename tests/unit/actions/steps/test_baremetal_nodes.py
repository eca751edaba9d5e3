"""The step that deploys nodes: what comes next, its members, its submissions, and what a stop leaves."""

import dataclasses
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.baremetal_nodes import CRITICAL_FAILED
from shipyard_api.actions.steps.job_watch import Job, Submitted
from shipyard_api.actions.steps.rollout_messages import (
    Answers,
    CompareHardware,
    Members,
    PollJobs,
    SelectMembers,
    SubmitMove,
)
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.submissions import AFTER_REFUSAL
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged, NodesGivenUp, NodesKept
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason, Verdict
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.rollout.moves import Mode, Move
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Capabilities, JobId, Marker, Operation, Work
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Look, PeerFailure
from tests.factories import group_entry, node
from tests.fakes.cluster import FakeCluster
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps import rollouts
from tests.unit.actions.steps.instants import MOMENT, T0, at
from tests.unit.actions.steps.rollouts import (
    DESIGN,
    REFUSAL,
    SILENCE,
    STEP,
    TWO_GROUPS,
    begun,
    deploying,
    ended,
    names,
    poll,
    prepared,
    question,
    running,
    submit,
)
from tests.unit.tables import every_row, table

A, B = GroupName("a"), GroupName("b")
PARALLEL = Mode(max_parallel_groups=2)
PREPARE_A, PREPARE_B = Move(A, Phase.PREPARE, names("n1 n2")), Move(B, Phase.PREPARE, names("n3"))
DEPLOY_A = Move(A, Phase.DEPLOY, names("n1 n2"))
PREPARE, DEPLOY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES
INPUTS = rollouts.site([group_entry("a"), group_entry("b")])


def prepare_failed(critical: bool) -> RolloutState:
    state = begun(
        {"a": "n1"}, groups={"a": {"critical": critical, "success_criteria": {"minimum_successful_nodes": 1}}}
    )
    submit(state, "prepare-1")
    return poll(state, at(30), ended("prepare-1", failed="n1")).state


# --- Begin and decide -------------------------------------------------------------------------------------------------


def test_a_retry_begins_with_the_nodes_that_it_keeps() -> None:
    state = STEP.begin(ActionInputs.from_json({**INPUTS.to_json(), "kept": ["n1", "n2"], "retried": "earlier"}))
    assert state == RolloutState(INPUTS, kept=names("n1 n2"), kept_from="earlier")


def broken() -> RolloutState:
    state = deploying(TWO_GROUPS)
    state.failed = "it broke"
    return state


def completed() -> RolloutState:
    return poll(deploying({"a": "n1 n2"}), at(60), ended("deploy-1", "n1 n2")).state


DECISIONS = {
    "selects the members": (RolloutState(INPUTS), Look(SelectMembers(INPUTS))),
    "has failed": (broken(), Failed("it broke")),
    "prepares": (begun(TWO_GROUPS), Act(SubmitMove(PREPARE_A, DESIGN), give_up_at=at(305))),
    "polls": (
        submit(begun(TWO_GROUPS), "j").state,
        Look(PollJobs({JobId("j"): Work(PREPARE, DESIGN, names("n1 n2"))}, ())),
    ),
    "starts the next before it polls": (
        submit(begun(TWO_GROUPS, mode=PARALLEL), "j").state,
        Act(SubmitMove(PREPARE_B, DESIGN), give_up_at=at(305)),
    ),
    "deploys": (prepared(TWO_GROUPS), Act(SubmitMove(DEPLOY_A, DESIGN), give_up_at=at(405))),
    "is done": (completed(), Done("1 of 1 groups and 2 of 2 nodes deployed")),
    "a critical group failed": (
        prepare_failed(critical=True),
        Failed(f"{CRITICAL_FAILED}; 0 of 1 groups and 0 of 1 nodes deployed"),
    ),
    "another group failed": (prepare_failed(critical=False), Done("0 of 1 groups and 0 of 1 nodes deployed")),
}


@every_row(DECISIONS)
def test_what_comes_next(state: RolloutState, expected: object) -> None:
    assert STEP.decide(state, at(5)) == expected


# --- Watch: what is polled while nothing new may start ----------------------------------------------------------------


def test_while_the_next_move_must_wait_what_runs_is_polled() -> None:
    state = submit(begun(TWO_GROUPS, mode=PARALLEL), "j").state
    assert isinstance(STEP.decide(state, T0), Act)
    assert STEP.watch(state, T0) == Look(PollJobs({JobId("j"): Work(PREPARE, DESIGN, names("n1 n2"))}, ()))


# --- Members ----------------------------------------------------------------------------------------------------------


def test_the_members_are_known_once_they_are_selected() -> None:
    state = STEP.begin(ActionInputs.from_json(INPUTS.to_json()))
    members = {A: frozenset(names("n1 n2")), B: frozenset(names("n3"))}
    folded = STEP.fold(state, SelectMembers(INPUTS), Members(members), T0)
    assert folded == Folded(state, (MembersKnown.of(INPUTS.strategy, members),))
    assert state.rollout.next_move() == PREPARE_A


def test_kept_nodes_are_deployed_already_and_those_that_no_group_holds_are_left_out() -> None:
    state = STEP.begin(ActionInputs.from_json({**INPUTS.to_json(), "kept": ["n3", "gone", "n1"], "retried": "earlier"}))
    members = {A: frozenset(names("n1 n2")), B: frozenset(names("n3"))}
    folded = STEP.fold(state, SelectMembers(INPUTS), Members(members), T0)
    assert folded.facts == (MembersKnown.of(INPUTS.strategy, members), NodesKept(names("n3 n1"), "earlier"))
    assert STEP.decide(state, T0) == Act(SubmitMove(Move(A, Phase.PREPARE, names("n2")), DESIGN), give_up_at=at(300))


UNKNOWN = "the nodes of the groups could not be learnt: "


@every_row(
    {
        "first": (None, SILENCE, T0, at(10), "", T0),
        "just-before-the-limit": (T0, SILENCE, at(60) - MOMENT, at(70) - MOMENT, "", T0),
        "at-the-limit": (T0, SILENCE, at(60), None, f"{UNKNOWN}503 no answer", T0),
        "refused-at-once": (None, REFUSAL, T0, None, f"{UNKNOWN}403 forbidden", None),
    },
)
def test_a_provisioner_that_never_selects_the_members_fails_the_step(
    since: datetime | None,
    trouble: PeerFailure,
    now: datetime,
    wait_until: datetime | None,
    failed: str,
    kept_since: datetime | None,
) -> None:
    state = RolloutState(INPUTS, since=since)
    folded = STEP.fold(state, SelectMembers(INPUTS), trouble, now)
    assert (folded.wait_until, folded.watch_at, folded.facts) == (wait_until, None, ())
    assert (folded.awaited and folded.awaited.deadline) == (at(60) if wait_until else None)
    assert (state.failed, state.since) == (failed, kept_since)
    decision = STEP.decide(folded.state, now)
    assert decision == (Failed(failed) if failed else Look(SelectMembers(INPUTS)))


# --- Submissions ------------------------------------------------------------------------------------------------------


def test_an_accepted_move_is_watched_from_then_on() -> None:
    state = begun(TWO_GROUPS)
    folded = submit(state, "j", at(5))
    assert folded == Folded(
        state, (GroupChanged(A, GroupStatus.PREPARING), PhaseStarted(A, Phase.PREPARE, names("n1 n2"), "j", 1))
    )
    assert state.watches[PREPARE_A].job == Job.submitted(JobId("j"), at(5))
    assert state.watches[PREPARE_A].joining is None
    assert state.watches[PREPARE_A].done == ()


def test_a_refusal_of_the_whole_site_fails_the_step_and_leaves_behind_what_runs() -> None:
    state = submit(begun(TWO_GROUPS, mode=PARALLEL), "j").state
    refused = f"prepare was refused: 403 forbidden. {AFTER_REFUSAL}"
    why = f"group b: {refused}"
    folded = STEP.fold(state, SubmitMove(PREPARE_B, DESIGN), REFUSAL, at(5))
    assert STEP.decide(state, at(5)) == Failed(why)
    assert folded == Folded(
        state,
        (
            Noted("Submission Refused", why),
            NodesChanged(
                B, Phase.PREPARE, NodeStatus.NOT_STARTED, names("n3"), reasons={names("n3")[0]: refused}, refused=True
            ),
            GroupChanged(B, GroupStatus.FAILED, Reason.REFUSED, refused),
            WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1 n2"), why),
            PhaseEnded(A, Phase.PREPARE, PhaseStatus.STOPPED, f"{why}; job j may be at work", 1),
            NodesChanged(
                A, Phase.PREPARE, NodeStatus.FAILURE, names("n1 n2"), reasons=dict.fromkeys(names("n1 n2"), why)
            ),
            GroupChanged(A, GroupStatus.FAILED, Reason.STOPPED, why),
            RolloutEnded(
                Verdict.SUCCESS,
                {GroupStatus.FAILED: (A, B)},
                {NodeStatus.FAILURE: names("n1 n2"), NodeStatus.NOT_STARTED: names("n3")},
            ),
        ),
    )


def test_a_refusal_of_one_submission_fails_its_group_and_descendants_only() -> None:
    groups: dict[str, dict[str, Any]] = {"b": {"depends_on": ["a"]}, "c": {"critical": False}}
    state = begun({"a": "n1 n2", "b": "n3", "c": "n1 n4"}, groups=groups)
    refusal = PeerFailure("Fake: name too long.", refused=True)
    folded = STEP.fold(state, SubmitMove(PREPARE_A, DESIGN), refusal, at(5))
    why = f"prepare was refused: Fake: name too long. {AFTER_REFUSAL}"
    sent = names("n1 n2")
    assert folded == Folded(
        state,
        (
            Noted("Submission Refused", f"group a: {why}"),
            NodesChanged(
                A, Phase.PREPARE, NodeStatus.NOT_STARTED, sent, reasons=dict.fromkeys(sent, why), refused=True
            ),
            GroupChanged(A, GroupStatus.FAILED, Reason.REFUSED, why),
            GroupChanged(B, GroupStatus.FAILED, Reason.DEPENDENCY, "depends on a, which failed"),
        ),
    )
    # The next group is sent the node that it shares with the refused one.
    shared = Move(GroupName("c"), Phase.PREPARE, names("n1 n4"))
    assert STEP.decide(state, at(5)) == Act(SubmitMove(shared, DESIGN), give_up_at=at(305))
    assert state.summary() == "0 of 3 groups and 0 of 4 nodes deployed; refused by the provisioner: a"


def test_held_nodes_fail_with_the_reason_and_the_rest_of_the_group_goes_on() -> None:
    state = begun({"a": "n1 n2"}, groups={"a": {"success_criteria": {"minimum_successful_nodes": 1}}})
    submit = SubmitMove(PREPARE_A, DESIGN)
    assert STEP.touches(submit) == names("n1 n2")
    n1, why = names("n1")[0], "held (operator) by ann: no power"

    folded = STEP.fold(state, submit, PeerFailure(f"node n1 is {why}", refused=True, nodes={n1: why}), at(5))

    assert folded == Folded(
        state,
        (
            GroupChanged(A, GroupStatus.PREPARING),
            NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, (n1,), reasons={n1: why}, held=True),
        ),
    )
    rest = Move(A, Phase.PREPARE, names("n2"))
    assert STEP.decide(state, at(5)) == Act(SubmitMove(rest, DESIGN), give_up_at=at(305))


def test_a_move_of_unknown_outcome_times_out_and_the_next_group_starts() -> None:
    state = begun(TWO_GROUPS)
    folded = STEP.fold(state, SubmitMove(PREPARE_A, DESIGN), SILENCE, at(300))
    reasons = dict.fromkeys(names("n1 n2"), "503 no answer")
    assert folded == Folded(
        state,
        (
            GroupChanged(A, GroupStatus.PREPARING),
            PhaseEnded(A, Phase.PREPARE, PhaseStatus.TIMEOUT, "503 no answer", 1),
            NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, names("n1 n2"), timed_out=True, reasons=reasons),
            GroupChanged(
                A, GroupStatus.FAILED, Reason.TIMEOUT, "prepare did not end within its time limit: 503 no answer"
            ),
        ),
    )
    assert (state.failed, state.watches) == ("", {})
    assert STEP.decide(state, at(300)) == Act(SubmitMove(PREPARE_B, DESIGN), give_up_at=at(600))


@every_row([(PREPARE_A, PREPARE), (DEPLOY_A, DEPLOY)])
def test_a_move_is_submitted_and_found_for_the_design_of_its_intent(move: Move, operation: Operation) -> None:
    provisioner = FakeProvisioner(now=lambda: at(1))
    step = rollouts.step(provisioner, store=rollouts.store_with_jobs())
    effect = SubmitMove(move, "fake://design/6")
    assert step.find(effect, Marker("m"), T0, JobAnswers()) is None
    submitted = step.perform(effect, Marker("m"))
    (sent,) = provisioner.submissions
    assert (submitted, sent.marker) == (Submitted(sent.job), "m")
    assert sent.work == Work(operation, "fake://design/6", names("n1 n2"))
    assert step.find(effect, Marker("m"), T0, JobAnswers()) == submitted


# --- Questions to the peers -------------------------------------------------------------------------------------------


def test_the_members_are_selected_from_the_design_in_the_order_of_the_groups() -> None:
    inputs = rollouts.site(
        [
            group_entry("a", selectors=[{"node_names": ["n1", "n2"]}]),
            group_entry("b", selectors=[{"node_names": ["n3"]}]),
        ]
    )
    provisioner = FakeProvisioner(nodes=[node("n1"), node("n3"), node("n4")])
    answer = rollouts.step(provisioner).ask(SelectMembers(inputs))
    assert answer == Members({A: frozenset(names("n1")), B: frozenset(names("n3"))})


READY = {NodeName("n9"): ObservedMember(ready=True)}
DOWN, AWAY = Unavailable("Fake", "reports", "broken"), Unavailable("Fake", "readiness", "away")
REPORTS_FAILED = PeerFailure("Fake reports: broken", refused=False)
READINESS_FAILED = PeerFailure("Fake readiness: away", refused=False)
POLLED = {
    "jobs alone": (True, False, None, None, Answers({JobId("j"): running("j")}, None)),
    "both": (True, True, None, None, Answers({JobId("j"): running("j")}, READY)),
    "only the cluster answers": (True, True, DOWN, None, Answers(REPORTS_FAILED, READY)),
    "only the provisioner answers": (
        True, True, None, AWAY, Answers({JobId("j"): running("j")}, READINESS_FAILED),
    ),
    "the provisioner alone gives no answer": (True, False, DOWN, None, DOWN),
    "the cluster alone gives no answer": (False, True, None, AWAY, AWAY),
}  # fmt: skip


@table(("jobs", "joining", "broken", "away", "expected"), POLLED)
def test_one_peer_that_gives_no_answer_hides_no_answer_of_the_other(
    jobs: bool,
    joining: bool,
    broken: Unavailable | None,
    away: Unavailable | None,
    expected: Answers | Unavailable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provisioner, cluster = FakeProvisioner(), FakeCluster(dict(READY))

    def reports(asked: object) -> object:
        if broken is not None:
            raise broken
        return {JobId("j"): running("j")}

    monkeypatch.setattr(provisioner, "reports", reports)
    if away is not None:
        cluster.fail_next(away)
    poll_of = PollJobs({JobId("j"): Work(PREPARE, DESIGN, names("n1"))} if jobs else {}, names("n9") if joining else ())
    step = rollouts.step(provisioner, cluster)
    if isinstance(expected, Answers):
        assert step.ask(poll_of) == replace(expected, uncounted=frozenset())
    else:
        with pytest.raises(Unavailable) as raised:
            step.ask(poll_of)
        assert raised.value is expected


def test_an_error_instead_of_one_report_is_logged_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    provisioner = FakeProvisioner()
    refused = Refused("Fake", "report", "no such job")
    reports = {JobId("j"): running("j"), JobId("k"): refused}
    monkeypatch.setattr(provisioner, "reports", lambda _jobs: reports)
    jobs = dict.fromkeys(reports, Work(PREPARE, DESIGN, names("n1")))
    answers = rollouts.step(provisioner).ask(PollJobs(jobs, ()))
    assert answers.of(JobId("j")) == running("j")
    assert answers.of(JobId("k")) == PeerFailure("Fake report: no such job", refused=True)
    assert [getattr(one, "trouble", "") for one in caplog.records] == ["Fake report: no such job"]


def test_a_worker_without_a_cluster_says_what_it_is_missing() -> None:
    with pytest.raises(Refused, match=r"this worker is configured with no cluster \(\[kubernetes\]\)"):
        STEP.ask(PollJobs({}, names("n1")))


# --- Stop -------------------------------------------------------------------------------------------------------------

WHY = "stopped by ops"


def test_a_stop_leaves_each_job_behind_with_the_nodes_it_is_not_done_with() -> None:
    mode = Mode(max_parallel_groups=2, deploy_as_prepared=True)
    state = begun({"a": "n1 n2", "b": "n3", "c": "n4"}, mode=mode, groups={"c": {"critical": True}})
    submit(state, "j")
    submit(state, "k")
    poll(state, at(10), running("j", "n2"), running("k"))

    facts = STEP.leave(state, WHY)

    assert [fact for fact in facts if isinstance(fact, WorkLeftBehind)] == [
        WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1"), WHY),
        WorkLeftBehind("prepare_nodes", "k", DESIGN, names("n3"), WHY),
    ]
    assert [fact for fact in facts if isinstance(fact, PhaseEnded)] == [
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.STOPPED, f"{WHY}; job j may be at work", 1),
        PhaseEnded(B, Phase.PREPARE, PhaseStatus.STOPPED, f"{WHY}; job k may be at work", 1),
    ]
    assert [fact.nodes for fact in facts if isinstance(fact, NodesChanged)] == [names("n1"), names("n3")]
    # The nodes in the report: under way ones have failed, a prepared one stays prepared, the rest never started.
    assert facts[-1] == RolloutEnded(
        Verdict.FAILED,
        {GroupStatus.FAILED: (A, B), GroupStatus.NOT_STARTED: (GroupName("c"),)},
        {
            NodeStatus.FAILURE: names("n1 n3"),
            NodeStatus.PREPARED: names("n2"),
            NodeStatus.NOT_STARTED: names("n4"),
        },
        (GroupName("c"),),
    )


def test_a_stop_while_nodes_join_leaves_no_straggler() -> None:
    state = deploying({"a": "n1 n2", "b": "n3"}, join=True)
    poll(state, at(60), ended("deploy-1", "n1", "n2"))

    facts = STEP.leave(state, WHY)

    assert not [fact for fact in facts if isinstance(fact, WorkLeftBehind)]
    assert facts == (
        PhaseEnded(A, Phase.DEPLOY, PhaseStatus.STOPPED, WHY, 1),
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, names("n1"), reasons={NodeName("n1"): WHY}),
        GroupChanged(A, GroupStatus.FAILED, Reason.STOPPED, WHY),
        RolloutEnded(
            Verdict.SUCCESS,
            {GroupStatus.FAILED: (A,), GroupStatus.NOT_STARTED: (B,)},
            {NodeStatus.FAILURE: names("n1 n2"), NodeStatus.NOT_STARTED: names("n3")},
        ),
    )


def test_what_is_said_of_a_move_and_of_what_a_question_waits_for() -> None:
    undeploying = rollouts.step(FakeProvisioner(capabilities=Capabilities(undeploys=True)))
    prepare, deploy = SubmitMove(PREPARE_A, DESIGN), SubmitMove(DEPLOY_A, DESIGN)
    assert [STEP.work(effect) for effect in (prepare, deploy)] == [NodeWork.DEPLOYMENT] * 2
    assert [undeploying.work(effect) for effect in (prepare, deploy)] == [NodeWork.PREPARATION, NodeWork.DEPLOYMENT]
    again = SubmitMove(replace(PREPARE_A, batch=2), DESIGN)
    assert STEP.identity(again.to_json()) == STEP.identity(prepare.to_json()) != STEP.identity(deploy.to_json())
    assert STEP.identity({"move": 1, "x": 2}) == {"move": 1, "x": 2}
    state, who = STEP.begin(ActionInputs(site=INPUTS)), STEP.provisioner.name
    assert (STEP.watch(state, T0), STEP.leave(state, WHY), STEP.give_up(WHY)) == (None, (), ())
    batch = dataclasses.replace(STEP, targets=names("n1"), group=A)
    assert [type(fact) for fact in batch.give_up(WHY)] == [GroupChanged, NodesGivenUp]
    asked, waits = question(deploying({"a": "n1"}), at(40)), Awaited("a person", "an approval")
    compare = replace(asked, hardware=CompareHardware(PREPARE_B, (), 7))
    for poll_, awaited in (
        (SelectMembers(INPUTS), Awaited(who, "the nodes of the groups")),
        (compare, Awaited(who, "the hardware of group b")),
        (replace(asked, policy=waits), waits),
    ):
        assert STEP.awaits(state, poll_) == awaited


@every_row([False, True])
def test_a_move_is_looked_for_before_it_is_first_sent_where_the_provisioner_keeps_no_mark(marks: bool) -> None:
    provisioner = FakeProvisioner()
    provisioner.capabilities = replace(provisioner.capabilities, marks=marks)
    assert rollouts.step(provisioner).unmarked(SubmitMove(PREPARE_A, DESIGN)) is (not marks)
