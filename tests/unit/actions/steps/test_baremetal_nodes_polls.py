"""The step that deploys nodes: what reports on its jobs mean for the phases, groups and nodes."""

from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.steps.rollout_messages import Answers, SubmitMove
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.groups import GroupChanged, RolloutEnded
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseRunning
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Mode, Move, OnTimeout
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.provisioner import JobAhead, JobId, JobReport
from shipyard_api.workflow.step import Act, Done, Folded, PeerFailure
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
    lost,
    names,
    of,
    poll,
    question,
    queued,
    running,
    submit,
)
from tests.unit.tables import every_row

A, B = GroupName("a"), GroupName("b")
ALL_OR_NONE: dict[str, Any] = {"success_criteria": {"percent_successful_nodes": 100}}
STREAM = Mode(deploy_as_prepared=True)


def preparing(**keywords: Any) -> RolloutState:
    """Return a state whose first group is prepared by job ``j`` since T0."""
    return submit(begun(TWO_GROUPS, **keywords), "j").state


# --- A job that goes on -----------------------------------------------------------------------------------------------


def test_a_phase_runs_from_the_first_report_that_says_so() -> None:
    state = preparing()
    first = poll(state, at(10), running("j"))
    second = poll(state, at(40), running("j"))
    assert first == Folded(state, (PhaseRunning(A, Phase.PREPARE, 1),), wait_until=at(40), watch_at=at(40))
    assert second == Folded(state, (), wait_until=at(70), watch_at=at(70))
    (watch,) = state.watches.values()
    assert watch.job.running_since == at(10)


def test_the_report_by_which_a_job_times_out_is_read_for_it() -> None:
    """A listing serves several reports, and a server may have been deployed since the newest one."""
    state = begun(TWO_GROUPS, mode=Mode(max_parallel_groups=2))
    submit(state, "j", T0)
    submit(state, "k", at(20))
    poll(state, at(20), running("j"), running("k"))
    for seconds, fresh in ((319, []), (320, ["j", "k"])):
        look = question(state, at(seconds))
        assert ([job for job, work in look.jobs.items() if work.fresh], look.machines) == (fresh, bool(fresh))


def test_a_move_that_can_start_does_not_wait_for_the_next_poll() -> None:
    state = preparing(mode=Mode(max_parallel_groups=2))
    folded = poll(state, at(10), queued("j"))
    assert folded == Folded(state, (), wait_until=None, watch_at=at(40))
    assert isinstance(STEP.decide(state, at(10)), Act)


def test_the_next_poll_comes_when_the_first_of_the_jobs_needs_it() -> None:
    state = begun(TWO_GROUPS, mode=Mode(max_parallel_groups=2))
    submit(state, "j", T0)
    submit(state, "k", at(20))
    poll(state, at(20), running("j"), queued("k"))
    # The limit of j strikes at second 320, within the interval of k.
    folded = poll(state, at(300), running("j"), queued("k"))
    assert folded == Folded(state, (), wait_until=at(320), watch_at=at(320))


# --- A job that has ended ---------------------------------------------------------------------------------------------

ENDS = {
    "all nodes": (ended("j", "n1 n2", message="done"), PhaseStatus.SUCCESS, "done", "n1 n2", ""),
    "some nodes": (ended("j", "n1", "n2", n2="no disk"), PhaseStatus.PARTIAL_SUCCESS, "", "n1", "n2"),
    "no node": (ended("j", "", "n1 n2", "it broke"), PhaseStatus.FAILURE, "it broke", "", "n1 n2"),
    "a node without a word is no success": (ended("j", "n1"), PhaseStatus.PARTIAL_SUCCESS, "", "n1", "n2"),
    "nodes of others do not count": (ended("j", "n3 n1"), PhaseStatus.PARTIAL_SUCCESS, "", "n1", "n2"),
}


@every_row(ENDS)
def test_how_a_phase_ends(report: JobReport, status: PhaseStatus, message: str, good: str, bad: str) -> None:
    state = preparing(groups={"a": {"success_criteria": {"minimum_successful_nodes": 1}}})
    folded = poll(state, at(10), report)
    assert of(folded.facts, PhaseEnded) == [PhaseEnded(A, Phase.PREPARE, status, message)]
    changes = [NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, names(good))] if good else []
    if bad:
        reasons = {node: why for node, why in report.reasons.items() if node in names(bad)}
        changes.append(NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, names(bad), reasons=reasons))
    assert of(folded.facts, NodesChanged) == changes
    assert (state.watches, folded.wait_until, folded.watch_at) == ({}, None, None)


def test_the_last_job_brings_the_report() -> None:
    state = deploying({"a": "n1 n2"})
    folded = poll(state, at(60), ended("deploy-1", "n1 n2"))
    assert folded.facts == (
        PhaseEnded(A, Phase.DEPLOY, PhaseStatus.SUCCESS),
        NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, names("n1 n2")),
        GroupChanged(A, GroupStatus.SUCCESS),
        RolloutEnded(Verdict.SUCCESS, {GroupStatus.SUCCESS: (A,)}, {NodeStatus.SUCCESS: names("n1 n2")}),
    )
    assert STEP.decide(state, at(60)) == Done("1 of 1 groups and 2 of 2 nodes deployed")


