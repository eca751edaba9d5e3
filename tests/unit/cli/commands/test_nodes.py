"""Commands about nodes: what they send, and what people and scripts read from the answers."""

import json

import pytest

from shipyard_api.cli.output import node_tables
from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.printed import unpadded
from tests.unit.cli.samples import ID
from tests.unit.tables import every_row, table

STATUSES = {
    "nodes_provision_status": [{"hostname": "n0", "status": "Deployed"}, {"hostname": "compute11", "status": "Ready"}],
    "machines_powerstate": [{"hostname": "n0", "power_state": "on"}],
}
STATUSES_TEXT = """\
Nodes Provision Status:
Hostname         Status
n0               Deployed
compute11        Ready

Machines Power State:
Hostname        Power State
n0              on
"""
OLDER = "01M7XV7VKPMDHXJVA7WMC7P6AA"


QUERIES = {
    "both": ([], []),
    "two": (
        ["-s", "nodes-provision-status", "--status-type", "machines-power-state"],
        [("filters", "nodes-provision-status,machines-power-state")],
    ),
}


@table(("options", "query"), QUERIES)
def test_site_statuses_asks_for_what_it_is_told(api, run, options, query):
    api.replies["GET /site_statuses"] = Reply(200, STATUSES)
    result = run("get", "site-statuses", *options)
    assert result.exit_code == 0
    (request,) = api.requests
    assert request.query == [*query, ("verbosity", "1")]


SHOWN = {
    "no machine": ({"nodes_provision_status": []}, "Nodes Provision Status:\nHostname        Status\nNone"),
    "a field that is missing": (
        {"nodes_provision_status": [{"hostname": "n0"}]},
        "Nodes Provision Status:\nHostname        Status\nn0              None",
    ),
}


@every_row(SHOWN)
def test_site_statuses_of_every_sort(body, text):
    assert unpadded(node_tables.site_statuses(json.dumps(body))) == text


FAILED = {
    "name": "compute11",
    "status": "failure",
    "reason": "prepare",
    "detail": "power did\nnot come on",
    "group": "compute-nodes-1",
    "groups": ["compute-nodes-1"],
    "updated_at": "2026-11-21T01:31:14.500000Z",
    "action_id": ID,
}
FRESH = FAILED | {"name": "n1", "status": "not_started", "reason": None, "detail": "", "group": None}


def test_get_nodes_sends_its_filters(api, run):
    api.replies["GET /nodes"] = Reply(200, {"nodes": [], "next": None})
    result = run("get", "nodes", "--status", "Failed", "--status=prepared", "--name", "n1")
    assert result.stdout.split("\n")[1].rstrip() == "None"
    assert api.requests[0].query == [
        ("status", "failure"),
        ("status", "prepared"),
        ("name", "n1"),
        ("limit", "1000"),
        ("verbosity", "1"),
    ]


@pytest.mark.parametrize("form", ["raw", "cli"])
def test_get_nodes_follows_the_pages(api, run, form):
    api.replies["GET /nodes"] = [
        Reply(200, {"nodes": [FAILED], "next": "compute11"}),
        Reply(200, {"nodes": [FRESH], "next": "n1"}),
        Reply(200, {"nodes": [], "next": None}),
    ]
    result = run(f"--output-format={form}", "get", "nodes", "--name", "c")
    assert result.exit_code == 0
    assert [dict(request.query).get("marker") for request in api.requests] == [None, "compute11", "n1"]
    assert {dict(request.query)["name"] for request in api.requests} == {"c"}
    if form == "cli":
        assert [line.split()[0] for line in result.stdout.splitlines()] == ["Node", "node/compute11", "node/n1"]
    else:
        assert json.loads(result.stdout) == {"nodes": [FAILED, FRESH], "next": None}


def test_a_page_that_fails_is_an_error_and_no_half_of_a_list(api, run):
    api.replies["GET /nodes"] = [
        Reply(200, {"nodes": [FAILED], "next": "compute11"}),
        Reply(503, {"message": "No database connection", "reason": "Ask again."}),
    ]
    result = run("get", "nodes")
    assert (result.exit_code, result.stdout) == (1, "Error: No database connection\nReason: Ask again.\n")


