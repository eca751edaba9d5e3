"""Facts as the journal stores them: every kind is read as it was written, and what another release wrote is kept."""

import json
from collections.abc import Mapping
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Any, ClassVar

import pytest

from shipyard_api.domain import facts
from shipyard_api.domain.actions import RunState, StepId, StepState
from shipyard_api.domain.facts import codec
from shipyard_api.domain.facts.actions import ActionEnded, Noted
from shipyard_api.domain.facts.codec import KINDS, decode, encode
from shipyard_api.domain.facts.fact import Fact, UnknownFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, LateResult, WorkLeftBehind
from shipyard_api.domain.facts.nodes import (
    NodesChanged,
    NodesFailed,
    NodesGivenUp,
    NodesKept,
    NodesLate,
    NodesNotLate,
    TargetsKnown,
)
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
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
from shipyard_api.domain.findings import DocumentRef, Finding, Level, error
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy.criteria import Criterion, Shortfall
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.domain.teardown.order import Operation, Outcome
from tests.factories import group, strategy
from tests.unit.tables import every_row

A, B = GroupName("a"), GroupName("b")
N1, N2 = NodeName("n1"), NodeName("n2")

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


@every_row(SAMPLES)
def test_a_stored_fact_of_version_1_is_read_and_written_as_it_is(kind: str, stored: dict[str, Any], fact: Fact) -> None:
    fact_read = decode(kind, stored)
    assert fact_read == fact
    # As text: the order of keys counts too, and whole numbers stay whole.
    assert json.dumps(encode(fact)) == json.dumps(encode(fact_read)) == json.dumps(stored)
    assert fact.kind == kind


def test_every_kind_has_a_sample() -> None:
    assert {kind for kind, _, _ in SAMPLES.values()} == set(KINDS)


# Parts that came after the first rows of a kind, with the value that those rows are read with.
LATER_PARTS = {
    "shortfalls": ("a group fails", "shortfalls", ()),
    "critical": ("a rollout ends", "critical", ()),
    "batch of a start": ("a phase begins", "batch", 1),
    "batch of an end": ("a phase ends", "batch", 1),
    "batch that joins": ("nodes join", "batch", 1),
}


@every_row(LATER_PARTS)
def test_a_row_from_before_a_part_was_written_is_read(sample: str, part: str, value: Any) -> None:
    kind, stored, _ = SAMPLES[sample]
    fact = decode(kind, {key: one for key, one in stored.items() if key != part})

    assert getattr(fact, part) == value


def test_the_journal_keeps_how_many_members_there_are() -> None:
    fact = MembersKnown.of(strategy(group("a"), group("b")), {A: frozenset({N1, N2}), B: frozenset({N2})})

    assert encode(fact) == {"groups": 2, "nodes": 2}
    assert [(one.name, nodes) for one, nodes in fact.membership] == [("a", {N1, N2}), ("b", {N2})]


def test_the_address_of_the_design_is_not_stored() -> None:
    secret = "http://ann:s3cret@shipyard/5"
    facts = (Intended("m-1", 1, {"design": secret, "v": 1}), WorkLeftBehind("verify_site", "j", secret, None, "why"))

    assert [secret in str(encode(fact)) for fact in facts] == [False, False]
    assert encode(facts[0])["effect"] == {"v": 1}


UNKNOWN: dict[str, tuple[str, Any]] = {
    "a kind of a later release": ("node_drained", {"node": "n1"}),
    "a version of a later release": ("noted", {"v": 2, "kind": "Parameter", "text": "x", "more": "y"}),
    "a version that is no number": ("noted", {"v": "x", "kind": "Parameter", "text": "x"}),
    "a version that nobody has": ("noted", {"v": 0, "kind": "Parameter", "text": "x"}),
    "another form": ("phase_started", {"zone": "a", "machines": 3}),
    "a word of a later release": ("group_changed", {"group": "a", "status": "draining"}),
    "no object": ("noted", ["a", 1]),
    "nothing": ("noted", None),
}


@every_row(UNKNOWN)
def test_what_this_release_does_not_know_is_kept_as_it_is(kind: str, stored: Any) -> None:
    assert decode(kind, stored) == UnknownFact(kind, stored)


ODD: list[Any] = [None, True, 5, "text", ["text"], {"a": 1}, {"a": ["n1"]}, [5, None], {"n1": {"x": []}}]


@every_row(SAMPLES)
def test_a_stored_fact_of_any_shape_is_read_or_kept(sample: tuple[str, dict[str, Any], Fact]) -> None:
    kind, stored, _ = sample
    for part, odd in product(stored, ODD):
        fact = decode(kind, {**stored, part: odd})
        assert fact == UnknownFact(kind, {**stored, part: odd}) or isinstance(fact, KINDS[kind])


class Renamed:
    """A kind whose stored form has changed: what was ``text`` is ``words``."""

    kind: ClassVar[str] = "renamed"
    version: ClassVar[int] = 2

    def __init__(self, words: str) -> None:
        self.words = words

    def to_json(self) -> Mapping[str, Any]:
        return {"words": self.words}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Renamed":
        return cls(stored["words"] if stored.get("v") == 2 else stored["text"])


def test_a_kind_with_a_second_version_writes_it_and_reads_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "KINDS", {"renamed": Renamed})

    assert encode(Renamed("a")) == {"words": "a", "v": 2}
    assert [decode("renamed", stored).words for stored in ({"text": "a"}, {"words": "a", "v": 2})] == ["a", "a"]
    assert decode("renamed", {"v": 3}) == UnknownFact("renamed", {"v": 3})


def test_every_fact_of_every_noun_is_known() -> None:
    modules = [import_module(f"{facts.__name__}.{one.name}") for one in iter_modules(facts.__path__)]
    defined = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Fact) and value is not Fact
    }

    assert defined == {*KINDS.values()}


def test_a_finding_keeps_the_places_in_its_documents() -> None:
    finding = error("F", "m", path="/metadata/x").about(DocumentRef("a/B/v1", "one", path="/metadata/x"))

    (document,) = FindingReported.from_json(FindingReported(finding).to_json()).finding.documents

    assert document.path == "/metadata/x"
