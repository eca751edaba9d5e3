"""The journal as text: one line for each entry, readable at night, whatever a peer said."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.codec import decode
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.log_lines import log_line
from tests.stored_facts import RACK, SAMPLES
from tests.unit.tables import every_row

AT = datetime(2026, 11, 21, 1, 24, 40, 102_999, tzinfo=UTC)
STEP = StepId("drydock_build.prepare_and_deploy_nodes")


def text_of(kind: str, facts: Any, worker: str = "worker-0:4711") -> str:
    line = log_line(JournalEntry(7, 1, STEP, AT, worker, decode(kind, facts)))
    assert line.startswith(f"2026-11-21T01:24:40.102Z {kind.replace('_', ' ')}")
    return line.removeprefix(f"2026-11-21T01:24:40.102Z {kind.replace('_', ' ')}").lstrip()


TEXTS = {
    "a task on nodes": "t: failed (it was stopped) on n1; running on n2, marker A.0.0.0.0",
    "a step begins": "by worker-0:4711",
    "a wave of a group ends": "group a, wave canary: 2 of 2 nodes sent, 1 lost; missed: x",
    "a wave of the action ends": "wave rest: 2 of 2 nodes sent, 0 lost",
    "a case opens": f"{RACK.sentence} Next: {RACK.command}. Nodes: n1, n2",
    "a case changes": f"{RACK.sentence} Next: {RACK.command}. Nodes: n1, n2",
    "a case closes": "no longer: Rack r1.",
    "no case can be looked for": "what failed or late nodes have in common is not known: no answer",
    "the policy stops nodes": "budget racks of rack r1: 2 nodes are lost; 7 nodes are not sent",
    "an effect is intended": "attempt 2, marker m-1: v: 1; group: a; nodes: n1",
    "a peer does not answer": "attempt 1: answered 503; asking again in 2.5 s",
    "a peer does not answer for whole seconds": "attempt 2: answered 503; asking again in 5 s",
    "what an action waits for": "for Drydock: prepare of group a, until 2026-03-01T12:00:00+00:00",
    "a bug": "internal error, 2 in a row: KeyError",
    "a step fails": "failed; refused; will not run: x, y",
    "an operation of a teardown ends": "n1: remove-etcd failed: no quorum",
    "a teardown waits": "n1: drain waits for a/b: budget a/x allows no disruption now",
    "pods are evicted": "n1: evicted: a/b",
    "labels are cleared": "n1: labels removed: ceph-osd, openstack",
    "a member leaves": (
        "n1: member 17 has left etcd cluster calico-etcd; below the site's minimum: at least 3 members, 2 would remain"
    ),
    "nodes have their software": "2 node(s) have all of their tasks",
    "steps are skipped": "steps: x",
    "an action ends": "state: success",
    "a note": "Parameter: x is unknown",
    "members are known": "2 groups, 3 nodes",
    "a group goes on": "group a: preparing",
    "a group fails": "group a: failed (prepare); too few",
    "a rollout ends": ("failed; groups failed: a (critical); groups success: b; nodes success: n1; nodes failure: n2"),
    "a phase begins": "group a, deploy, batch 3: job job-9, 2 nodes: n1, n2",
    "a phase runs": "group a, prepare: the provisioner is at it",
    "a phase ends": "group a, deploy, batch 2: timeout; limit 5 s",
    "nodes join": "group a, deploy: to be ready in Kubernetes: 1 node: n1",
    "nodes are accepted": "group a, deploy: to pass task disk: 1 node: n1",
    "nodes succeed": "group a, prepare: prepared: 1 node: n1",
    "nodes fail": "group a, deploy: failure (deploy): 2 nodes: n1, n2 (no root device)",
    "nodes time out": "group a, deploy: failure (timeout): 1 node: n1",
    "nodes are refused": "group a, deploy: prepared (refused): 1 node: n1 (no)",
    "nodes are held": "group a, deploy: failure (held): 1 node: n1 (held by ann)",
    "nodes have other hardware": ("group a, prepare: failure (hardware): 1 node: n1 (1 CPU socket seen, 2 expected)"),
    "nodes are late": "group a, deploy: late after 1000 s: 1 node: n1 (usually at most 900 s)",
    "late nodes are done": "group a, deploy: no longer late: 1 node: n1",
    "nodes fail on a site that holds them": "a node is held after 2 failed deployments in a row: 1 node: n1",
    "nodes are kept": "left alone, deployed before the retry of 01M7: 1 node: n1",
    "nodes are left": "left alone: 1 server runs an older specification: n1",
    "nodes are relabelled": "have the labels of the design: 1 node: n1",
    "targets are known": "to work on: 1 node: n1",
    "nodes are given up": "given up: 1 node: n1: destroy_nodes failed",
    "a job begins": "verify_site: job job-0",
    "work on the site is left behind": (
        "verify_site, job job-0, may go on and Shipyard does not wait for it: stopped by ann; on the site"
    ),
    "work on nodes is left behind": (
        "deploy_nodes, job job-5, may go on and Shipyard does not wait for it: limit 5 s; on 1 node: n1"
    ),
    "late work ends": ("job: job-5; operation: deploy_nodes; state: ended; succeeded: n1; failed: n2; message: 1 of 2"),
    "a finding": "Error DD1001 (Drydock): no such network; drydock/Network/v1 oob, /a",
}


def test_every_kind_of_line_says_what_happened() -> None:
    assert {name: text_of(kind, stored) for name, (kind, stored, _) in SAMPLES.items()} == TEXTS


SHORTFALL = {"criterion": "minimum_successful_nodes", "needed": 3, "actual": 1}
OTHERS: dict[str, tuple[str, Any, str]] = {
    "an effect without words": ("intended", {"marker": "m-1", "attempt": 1, "effect": {}}, "attempt 1, marker m-1"),
    "a teardown waits no longer": (
        "teardown_waits",
        {"node": "n1", "operation": "drain", "reasons": []},
        "n1: drain waits for nothing more",
    ),
    "a group of which too few succeeded": (
        "group_changed",
        {"group": "a", "status": "failed", "reason": "prepare", "detail": "", "shortfalls": [SHORTFALL]},
        "group a: failed (prepare); minimum_successful_nodes: 3 needed, 1 there",
    ),
    "a finding of ours": (
        "finding",
        {"name": "X", "level": "Info", "message": "fine", "path": "", "source": "", "documents": []},
        "Info X: fine",
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
    "facts that are no object": ("group_changed", ["a", 1], "a, 1"),
}


@every_row(OTHERS)
def test_a_line_leaves_out_what_is_empty_and_tells_what_nobody_knows(kind: str, facts: Any, expected: str) -> None:
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
