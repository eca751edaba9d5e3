"""One stored row of each kind of fact, for what reads, writes, logs and notes them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shipyard_api.domain.actions import RunState, StepId, StepState
from shipyard_api.domain.cases.case import Case, CaseKind, Earlier, Tie
from shipyard_api.domain.facts.actions import ActionEnded, Noted
from shipyard_api.domain.facts.cases import CaseChanged, CaseClosed, CaseOpened, CasesUnknown
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, LateResult, WorkLeftBehind
from shipyard_api.domain.facts.nodes import (
    NodesChanged,
    NodesFailed,
    NodesGivenUp,
    NodesKept,
    NodesLate,
    NodesLeft,
    NodesNotLate,
    NodesRelabelled,
    TargetsKnown,
)
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.facts.software import NodeResult, SoftwareGiven, TaskChanged, TaskStatus
from shipyard_api.domain.facts.steps import (
    AttemptFailed,
    Broke,
    Intended,
    StepEnded,
    StepsSkipped,
    StepStarted,
    Waiting,
)
from shipyard_api.domain.facts.teardown import (
    EtcdMemberRemoved,
    LabelsCleared,
    PodsEvicted,
    TeardownChanged,
    TeardownWaits,
)
from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.criteria import Criterion, Shortfall
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.domain.teardown.order import Operation, Outcome

A, B = GroupName("a"), GroupName("b")
N1, N2 = NodeName("n1"), NodeName("n2")

_CASE: dict[str, Any] = {
    "kind": "failed",
    "feature": "rack",
    "value": "r1",
    "nodes": ["n1", "n2"],
    "affected": 3,
    "others_with": 0,
    "others": 9,
    "unknown": 1,
    "since": "2026-11-21T02:14:00Z",
    "words": "no answer",
    "also": [{"feature": "group", "value": "a"}],
    "rest": 4,
    "command": "shipyard hold node n3 --reason 'rack r1'",
    "earlier": {"times": 2, "first_at": "2026-11-20T02:14:00Z", "action": "01A"},
}
_NIGHT = datetime(2026, 11, 21, 2, 14, tzinfo=UTC)
RACK = Case(
    CaseKind.FAILED,
    "rack",
    "r1",
    (N1, N2),
    3,
    0,
    9,
    unknown=1,
    since=_NIGHT,
    words="no answer",
    also=(Tie("group", "a"),),
    rest=4,
    command="shipyard hold node n3 --reason 'rack r1'",
    earlier=Earlier(2, _NIGHT - timedelta(days=1), "01A"),
)

# Rows of version 1 as databases hold them, and the fact of each. They stay as they are when a kind gets a new version.
SAMPLES: dict[str, tuple[str, dict[str, Any], Fact]] = {
    "a task on nodes": (
        "task_changed",
        {
            "task": "t",
            "marker": "A.0.0.0.0",
            "results": [
                {
                    "node": "n1",
                    "status": "failed",
                    "exit_status": 0,
                    "attempts": 3,
                    "seconds": 1.5,
                    "detail": "it was stopped",
                    "tail": "x",
                },
                {"node": "n2", "status": "running"},
            ],
        },
        TaskChanged(
            TaskId("t"),
            "A.0.0.0.0",
            (
                NodeResult(N1, TaskStatus.FAILED, 0, 3, 1.5, "it was stopped", "x"),
                NodeResult(N2, TaskStatus.RUNNING),
            ),
        ),
    ),
    "nodes have their software": ("software_given", {"nodes": 2}, SoftwareGiven(2)),
    "a step begins": ("step_started", {}, StepStarted()),
    "a wave of a group ends": (
        "wave_ended",
        {"group": "a", "wave": "canary", "nodes": 2, "begun": 2, "lost": 1, "missed": "x"},
        WaveEnded(A, "canary", 2, 2, 1, "x"),
    ),
    "a wave of the action ends": (
        "wave_ended",
        {"group": None, "wave": "rest", "nodes": 2, "begun": 2, "lost": 0, "missed": ""},
        WaveEnded(None, "rest", 2, 2, 0),
    ),
    "the policy stops nodes": (
        "policy_stopped",
        {"rule": "budget racks of rack r1", "why": "2 nodes are lost", "nodes": 7},
        PolicyStopped("budget racks of rack r1", "2 nodes are lost", 7),
    ),
    "a case opens": ("case_opened", {"case": _CASE}, CaseOpened(RACK)),
    "a case changes": ("case_changed", {"case": _CASE}, CaseChanged(RACK)),
    "a case closes": (
        "case_closed",
        {"key": "failed rack r1", "sentence": "Rack r1."},
        CaseClosed("failed rack r1", "Rack r1."),
    ),
    "no case can be looked for": ("cases_unknown", {"why": "no answer"}, CasesUnknown("no answer")),
    "an effect is intended": (
        "intended",
        {"marker": "m-1", "attempt": 2, "effect": {"v": 1, "group": "a", "nodes": ["n1"]}},
        Intended("m-1", 2, {"v": 1, "group": "a", "nodes": ["n1"]}),
    ),
    "a peer does not answer": (
        "attempt_failed",
        {"attempt": 1, "why": "answered 503", "pause": 2.5},
        AttemptFailed(1, "answered 503", 2.5),
    ),
    "a peer does not answer for whole seconds": (
        "attempt_failed",
        {"attempt": 2, "why": "answered 503", "pause": 5},
        AttemptFailed(2, "answered 503", 5),
    ),
    "what an action waits for": (
        "waiting",
        {"who": "Drydock", "what": "prepare of group a", "deadline": "2026-03-01T12:00:00+00:00"},
        Waiting("Drydock", "prepare of group a", "2026-03-01T12:00:00+00:00"),
    ),
    "a bug": ("broke", {"detail": "KeyError", "in_a_row": 2}, Broke("KeyError", 2)),
    "a step fails": (
        "step_ended",
        {"state": "failed", "detail": "refused", "skipped": ["x", "y"]},
        StepEnded(StepState.FAILED, "refused", (StepId("x"), StepId("y"))),
    ),
    "an operation of a teardown ends": (
        "teardown_changed",
        {"node": "n1", "operation": "remove-etcd", "outcome": "failed", "message": "no quorum", "etcd_begun": True},
        TeardownChanged(N1, Operation.REMOVE_ETCD, Outcome.FAILED, "no quorum", etcd_begun=True),
    ),
    "a teardown waits": (
        "teardown_waits",
        {"node": "n1", "operation": "drain", "reasons": ["a/b: budget a/x allows no disruption now"]},
        TeardownWaits(N1, Operation.DRAIN, ("a/b: budget a/x allows no disruption now",)),
    ),
    "pods are evicted": (
        "pods_evicted",
        {"node": "n1", "pods": ["a/b"], "forced": False},
        PodsEvicted(N1, ("a/b",)),
    ),
    "labels are cleared": (
        "labels_cleared",
        {"node": "n1", "labels": ["ceph-osd", "openstack"]},
        LabelsCleared(N1, ("ceph-osd", "openstack")),
    ),
    "a member leaves": (
        "etcd_member_removed",
        {"node": "n1", "cluster": "calico-etcd", "member": "17", "waived": ["at least 3 members, 2 would remain"]},
        EtcdMemberRemoved(N1, "calico-etcd", "17", ("at least 3 members, 2 would remain",)),
    ),
    "steps are skipped": ("steps_skipped", {"steps": ["x"]}, StepsSkipped((StepId("x"),))),
    "an action ends": ("action_ended", {"state": "success"}, ActionEnded(RunState.SUCCESS)),
    "a note": ("noted", {"kind": "Parameter", "text": "x is unknown"}, Noted("Parameter", "x is unknown")),
    "members are known": ("members_known", {"groups": 2, "nodes": 3}, MembersKnown(2, 3)),
    "a group goes on": (
        "group_changed",
        {"group": "a", "status": "preparing", "reason": None, "detail": "", "shortfalls": []},
        GroupChanged(A, GroupStatus.PREPARING),
    ),
    "a group fails": (
        "group_changed",
        {
            "group": "a",
            "status": "failed",
            "reason": "prepare",
            "detail": "too few",
            "shortfalls": [{"criterion": "minimum_successful_nodes", "needed": 3, "actual": 1}],
        },
        GroupChanged(
            A, GroupStatus.FAILED, Reason.PREPARE, "too few", (Shortfall(Criterion.MINIMUM, needed=3, actual=1),)
        ),
    ),
    "a rollout ends": (
        "rollout_ended",
        {
            "verdict": "failed",
            "groups": {"failed": ["a"], "success": ["b"]},
            "nodes": {"success": ["n1"], "failure": ["n2"]},
            "critical": ["a"],
        },
        RolloutEnded(
            Verdict.FAILED,
            {GroupStatus.FAILED: (A,), GroupStatus.SUCCESS: (B,)},
            {NodeStatus.SUCCESS: (N1,), NodeStatus.FAILURE: (N2,)},
            (A,),
        ),
    ),
    "a phase begins": (
        "phase_started",
        {"group": "a", "phase": "deploy", "batch": 3, "job": "job-9", "nodes": ["n1", "n2"]},
        PhaseStarted(A, Phase.DEPLOY, (N1, N2), "job-9", 3),
    ),
    "a phase runs": (
        "phase_running",
        {"group": "a", "phase": "prepare", "batch": 1},
        PhaseRunning(A, Phase.PREPARE),
    ),
    "a phase ends": (
        "phase_ended",
        {"group": "a", "phase": "deploy", "batch": 2, "status": "timeout", "message": "limit 5 s"},
        PhaseEnded(A, Phase.DEPLOY, PhaseStatus.TIMEOUT, "limit 5 s", 2),
    ),
    "nodes join": ("join_awaited", {"group": "a", "batch": 1, "nodes": ["n1"]}, JoinAwaited(A, (N1,))),
    "nodes are accepted": (
        "acceptance_awaited",
        {"group": "a", "task": "disk", "batch": 1, "nodes": ["n1"]},
        AcceptanceAwaited(A, TaskId("disk"), (N1,)),
    ),
    "nodes succeed": (
        "nodes_changed",
        {"group": "a", "phase": "prepare", "status": "prepared", "reason": None, "nodes": ["n1"], "details": {}},
        NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1,)),
    ),
    "nodes fail": (
        "nodes_changed",
        {
            "group": "a",
            "phase": "deploy",
            "status": "failure",
            "reason": "deploy",
            "nodes": ["n1", "n2"],
            "details": {"n2": "no root device"},
        },
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N1, N2), reasons={N2: "no root device"}),
    ),
    "nodes time out": (
        "nodes_changed",
        {"group": "a", "phase": "deploy", "status": "failure", "reason": "timeout", "nodes": ["n1"], "details": {}},
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N1,), timed_out=True),
    ),
    "nodes are refused": (
        "nodes_changed",
        {
            "group": "a",
            "phase": "deploy",
            "status": "prepared",
            "reason": "refused",
            "nodes": ["n1"],
            "details": {"n1": "no"},
        },
        NodesChanged(A, Phase.DEPLOY, NodeStatus.PREPARED, (N1,), reasons={N1: "no"}, refused=True),
    ),
    "nodes are held": (
        "nodes_changed",
        {
            "group": "a",
            "phase": "deploy",
            "status": "failure",
            "reason": "held",
            "nodes": ["n1"],
            "details": {"n1": "held by ann"},
        },
        NodesChanged(A, Phase.DEPLOY, NodeStatus.FAILURE, (N1,), reasons={N1: "held by ann"}, held=True),
    ),
    "nodes have other hardware": (
        "nodes_changed",
        {
            "group": "a",
            "phase": "prepare",
            "status": "failure",
            "reason": "hardware",
            "nodes": ["n1"],
            "details": {"n1": "1 CPU socket seen, 2 expected"},
        },
        NodesChanged(
            A,
            Phase.PREPARE,
            NodeStatus.FAILURE,
            (N1,),
            reasons={N1: "1 CPU socket seen, 2 expected"},
            hardware=True,
        ),
    ),
    "nodes are late": (
        "nodes_late",
        {"group": "a", "phase": "deploy", "usual": {"n1": 900.5}, "seconds": 1000, "hold": True},
        NodesLate(A, Phase.DEPLOY, {N1: 900.5}, 1000, hold=True),
    ),
    "late nodes are done": (
        "nodes_not_late",
        {"group": "a", "phase": "deploy", "nodes": ["n1"]},
        NodesNotLate(A, Phase.DEPLOY, (N1,)),
    ),
    "nodes fail on a site that holds them": (
        "nodes_failed",
        {"nodes": ["n1"], "hold_after": 2},
        NodesFailed((N1,), 2),
    ),
    "nodes are kept": ("nodes_kept", {"nodes": ["n1"], "action": "01M7"}, NodesKept((N1,), "01M7")),
    "nodes are left": (
        "nodes_left",
        {"older": ["n1"], "unknown": [], "differs": {"n1": ["labels"]}, "services": True},
        NodesLeft((N1,), (), {N1: ("labels",)}, services=True),
    ),
    "nodes are relabelled": ("nodes_relabelled", {"labels": {"n1": "d1"}}, NodesRelabelled({N1: "d1"})),
    "targets are known": ("targets_known", {"nodes": ["n1"]}, TargetsKnown((N1,))),
    "nodes are given up": (
        "nodes_given_up",
        {"nodes": ["n1"], "why": "destroy_nodes failed"},
        NodesGivenUp((N1,), "destroy_nodes failed"),
    ),
    "a job begins": (
        "job_started",
        {"operation": "verify_site", "job": "job-0"},
        JobStarted("verify_site", "job-0"),
    ),
    "work on the site is left behind": (
        "work_left_behind",
        {"operation": "verify_site", "job": "job-0", "nodes": None, "why": "stopped by ann"},
        WorkLeftBehind("verify_site", "job-0", "", None, "stopped by ann"),
    ),
    "work on nodes is left behind": (
        "work_left_behind",
        {"operation": "deploy_nodes", "job": "job-5", "nodes": ["n1"], "why": "limit 5 s"},
        WorkLeftBehind("deploy_nodes", "job-5", "", (N1,), "limit 5 s"),
    ),
    "late work ends": (
        "late",
        {
            "job": "job-5",
            "operation": "deploy_nodes",
            "state": "ended",
            "succeeded": ["n1"],
            "failed": ["n2"],
            "message": "1 of 2",
        },
        LateResult("job-5", "deploy_nodes", "ended", (N1,), (N2,), "1 of 2"),
    ),
    "a finding": (
        "finding",
        {
            "name": "DD1001",
            "level": "Error",
            "message": "no such network",
            "path": "/a",
            "source": "Drydock",
            "documents": [{"schema": "drydock/Network/v1", "name": "oob"}],
        },
        FindingReported(
            Finding(
                "DD1001",
                Level.ERROR,
                "no such network",
                (DocumentRef("drydock/Network/v1", "oob"),),
                path="/a",
                source="Drydock",
            )
        ),
    ),
}
