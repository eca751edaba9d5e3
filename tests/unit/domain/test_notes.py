"""Lines of the journal as notes: what each says, to whom it matters, and ids that say which line it was."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from ulid import ULID

from shipyard_api.domain import notes as module
from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.codec import KINDS, decode
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.notes import Link, Linked, Note, creation, entry_of, kinds, note_id, notes
from tests.stored_facts import RACK, SAMPLES
from tests.unit.tables import every_row

ACTION = ActionId("01M7XV7VKPMDHXJVA7WMC7P6XP")
STEP = StepId("drydock_build.prepare_and_deploy_nodes")
AT = datetime(2026, 11, 21, 1, 31, 15, 20_999, tzinfo=UTC)
STARTED = {"group": "a", "phase": "deploy", "batch": 1, "job": "job-2", "nodes": ["n1", "n2"]}


def entry(number: int, kind: str, stored: Any, step: StepId | None = STEP) -> JournalEntry:
    return JournalEntry(number, 1, step, AT, "w", decode(kind, stored))


def notes_of(*lines: tuple[str, Mapping[str, Any]], step: StepId | None = STEP) -> list[Note]:
    numbered = [entry(7 + number, kind, facts, step) for number, (kind, facts) in enumerate(lines)]
    return list(notes(ACTION, ActionName("deploy_site"), numbered))


# What is said of the sample of each kind; nothing of the others.
OF_SAMPLES: dict[str, list[tuple[int, str, str, str]]] = {
    "a task on nodes": [
        (2, "n1", "Task", "node:n1:task t: failed: it was stopped (error)"),
        (4, "n2", "Task", "node:n2:task t: running"),
    ],
    "a wave of a group ends": [(2, "a", "Wave Ended", "wave:canary:2 of 2 nodes sent, 1 lost; x (error)")],
    "a wave of the action ends": [(2, STEP, "Wave Ended", "wave:rest:2 of 2 nodes sent, 0 lost")],
    "the policy stops nodes": [
        (1, STEP, "Stopped By Policy", "budget racks of rack r1: 2 nodes are lost. 7 nodes are not deployed")
    ],
    "an operation of a teardown ends": [(2, "n1", "Teardown", "node:n1:remove-etcd failed: no quorum (error)")],
    "a teardown waits": [
        (1, "n1", "Teardown Waits", "node:n1:drain waits: a/b: budget a/x allows no disruption now")
    ],
    "pods are evicted": [(3, "n1", "Pods Evicted", "node:n1:evicted: a/b")],
    "labels are cleared": [(3, "n1", "Labels Cleared", "node:n1:labels removed: ceph-osd, openstack")],
    "a member leaves": [
        (1, "n1", "Etcd Member Removed",
         "node:n1:has left etcd cluster calico-etcd; below the site's minimum: at least 3 members, 2 would remain")
    ],
    "a note": [(1, STEP, "Parameter", "x is unknown")],
    "a rollout ends": [
        (1, "deploy_site", "Node Deployment", "Stage.DEPLOYED: n1; Stage.FAILED: n2"),
        (1, "deploy_site", "Deployment Groups", "Stage.DEPLOYED: b; Stage.FAILED: a(critical)"),
    ],
    "a phase begins": [(5, "job-9", "Linked Task Info", "job")],
    "a phase ends": [(3, STEP, "Task Message", "group:a:limit 5 s (error)")],
    "nodes join": [(2, STEP, "Join Awaited", "group:a:waiting for n1 to be ready in Kubernetes")],
    "nodes are accepted": [(2, STEP, "Acceptance Awaited", "group:a:waiting for n1 to pass acceptance task disk")],
    "nodes fail": [
        (5, "n1", "Linked Task Info", "detail_logs - builddata"),
        (3, STEP, "Task Message", "node:n2:no root device (error)"),
        (5, "n2", "Linked Task Info", "detail_logs - builddata"),
    ],
    "nodes time out": [(5, "n1", "Linked Task Info", "detail_logs - builddata")],
    "nodes are held": [
        (3, STEP, "Task Message", "node:n1:held by ann (error)"),
        (5, "n1", "Linked Task Info", "detail_logs - builddata"),
    ],
    "nodes have other hardware": [
        (3, STEP, "Task Message", "node:n1:1 CPU socket seen, 2 expected (error)"),
    ],
    "nodes are late": [
        (2, STEP, "Node Late", "node:n1:deploy has lasted 1000 s, usually at most 900 s; held because of it")
    ],
    "a job begins": [(5, "job-0", "Linked Task Info", "job")],
    "work on the site is left behind": [
        (1, "job-0", "Work Left Behind",
         "verify_site on the site may go on, Shipyard does not wait for it: stopped by ann")
    ],
    "work on nodes is left behind": [
        (1, "job-5", "Work Left Behind", "deploy_nodes on n1 may go on, Shipyard does not wait for it: limit 5 s")
    ],
    "late work ends": [
        (1, "job-5", "Late Result", "deploy_nodes that was left behind: ended; succeeded n1; failed n2; 1 of 2")
    ],
    "a case opens": [(1, STEP, "Case Opened", RACK.sentence)],
    "a case closes": [(2, STEP, "Case Closed", "Rack r1.")],
    "no case can be looked for": [
        (1, STEP, "Cases Unknown", "what failed or late nodes have in common is not known: no answer")
    ],
    "a finding": [(1, "DD1001", "Finding", "Drydock Error: no such network")],
}  # fmt: skip
PREPARED = {"group": "a", "phase": "prepare", "batch": 1}
SAID: dict[str, tuple[str, Any, list[tuple[int, str, str, str]]]] = {
    **{name: (kind, stored, OF_SAMPLES.get(name, [])) for name, (kind, stored, _) in SAMPLES.items()},
    "every stage of nodes and groups": (
        "rollout_ended",
        {
            "verdict": "failed",
            "groups": {"success": ["a", "b"], "failed": ["c"], "not_started": ["d"]},
            "nodes": {"success": ["n1"], "prepared": ["n5"], "failure": ["n2", "n3"], "not_started": ["n4"]},
            "critical": ["a", "c"],
        },
        [
            (1, "deploy_site", "Node Deployment",
             "Stage.NOT_STARTED: n4; Stage.DEPLOYED: n1; Stage.FAILED: n2, n3"),
            (1, "deploy_site", "Deployment Groups",
             "Stage.NOT_STARTED: d; Stage.DEPLOYED: a(critical), b; Stage.FAILED: c(critical)"),
        ],
    ),
    "empty stages are left out": (
        "rollout_ended",
        {"verdict": "success", "groups": {"success": ["a"], "failed": []}, "nodes": {}, "critical": []},
        [(1, "deploy_site", "Deployment Groups", "Stage.DEPLOYED: a")],
    ),
    "end of an earlier release, without what is critical": (
        "rollout_ended",
        {"verdict": "failed", "groups": {"failed": ["a"]}, "nodes": {"failure": ["n1"]}},
        [
            (1, "deploy_site", "Node Deployment", "Stage.FAILED: n1"),
            (1, "deploy_site", "Deployment Groups", "Stage.FAILED: a"),
        ],
    ),
    "pods that were deleted": (
        "pods_evicted",
        {"node": "n1", "pods": ["a/b"], "forced": True},
        [(1, "n1", "Pods Evicted", "node:n1:deleted past their budget: a/b")],
    ),
    "phase of which a part succeeded": (
        "phase_ended",
        {**PREPARED, "status": "partial_success", "message": "1 of 2"},
        [(3, STEP, "Task Message", "group:a:1 of 2")],
    ),
    "phase without a message": ("phase_ended", {**PREPARED, "status": "success", "message": ""}, []),
    "nodes that could not be prepared have no log": (
        "nodes_changed",
        {**PREPARED, "status": "failure", "nodes": ["n1", "n2"], "details": {"n2": "no power"}},
        [(3, STEP, "Task Message", "node:n2:no power (error)")],
    ),
    "late, and nothing to say": (
        "late",
        {"job": "job-0", "operation": "verify_site", "state": "lost", "succeeded": [], "failed": [], "message": ""},
        [(1, "job-0", "Late Result", "verify_site that was left behind: lost")],
    ),
    "warning": (
        "finding",
        {"name": "UnknownKey", "level": "Warning", "message": "x means nothing", "source": ""},
        [(2, "UnknownKey", "Finding", "Warning: x means nothing")],
    ),
    "information": ("finding", {"name": "DD2003", "level": "Info", "message": "fine", "source": "Drydock"}, []),
    "what only another release knows": ("weather", {"job": "sunny"}, []),
}  # fmt: skip


@every_row(SAID)
def test_what_a_line_says(kind: str, facts: dict[str, Any], expected: list[tuple[int, str, str, str]]) -> None:
    found = notes_of((kind, facts))

    assert [(note.verbosity, note.subject, note.sub_type, note.text) for note in found] == expected
    assert {(note.action, note.step, note.at) for note in found} <= {(ACTION, STEP, AT)}


def test_every_kind_matters_from_the_least_verbosity_of_its_notes() -> None:
    least: dict[str, int] = {}
    for kind, facts, _ in SAID.values():
        for note in notes_of((kind, facts)):
            least[kind] = min(note.verbosity, least.get(kind, 5))

    least["phase_started"] = 2  # it tells the job of those who wait to join
    assert least == {fact.kind: matters for fact, matters in module._LEAST.items()}
    assert {KINDS[kind] for kind in least} == {*module._drafts.registry} - {object}
    assert [set(kinds(verbosity)) for verbosity in range(6)] == [
        {kind for kind, matters in least.items() if matters <= verbosity} for verbosity in range(6)
    ]


@every_row(range(6))
def test_a_verbosity_leaves_out_what_matters_less_and_changes_no_id(verbosity: int) -> None:
    lines = [entry(number, kind, facts) for number, (kind, facts, _) in enumerate(SAID.values(), start=1)]
    everything = list(notes(ACTION, ActionName("deploy_site"), lines))

    shown = list(notes(ACTION, ActionName("deploy_site"), lines, verbosity))
    assert shown == [note for note in everything if note.verbosity <= verbosity]
    read = [line for line in lines if line.kind in kinds(verbosity)]
    assert shown == list(notes(ACTION, ActionName("deploy_site"), read, verbosity))


def test_messages_are_about_the_job_that_had_the_nodes() -> None:
    failed = {"group": "a", "phase": "deploy", "status": "failure", "nodes": ["n2"], "details": {"n2": "why"}}
    ended = {"group": "a", "phase": "deploy", "status": "failure", "message": "bad"}
    other = STARTED | {"batch": 2, "job": "job-3", "nodes": ["n3"]}
    prepared = STARTED | {"phase": "prepare", "job": "job-1"}

    found = notes_of(
        ("phase_started", prepared),
        ("phase_started", STARTED),
        ("phase_started", other),
        ("nodes_changed", failed),
        ("phase_ended", ended | {"batch": 1}),
        ("phase_ended", ended | {"batch": 2}),
        ("phase_ended", ended | {"batch": 3}),
        ("join_awaited", {"group": "a", "batch": 2, "nodes": ["n3"]}),
    )

    subjects = [note.subject for note in found if note.verbosity < 5]
    assert subjects == ["job-2", "job-2", "job-3", STEP, "job-3"]


def test_what_a_note_leads_to() -> None:
    failed = {"group": "a", "phase": "deploy", "status": "failure", "nodes": ["n1", "n2"], "details": {"n1": "why"}}

    assert [note.link for note in notes_of(("phase_started", STARTED), ("nodes_changed", failed))] == [
        Link(Linked.JOB, "job-2"),
        None,
        Link(Linked.NODE, "n1"),
        Link(Linked.NODE, "n2"),
    ]


def test_a_note_is_about_its_step_or_the_action() -> None:
    late = ("late", {"job": "job-2", "operation": "deploy_nodes", "state": "ended"})

    assert [note.assoc_id for note in notes_of(late)] == [f"step/{ACTION}/{STEP}"]
    assert [note.assoc_id for note in notes_of(late, step=None)] == [f"action/{ACTION}"]


def test_the_creation_of_an_action_is_noted_under_its_own_id() -> None:
    note = creation(ACTION, Revision(5), AT)

    assert note == Note(ACTION, ACTION, None, ACTION, "action metadata", "Configdoc revision 5", 1, AT)
    assert note.assoc_id == f"action/{ACTION}"


def test_a_subject_is_no_longer_than_clients_expect() -> None:
    assert notes_of(("phase_started", STARTED | {"job": "j" * 200}))[0].subject == "j" * 128


PLACES = {
    "the first line": (1, 0),
    "a later note": (1, 1),
    "the last line there can be": (2**63 - 1, 65_535),
}


@every_row(PLACES)
def test_an_id_is_a_ulid_of_the_time_that_names_its_line(line: int, number: int) -> None:
    made = note_id(AT, line, number)

    known = ULID.from_str(made)
    assert str(known) == made
    assert known.milliseconds == int(AT.timestamp() * 1000)
    assert int.from_bytes(known.bytes[6:]) == line << 16 | number
    assert entry_of(made) == line


def test_ids_are_in_order_of_time_then_of_lines_then_of_notes() -> None:
    made = [
        note_id(AT + timedelta(milliseconds=later), line, number)
        for later in (0, 1, 2_000_000)
        for line in (1, 2, 70_000)
        for number in (0, 1, 40_000)
    ]

    assert made == sorted(set(made))


def test_an_id_does_not_depend_on_the_lines_around() -> None:
    failed = {"group": "a", "phase": "deploy", "status": "failure", "nodes": ["n1", "n2"], "details": {"n2": "why"}}
    lines = [entry(7, "phase_started", STARTED), entry(8, "nodes_changed", failed)]

    together = [note.id for note in notes(ACTION, ActionName("deploy_site"), lines)]
    alone = [note.id for line in lines for note in notes(ACTION, ActionName("deploy_site"), [line])]

    assert together == alone == [note_id(AT, 7, 0), *(note_id(AT, 8, number) for number in (1, 2, 3))]


def test_a_node_keeps_its_number_whether_or_not_others_have_a_reason() -> None:
    failed = {"group": "a", "phase": "prepare", "status": "failure", "nodes": ["n1", "n2"]}

    assert [note.id for note in notes_of(("nodes_changed", failed | {"details": {"n2": "why"}}))] == [note_id(AT, 7, 2)]


def test_more_notes_than_a_line_has_numbers_for_are_left_out() -> None:
    nodes = [f"n{number}" for number in range(33_000)]
    failed = {"group": "a", "phase": "deploy", "status": "failure", "nodes": nodes, "details": {}}

    found = notes_of(("nodes_changed", failed))

    assert len({note.id for note in found}) == len(found) == 32_768


NO_LINE = {
    "too long": "01M7XV7VKPMDHXJVA7WMC7P6XPP",
    "a letter that is none": "01M7XV7VKPMDHXJVA7WMC7P6XU",
    "not ASCII": "01M7XV7VKPMDHXJVA7WMC7P6Xö",
    "too large for a ULID": "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "line 0": note_id(AT, 0, 3),
    "line 2**63": note_id(AT, 2**63, 0),
}


@every_row(NO_LINE)
def test_what_names_no_line(written: str) -> None:
    assert entry_of(written) is None


ODD: list[Any] = [None, 5, "text", ["text"], {"a": 1}, {"a": ["n1"]}, [5, None], {"n1": {"x": []}}]


@every_row(list(KINDS))
def test_a_line_of_any_shape_breaks_nothing(kind: str) -> None:
    keys = ("group", "phase", "batch", "status", "message", "job", "nodes", "groups", "critical", "details", "level")
    usual = {**STARTED, "status": "failure", "level": "Error"}
    for key, odd in product(keys, ODD):
        for note in notes_of((kind, {**usual, key: odd})):
            assert isinstance(note.text, str)
            assert note.subject
    assert isinstance(notes_of((kind, {})), list)