PHASE = {
    "phase": "prepare",
    "batch": 1,
    "group": "compute-nodes-1",
    "status": "partial_success",
    "message": "",
    "running_at": None,
    "look_at": None,
    "job": "8b1f",
    "submitted_at": "2026-11-21T01:25:01.000000Z",
    "ended_at": "2026-11-21T01:31:15.000000Z",
}
CHANGE = {"phase": None, "group": None, "reason": None, "detail": "", "late": False}
PAST = {"created_at": "2026-11-21T01:23:55.000000Z", "late": None} | {
    name: value for name, value in FAILED.items() if name != "name"
}
NODE = FAILED | {
    "history": [
        PAST
        | {
            "action": "deploy_site",
            "dag_status": "failed",
            "changes": [
                CHANGE | {"at": "2026-11-21T01:24:58.000000Z", "status": "not_started"},
                CHANGE
                | {"at": "2026-11-21T01:31:14.000000Z", "status": "failure", "phase": "prepare", "group": "g"}
                | {"reason": "prepare", "detail": "off"},
                CHANGE | {"at": "2026-11-21T01:40:00.000000Z", "status": "prepared", "phase": "prepare", "late": True},
            ],
            "phases": [PHASE],
        },
        PAST | {"action_id": OLDER, "action": "deploy_site", "dag_status": "success", "changes": [], "phases": []},
    ],
    "next": OLDER,
}


def test_a_late_node_is_shown_with_its_usual_duration(api, run):
    late = {"late": {"since": "2026-11-21T01:31:14.500000Z", "usual_seconds": 1425.5}}
    api.replies["GET /nodes"] = Reply(200, {"nodes": [FRESH | late], "next": None})
    api.replies["GET /nodes/n1"] = Reply(200, FRESH | late | {"history": [], "next": None})

    assert "node/n1    not started, late" in run("get", "nodes").stdout
    described = [line.rstrip() for line in run("describe", "node", "n1").stdout.splitlines()]
    assert "Late:           since 2026-11-21 01:31:14, usually at most 23:45" in described


def test_describe_node_tells_its_past_newest_first(api, run):
    api.replies["GET /nodes/compute11"] = Reply(200, NODE)
    text = unpadded(run("describe", "node/compute11").stdout)
    assert (
        text
        == f"""\
Name:           compute11
Status:         failed
Group:          compute-nodes-1
Action:         action/{ID}
Updated:        2026-11-21 01:31:14
Why:            prepare: power did not come on

deploy_site action/{ID}, failed
Time                   Event                                          Phase      Group              Job     Why
2026-11-21 01:24:58    not started
2026-11-21 01:25:01    sent, phase partial success, ended 01:31:15    prepare    compute-nodes-1    8b1f
2026-11-21 01:31:14    failed                                         prepare    g                          prepare: off
2026-11-21 01:40:00    prepared (late)                                prepare

deploy_site action/{OLDER}, success
Time    Event    Phase    Group    Job    Why
None

Older actions: shipyard describe node compute11 --before {OLDER}
"""
    )


def test_report_of_an_action_that_has_not_begun(api, run):
    api.replies[f"GET /actions/{ID}/report"] = Reply(200, samples.report(verdict=None, seconds=None))
    text = unpadded(run("report", ID).stdout)
    assert "Verdict:          not yet\nTook:             not begun\nGroups:           0\nNodes:            0\n" in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("None")] == ["None", "None"]
    assert "Finding" not in text