UNKNOWN = "the provisioner no longer knows the job"


def test_a_lost_job_keeps_its_early_successes() -> None:
    state = preparing()
    poll(state, at(10), running("j", "n2"))
    folded = poll(state, at(40), lost("j"))
    assert of(folded.facts, PhaseEnded, NodesChanged, WorkLeftBehind) == [
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.PARTIAL_SUCCESS, UNKNOWN),
        NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, names("n2")),
        NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, names("n1"), reasons={NodeName("n1"): UNKNOWN}),
    ]


# --- A job whose time is up -------------------------------------------------------------------------------------------


def timed_out(status: NodeStatus, why: str) -> NodesChanged:
    nodes = names("n1 n2")
    return NodesChanged(A, Phase.PREPARE, status, nodes, timed_out=True, reasons=dict.fromkeys(nodes, why))


IN_QUEUE = "waited more than 1000 s in the provisioner's queue"
AT_WORK = "limit 300 s since it started"


def test_a_job_that_is_queued_longer_than_its_limit_is_given_up_and_its_nodes_stay_as_they_are() -> None:
    state = preparing()
    assert poll(state, at(1000) - MOMENT, queued("j")) == Folded(state, (), wait_until=at(1000), watch_at=at(1000))
    folded = poll(state, at(1000), replace(queued("j"), ahead=JobAhead(JobId("4"), "mara", "deploy_nodes of n9")))
    why = f"{IN_QUEUE}, behind job 4 (deploy_nodes of n9, submitted by mara)"
    told = f"{why}; job j may still begin"
    assert folded.facts == (
        WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1 n2"), why),
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.TIMEOUT, told),
        timed_out(NodeStatus.NOT_STARTED, told),
        GroupChanged(A, GroupStatus.FAILED, Reason.QUEUE_TIMEOUT, told),
    )
    assert set(folded.state.to_json()["rollout"]["in_queue"]) == {"n1", "n2"}
    assert STEP.decide(state, at(1000)) == Act(
        SubmitMove(Move(B, Phase.PREPARE, names("n3")), DESIGN), give_up_at=at(1300)
    )


@every_row([SILENCE, REFUSAL])
def test_without_any_answer_the_limit_of_the_work_counts_from_the_submission(answer: PeerFailure) -> None:
    state = preparing()
    assert STEP.fold(state, question(state, at(299)), answer, at(299)).wait_until == at(300)
    folded = STEP.fold(state, question(state, at(300)), answer, at(300))
    silent = f"the provisioner has not answered for 300 s since the submission; last answer: {answer.detail}"
    why = f"{silent}; job j may still be working"
    assert folded.facts == (
        WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1 n2"), silent),
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.TIMEOUT, why),
        timed_out(NodeStatus.FAILURE, why),
        GroupChanged(A, GroupStatus.FAILED, Reason.TIMEOUT, f"prepare did not end within its time limit: {why}"),
    )


def test_the_limit_of_the_work_counts_from_its_start() -> None:
    state = preparing()
    poll(state, at(900), running("j"))
    assert poll(state, at(1200) - MOMENT, running("j")).watch_at == at(1200)
    folded = poll(state, at(1200), running("j"))
    assert of(folded.facts, WorkLeftBehind) == [WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1 n2"), AT_WORK)]


def test_nodes_that_were_done_when_the_time_was_up_count_and_are_not_held() -> None:
    state = preparing(mode=Mode(on_timeout=OnTimeout.JUDGE_CRITERIA))
    poll(state, T0, running("j"))
    folded = poll(state, at(300), running("j", "n2", message="in rack 4", n1="burning"))
    why = f"{AT_WORK}; job j may still be working"
    assert folded.facts == (
        WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1"), AT_WORK),
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.TIMEOUT, f"{why}; in rack 4"),
        NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, names("n2")),
        NodesChanged(
            A, Phase.PREPARE, NodeStatus.FAILURE, names("n1"), timed_out=True, reasons={NodeName("n1"): "burning"}
        ),
        GroupChanged(A, GroupStatus.DEPLOYING),
    )


def test_a_job_out_of_time_that_is_done_with_all_its_nodes_holds_them_all() -> None:
    """Its end is not reported, so what it does next to them is unknown."""
    state = preparing()
    poll(state, T0, running("j"))
    folded = poll(state, at(300), running("j", "n1 n2"))
    assert of(folded.facts, WorkLeftBehind, PhaseEnded) == [
        WorkLeftBehind("prepare_nodes", "j", DESIGN, names("n1 n2"), AT_WORK),
        PhaseEnded(A, Phase.PREPARE, PhaseStatus.TIMEOUT, f"{AT_WORK}; job j may still be working"),
    ]


