"""The journal as text: one line for each entry, readable at night, whatever a peer said."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.codec import decode
from shipyard_api.domain.facts.entry import JournalEntry
from shipyard_api.domain.log_lines import log_line
from tests.unit.tables import every_row

AT = datetime(2026, 11, 21, 1, 24, 40, 102_999, tzinfo=UTC)
STEP = StepId("drydock_build.prepare_and_deploy_nodes")


def text_of(kind: str, facts: dict[str, Any], worker: str = "worker-0:4711") -> str:
    line = log_line(JournalEntry(7, 1, STEP, AT, worker, decode(kind, facts)))
    assert line.startswith(f"2026-11-21T01:24:40.102Z {kind.replace('_', ' ')}")
    return line.removeprefix(f"2026-11-21T01:24:40.102Z {kind.replace('_', ' ')}").lstrip()


KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a step begins": ("step_started", {}, "by worker-0:4711"),
    "an effect is intended": (
        "intended",
        {
            "marker": "m-1",
            "attempt": 2,
            "effect": {"group": "a", "phase": "prepare", "nodes": ["n1", "n2"], "batch": 1},
        },
        "attempt 2, marker m-1: group: a; phase: prepare; nodes: n1, n2; batch: 1",
    ),
    "an effect without words": ("intended", {"marker": "m-1", "attempt": 1, "effect": {}}, "attempt 1, marker m-1"),
    "a peer does not answer": (
        "attempt_failed",
        {"attempt": 1, "why": "Drydock GET /health: answered 503", "pause": 10.0},
        "attempt 1: Drydock GET /health: answered 503; asking again in 10 s",
    ),
    "an operation of a teardown ends": (
        "teardown_changed",
        {"node": "n1", "operation": "drain", "outcome": "failed", "message": "a/b is left", "etcd_begun": False},
        "n1: drain failed: a/b is left",
    ),
    "a teardown waits": (
        "teardown_waits",
        {"node": "n1", "operation": "drain", "reasons": ["a/b: budget a/x"]},
        "n1: drain waits for a/b: budget a/x",
    ),
    "a teardown waits no longer": (
        "teardown_waits",
        {"node": "n1", "operation": "drain", "reasons": []},
        "n1: drain waits for nothing more",
    ),
    "pods are evicted": (
        "pods_evicted",
        {"node": "n1", "pods": ["a/b"], "forced": False},
        "n1: evicted: a/b",
    ),
    "labels are cleared": (
        "labels_cleared",
        {"node": "n1", "labels": ["ceph-osd", "openstack"]},
        "n1: labels removed: ceph-osd, openstack",
    ),
    "a member leaves": (
        "etcd_member_removed",
        {"node": "n1", "cluster": "calico-etcd", "member": "17", "waived": ["2 members would remain"]},
        "n1: member 17 has left etcd cluster calico-etcd; below the site's minimum: 2 members would remain",
    ),
    "members are known": ("members_known", {"groups": 2, "nodes": 3}, "2 groups, 3 nodes"),
    "a phase begins": (
        "phase_started",
        {"group": "a", "phase": "prepare", "batch": 1, "job": "job-1", "nodes": ["n1"]},
        "group a, prepare: job job-1, 1 node: n1",
    ),
    "a batch begins": (
        "phase_started",
        {"group": "a", "phase": "deploy", "batch": 3, "job": "job-9", "nodes": ["n1", "n2"]},
        "group a, deploy, batch 3: job job-9, 2 nodes: n1, n2",
    ),
    "a phase runs": (
        "phase_running",
        {"group": "a", "phase": "deploy", "batch": 1},
        "group a, deploy: the provisioner is at it",
    ),
    "a phase ends": (
        "phase_ended",
        {"group": "a", "phase": "deploy", "batch": 1, "status": "timeout", "message": "limit 5 s"},
        "group a, deploy: timeout; limit 5 s",
    ),
    "nodes join": (
        "join_awaited",
        {"group": "a", "batch": 1, "nodes": ["n1"]},
        "group a, deploy: to be ready in Kubernetes: 1 node: n1",
    ),
    "nodes are accepted": (
        "acceptance_awaited",
        {"group": "a", "task": "disk", "batch": 1, "nodes": ["n1"]},
        "group a, deploy: to pass task disk: 1 node: n1",
    ),
    "a group fails": (
        "group_changed",
        {
            "group": "a",
            "status": "failed",
            "reason": "prepare",
            "detail": "",
            "shortfalls": [{"criterion": "minimum_successful_nodes", "needed": 3, "actual": 1}],
        },
        "group a: failed (prepare); minimum_successful_nodes: 3 needed, 1 there",
    ),
    "a group goes on": (
        "group_changed",
        {"group": "a", "status": "deploying", "reason": None, "detail": "", "shortfalls": []},
        "group a: deploying",
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
        "group a, deploy: failure (deploy): 2 nodes: n1, n2 (no root device)",
    ),
    "a rollout ends": (
        "rollout_ended",
        {
            "verdict": "failed",
            "groups": {"failed": ["a"], "success": ["b"]},
            "nodes": {"success": ["n1"], "failure": ["n2"]},
            "critical": ["a"],
        },
        "failed; groups failed: a (critical); groups success: b; nodes success: n1; nodes failure: n2",
    ),
    "a job begins": ("job_started", {"operation": "verify_site", "job": "job-0"}, "verify_site: job job-0"),
    "work of the site is left behind": (
        "work_left_behind",
        {"operation": "verify_site", "job": "job-0", "nodes": None, "why": "stopped by ann"},
        "verify_site, job job-0, may go on and Shipyard does not wait for it: stopped by ann; on the site",
    ),
    "work on nodes is left behind": (
        "work_left_behind",
        {"operation": "deploy_nodes", "job": "job-5", "nodes": ["n1"], "why": "limit 5 s"},
        "deploy_nodes, job job-5, may go on and Shipyard does not wait for it: limit 5 s; on 1 node: n1",
    ),
    "nodes are late": (
        "nodes_late",
        {"group": "a", "phase": "deploy", "usual": {"n1": 900.5, "n2": 30}, "seconds": 1000.2, "hold": False},
        "group a, deploy: late after 1000 s: 2 nodes: n1 (usually at most 900 s), n2 (usually at most 30 s)",
    ),
    "late nodes are done": (
        "nodes_not_late",
        {"group": "a", "phase": "deploy", "nodes": ["n1"]},
        "group a, deploy: no longer late: 1 node: n1",
    ),
    "nodes fail on a site that holds them": (
        "nodes_failed",
        {"nodes": ["n1"], "hold_after": 2},
        "a node is held after 2 failed deployments in a row: 1 node: n1",
    ),
    "nodes are given up": (
        "nodes_given_up",
        {"nodes": ["n1"], "why": "destroy_nodes failed: n1: no answer"},
        "given up: 1 node: n1: destroy_nodes failed: n1: no answer",
    ),
    "targets are known": ("targets_known", {"nodes": ["n1", "n2"]}, "to work on: 2 nodes: n1, n2"),
    "nodes are kept": (
        "nodes_kept",
        {"nodes": ["n1"], "action": "01M7XV7VKPMDHXJVA7WMC7P6XP"},
        "left alone, deployed before the retry of 01M7XV7VKPMDHXJVA7WMC7P6XP: 1 node: n1",
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
        "Error DD1001 (Drydock): no such network; drydock/Network/v1 oob, /a",
    ),
    "a finding of ours": (
        "finding",
        {"name": "X", "level": "Info", "message": "fine", "path": "", "source": "", "documents": []},
        "Info X: fine",
    ),
    "a note": ("noted", {"kind": "Force", "text": "work is not minded"}, "Force: work is not minded"),
    "a bug": ("broke", {"detail": "KeyError", "in_a_row": 2}, "internal error, 2 in a row: KeyError"),
    "a step ends": (
        "step_ended",
        {"state": "failed", "detail": "refused", "skipped": ["x", "y"]},
        "failed; refused; will not run: x, y",
    ),
    "a step succeeds": ("step_ended", {"state": "success", "detail": "", "skipped": []}, "success"),
    "a detail that only repeats the state": (
        "step_ended",
        {"state": "success", "detail": "success", "skipped": []},
        "success",
    ),
    "a kind of a later release": (
        "node_drained",
        {"node": "n1", "pods": ["a", "b"], "took": 3.5, "by": None, "left": [{"pod": "c"}]},
        "node: n1; pods: a, b; took: 3.5; by: none; left: (pod: c)",
    ),
    "a kind of ours with other facts": ("phase_started", {"zone": "a", "machines": 3}, "zone: a; machines: 3"),
    "facts that are no object": ("group_changed", ["a", 1], "a, 1"),  # type: ignore[dict-item]  # what JSON can hold
}


@every_row(KINDS)
def test_every_kind_of_line_says_what_happened(kind: str, facts: dict[str, Any], expected: str) -> None:
    assert text_of(kind, facts) == expected


BREAKS = ["\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\0", "\x1b[2J", "\u202e", "\ud800"]


@every_row(BREAKS)
def test_what_a_peer_said_stays_in_its_line(said: str) -> None:
    facts = {"attempt": 1, "why": f"a{said}2026-11-21T01:24:40.102Z step ended success", "pause": 1}

    line = text_of("attempt_failed", facts)

    assert line.isprintable()
    assert line.encode().decode() == line
    assert len(line.splitlines()) == 1
    assert line.startswith("attempt 1: a\\")


def test_a_text_of_another_alphabet_is_told_as_it_is() -> None:
    assert text_of("noted", {"kind": "Été", "text": "ночь"}) == "Été: ночь"