NTP, AGENT = ({"task": name, "running": 0, "success": 2, "failed": 0, "left": 0} for name in ("ntp", "agent"))
FAILED_TASK = samples.task("agent", "n1", detail="exit status 1")
REMOVED = [samples.node(name, "not_started", None, reason="teardown") for name in ("n1", "n2")]
WITHOUT_GROUPS = {
    "of tasks": (
        {"tasks": [NTP, AGENT | {"failed": 1}], "failed_tasks": [FAILED_TASK]},
        [*("Tasks: 2", "ntp 2 0 0 0"), "node/n1 task agent: exit status 1 shipyard software logs n1 agent"],
        ["Nodes:", "Groups:", "Group", "None"],
    ),
    "of skipped tasks and tolerated nodes": (
        {
            "tasks": [NTP],
            "skipped_tasks": [{"task": "ceph", "reason": "its condition is false"}],
            "tolerated": [{"node": "n1", "reason": "ntp: exit status 1"}],
        },
        ["ceph its condition is false", "n1 ntp: exit status 1"],
        [],
    ),
    "of more failed tasks than are named": (
        {"tasks": [AGENT | {"failed": 3}], "failed_tasks": [FAILED_TASK]},
        ["and 2 more"],
        [],
    ),
    "of a node that failed before its task": (
        {
            "nodes": [samples.node("n1", "failure", "g")],
            "tasks": [AGENT | {"failed": 1}],
            "failed_tasks": [FAILED_TASK],
        },
        ["Nodes: 1: 1 failed"],
        ["node/n1 task"],
    ),
    "of nodes that the policy stopped": (
        {"nodes": [samples.node("n1", "not_started", "g", reason="policy", detail="max lost 1: 1 is lost")]},
        ["node/n1 g not started policy: max lost 1: 1 is lost"],
        ["Failed Node", "None"],
    ),
    "of a removal": ({"nodes": REMOVED}, ["Nodes: 2: 2 taken down"], ["Groups:", "Task"]),
}


@table(("shown", "says", "omits"), WITHOUT_GROUPS)
def test_report_of_an_action_without_groups(api, run, shown, says, omits):
    api.replies[f"GET /actions/{ID}/report"] = Reply(200, samples.report(**shown))
    printed = [" ".join(line.split()) for line in run("report", ID).stdout.splitlines()]
    assert [words for words in says if words not in printed] == []
    assert [line for line in printed if line.startswith(tuple(omits))] == []


CHANGED = [
    samples.node("n1", "failure", "b", groups=["b", "c"], updated_at="2026-11-21T01:00:02Z", action_id=ID),
    samples.node("n2", "success", "a", groups=["a"], updated_at="2026-11-21T01:00:03Z", action_id=ID),
    samples.node("n3", "failure", "a", groups=["a"], updated_at="2026-11-21T01:00:01Z", action_id=ID),
]
ORDERS = {
    "the first": ("--limit 2", ["n1", "n2"]),
    "the last": ("--last 2", ["n1", "n2"]),
    "by time": ("--sort updated", ["n3", "n1", "n2"]),
    "by group": ("--sort group --limit 2", ["n2", "n3"]),
}


@table(("options", "names"), ORDERS)
def test_nodes_are_listed_as_asked_for(api, run, options, names):
    api.replies["GET /nodes"] = Reply(200, {"nodes": CHANGED, "next": None})
    result = run("get", "nodes", *options.split(), "-o", "name")
    assert result.stdout.split() == [f"node/{name}" for name in names]


def test_nodes_by_name_are_a_list_of_these(api, run):
    for node in CHANGED[:2]:
        api.replies[f"GET /nodes/{node['name']}"] = Reply(200, {**node, "history": [], "next": None})
    result = run("get", "nodes", "n2", "node/n1", "-o", "json")
    assert json.loads(result.stdout) == {"nodes": [CHANGED[1], CHANGED[0]], "next": None}
    unknown = run("get", "nodes", "n1", "n9")
    assert (unknown.exit_code, "404 Not Found" in unknown.stdout) == (1, True)


def test_a_node_set_is_a_filter(api, run):
    api.replies["GET /nodes"] = Reply(200, {"nodes": [], "next": None})
    assert run("get", "nodes", "node/r[1,3]n[1-20]", "n7", "--status=failure").exit_code == 0
    assert api.requests[0].query[:3] == [("status", "failure"), ("node", "r[1,3]n[1-20]"), ("node", "n7")]


def test_a_wide_list_of_nodes_has_their_groups(api, run):
    api.replies["GET /nodes"] = Reply(200, {"nodes": CHANGED, "next": None})
    assert "b, c" in run("get", "nodes", "-o", "wide").stdout
    assert "b, c" not in run("get", "nodes").stdout