# --- Progress while a job runs ----------------------------------------------------------------------------------------


def test_a_reason_that_was_reported_once_is_kept_though_the_provisioner_forgets_it() -> None:
    state = preparing()
    poll(state, at(10), running("j", "", "n2", n2="no disk"))
    folded = poll(state, at(40), ended("j", "n1", "n2"))
    assert [fact.nodes for fact in of(folded.facts, NodesChanged) if isinstance(fact, NodesChanged)] == [names("n1")]


def test_a_stop_replaces_neither_a_failure_nor_a_success_that_was_reported() -> None:
    state = submit(begun({"a": "n1 n2 n3"}), "j").state
    poll(state, at(10), running("j", "n1", "n2", n2="no disk"))
    changes = [fact for fact in STEP.leave(state, "stopped") if isinstance(fact, NodesChanged)]
    assert [(fact.status, fact.nodes) for fact in changes] == [
        (NodeStatus.PREPARED, names("n1")),
        (NodeStatus.FAILURE, names("n3")),
    ]


def test_at_the_limit_the_machines_show_which_node_hangs() -> None:
    state = deploying({"a": "n1 n2 n3"})
    poll(state, at(30), running("deploy-1"))
    assert not question(state, at(429)).machines
    assert question(state, at(430)).machines
    shown = {"n1": "Deployed", "n2": "Deploying", "n3": "Deployed"}
    folded = poll(state, at(430), running("deploy-1"), machines=shown)
    (changed,) = [fact for fact in folded.facts if isinstance(fact, NodesChanged)]
    limit = "limit 400 s since it started; job deploy-1 may still be working"
    assert changed.reasons == {NodeName(node): f"Fake shows it as {label}; {limit}" for node, label in shown.items()}
    (noted,) = [fact for fact in folded.facts if isinstance(fact, Noted)]
    assert "deploy of group a: n2 Deploying, n1, n3 Deployed; " in noted.text
    assert "Next: `shipyard get site-statuses`" in noted.text


def test_a_limit_that_strikes_between_question_and_answer_is_judged_by_the_next_poll() -> None:
    state = deploying({"a": "n1"})
    poll(state, at(30), running("deploy-1"))
    asked = question(state, at(429))
    folded = STEP.fold(state, asked, Answers({JobId("deploy-1"): running("deploy-1")}, None), at(430))
    assert (folded.facts, folded.wait_until) == ((), at(430))


@every_row([STREAM, Mode(max_nodes_in_flight=3)])
def test_early_outcomes_settle_nodes_where_the_mode_needs_it(mode: Mode) -> None:
    state = submit(begun({"a": "n1 n2 n3"}, mode=mode), "j").state
    folded = poll(state, at(10), running("j", "n2", "n1", n1="no disk"))
    assert of(folded.facts, PhaseRunning, NodesChanged) == [
        PhaseRunning(A, Phase.PREPARE, 1),
        NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, names("n2")),
        NodesChanged(A, Phase.PREPARE, NodeStatus.FAILURE, names("n1"), reasons={NodeName("n1"): "no disk"}),
    ]
    assert next(iter(state.watches.values())).done == names("n2")


def test_a_move_ends_when_its_last_node_is_settled_although_its_job_runs() -> None:
    state = submit(begun({"a": "n1 n2"}, mode=STREAM), "j").state
    poll(state, at(10), running("j", "n1"))
    folded = poll(state, at(40), running("j", "n1", "n2", "nearly done"))
    assert of(folded.facts, PhaseEnded) == [PhaseEnded(A, Phase.PREPARE, PhaseStatus.PARTIAL_SUCCESS, "nearly done")]
    assert (state.watches, folded.watch_at) == ({}, None)


def test_a_job_that_two_moves_share_is_polled_for_the_nodes_of_both() -> None:
    state = begun({"a": "n1 n2", "b": "n3"}, mode=Mode(max_parallel_groups=2, deploy_as_prepared=True))
    for _ in range(2):
        submit(state, "j")
    poll(state, at(10), running("j", "n1"))
    (work,) = question(state, at(60)).jobs.values()
    assert work.nodes == names("n2 n3")


# --- Nodes that no move sent ------------------------------------------------------------------------------------------


def test_facts_about_phases_name_only_nodes_that_a_move_sent() -> None:
    """n3 fails with group b for its dependency; nothing was sent for it."""
    state = submit(begun(TWO_GROUPS, groups={"a": ALL_OR_NONE, "b": {"depends_on": ["a"]}}), "j").state
    folded = poll(state, at(10), ended("j", "n1", "n2"))
    assert {fact.group for fact in folded.facts if isinstance(fact, NodesChanged | PhaseEnded)} == {A}
    assert folded.facts[-1] == RolloutEnded(
        Verdict.SUCCESS,
        {GroupStatus.FAILED: (A, B)},
        {NodeStatus.PREPARED: names("n1"), NodeStatus.FAILURE: names("n2"), NodeStatus.NOT_STARTED: names("n3")},
    )
