"""What an action would do: what is asked, and what people read of the answer."""

import json

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.printed import unpadded
from tests.unit.cli.samples import FORECAST, ID
from tests.unit.tables import table


def group(name, order, nodes, **fields):
    criteria = dict.fromkeys(("percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes"))
    base = {
        "name": name,
        "order": order,
        "critical": True,
        "depends_on": [],
        "success_criteria": criteria | fields.pop("criteria", {}),
        "accept": [],
        "can_succeed": True,
        "nodes": nodes,
        "sends": nodes,
    }
    return base | fields


PLAN = {
    "name": "deploy_site",
    "version": "committed",
    "retry": None,
    "revision": 5,
    "refused": None,
    "findings": [{"level": "Info", "message": "all is well"}],
    "steps": ["preflight", "drydock_build"],
    "mode": {
        "max_parallel_groups": 2,
        "max_nodes_in_flight": None,
        "deploy_as_prepared": False,
        "on_timeout": "fail_group",
    },
    "totals": {"groups": 2, "critical_groups": 1, "nodes": 12, "kept": 0, "sent": 12},
    "kept": [],
    "groups": [
        group("control", 1, ["c1", "c2"], criteria={"percent_successful_nodes": 90, "maximum_failed_nodes": 1}),
        group(
            "compute",
            2,
            [f"n{number}" for number in range(10)],
            critical=False,
            depends_on=["control"],
            accept=["check-disks", "check-links"],
        ),
    ],
}
TEXT = """\
Plan:            deploy_site
Of:              committed
Revision:        5
Groups:          2, 1 critical
Nodes:           12: 12 sent
At Once:         2 groups, any number of nodes
Refused:         no

1. control (critical): 2 nodes, 90 % succeed, at most 1 fail
`-- c1, c2
2. compute after control: 10 nodes
`-- n[0-9]
    `-- accept: check-disks, check-links

Index        Step
1            preflight
2            drydock_build

- Info: all is well
"""


def test_a_plan_shows_groups_in_order_and_what_they_need(api, run):
    api.replies["POST /plans"] = Reply(200, PLAN)
    result = run("plan", "deploy_site")
    assert (result.exit_code, unpadded(result.stdout)) == (0, TEXT)


REQUESTS = {
    "nothing more": (
        ["deploy_site"],
        {"name": "deploy_site", "parameters": {}, "version": "committed"},
        [("allow-intermediate-commits", "False")],
    ),
    "everything": (
        ["update_site", "--param", "a=b=c", "--version=buffer", "--allow-intermediate-commits", "--strict"],
        {"name": "update_site", "parameters": {"a": "b=c"}, "version": "buffer"},
        [("allow-intermediate-commits", "True"), ("strict", "true")],
    ),
    "retry": (["--retry", ID], {"retry": ID}, []),
    "retry as tables print it": (["--retry", f"action/{ID}", "--force"], {"retry": ID}, [("force", "true")]),
}


@table(("words", "body", "query"), REQUESTS)
def test_what_is_asked(api, run, words, body, query):
    api.replies["POST /plans"] = Reply(200, PLAN)
    assert run("plan", *words).exit_code == 0
    (request,) = api.requests
    assert (json.loads(request.body), request.query) == (body, [*query, ("verbosity", "1")])


def test_what_an_action_would_be_refused_with_is_part_of_its_plan(api, run):
    message = {"level": "Error", "message": "the group is empty", "error": True}
    findings = [message, *PLAN["findings"]]
    refused = {"title": "No", "reason": "because", "code": "400 Bad Request", "messages": [message]}
    api.replies["POST /plans"] = Reply(
        200, PLAN | {"refused": refused, "mode": None, "groups": [], "steps": [], "findings": findings}
    )
    result = run("plan", "deploy_site")
    assert result.exit_code == 1
    text = unpadded(result.stdout).split("\n")
    assert "Refused:         No: because" in text
    assert "At Once:         nothing is deployed" in text
    assert text[-4:] == ["", "- Error: the group is empty", "- Info: all is well", ""]


def test_nodes_that_are_already_deployed_are_shown_as_such(api, run):
    totals = PLAN["totals"] | {"sent": 11}
    api.replies["POST /plans"] = Reply(200, PLAN | {"left_alone": ["c1"], "totals": totals})
    text = unpadded(run("plan", "update_site").stdout)
    assert "Nodes:           12: 11 sent, 1 already deployed" in text
    assert "|-- c1 (already deployed: nothing to do)\n`-- c2\n" in text

    totals = PLAN["totals"] | {"nodes": 2, "sent": 0}
    api.replies["POST /plans"] = Reply(200, PLAN | {"left_alone": ["c1", "c2"], "totals": totals})
    assert "Nodes:           2: 2 already deployed\n" in unpadded(run("plan", "update_site").stdout)


def entry(name, impact, *aspects):
    return {"name": name, "class": impact, "aspects": list(aspects)}


CHANGES = {
    "added": ["c1", "c2"],
    "removed": ["n7"],
    "changed": ["c3", "c4", "c5", "c6"],
    "counts": {"new": 2, "relabel": 1, "reinstall": 2, "leaves": 1, "unknown": 1},
    "nodes": [
        entry("c1", "new"),
        entry("c2", "new"),
        entry("c3", "relabel", "labels", "placement"),
        entry("c4", "reinstall", "image"),
        entry("c5", "reinstall", "image"),
        entry("c6", "unknown"),
        entry("n7", "leaves"),
    ],
    "values": [
        {
            "aspect": "image",
            "path": "platform.image",
            "old": '"jammy"',
            "new": '"noble"',
            "documents": [
                {"schema": "drydock/HostProfile/v1", "name": "base", "path": "/data/platform/image"},
            ],
            "written": [{"name": "global-base", "layer": "global", "path": "/data/platform/image", "line": 12}],
            "nodes": ["c4", "c5"],
        },
        {
            "aspect": "image",
            "path": "platform.kernel",
            "old": '"ga"',
            "new": '"hwe"',
            "documents": [{"schema": "drydock/HostProfile/v1", "name": "base", "path": "/data/platform/kernel"}],
            "nodes": ["c4"],
        },
    ],
    "uncompared": 7,
}


def test_a_check_fails_if_a_server_would_have_to_be_reinstalled(api, run):
    for counts, code in (({"relabel": 3}, 0), ({"new": 1, "reinstall": 1}, 2), ({"replace": 1}, 2)):
        api.replies["POST /plans"] = Reply(200, PLAN | {"changes": {**CHANGES, "counts": counts}})
        assert run("plan", "update_site", "--check").exit_code == code
        assert run("plan", "update_site").exit_code == 0
    refused = {"refused": {"title": "Conflict", "reason": "Another action runs.", "code": 409, "messages": []}}
    api.replies["POST /plans"] = Reply(200, PLAN | refused | {"changes": {**CHANGES, "counts": {"reinstall": 1}}})
    assert run("plan", "update_site", "--check").exit_code == 2
    assert run("plan", "update_site").exit_code == 1


def test_what_the_design_changes_is_listed_with_the_way_out_of_what_left_it(api, run):
    api.replies["POST /plans"] = Reply(200, PLAN | {"changes": CHANGES})
    rows = [" ".join(line.split()) for line in run("plan", "update_site").stdout.splitlines()]
    assert rows[rows.index("Classes: 2 new, 1 relabel, 2 reinstall, 1 leaves, 1 unknown") + 1 :][:5] == [
        "Added: c1, c2",
        "Relabel: c3 (labels, placement)",
        "Reinstall: c4, c5 (image)",
        "Unknown: c6",
        "To Adopt: shipyard node adopt c6",
    ]
    assert 'image platform.image "jammy" "noble" c4, c5 global-base line 12' in rows
    assert 'image platform.kernel "ga" "hwe" c4 base' in rows  # of an earlier release, or not known
    assert "7 more nodes differ; their values are not listed." in rows
    assert rows[rows.index("Not In Design: n7") + 1] == (
        "To Remove: shipyard create action remove_server --param=target_nodes=n7"
    )


def test_a_group_that_cannot_succeed_or_never_begins_is_told(api, run):
    groups = [
        group("a", None, ["n1"], criteria={"minimum_successful_nodes": 2}, can_succeed=False),
        group("b", 1, ["n1", "n2"], sends=["n2"]),
    ]
    again = {"retry": ID, "version": None, "groups": groups, "totals": PLAN["totals"] | {"kept": 1, "sent": 1}}
    api.replies["POST /plans"] = Reply(200, PLAN | again)
    text = unpadded(run("plan", "--retry", ID).stdout).split("\n")
    assert f"Of:              action/{ID}, again" in text
    at = text.index("never: a (critical): 1 node, at least 2 succeed (impossible)")
    assert text[at + 1 : at + 5] == [
        "`-- n1",
        "1. b (critical): 2 nodes",
        "|-- n1 (not sent by this group)",
        "`-- n2",
    ]


def test_the_waves_of_a_policy_are_shown_with_their_begin(api, run):
    waves = [
        {"name": "canary", "nodes": ["n1"], "starts": "2026-11-26 22:00:00.000000+00:00"},
        {"name": "rest", "nodes": ["n2", "n3"], "starts": None},
    ]
    groups = [group("all", 1, ["n1", "n2", "n3"], waves=waves)]
    api.replies["POST /plans"] = Reply(200, PLAN | {"groups": groups})
    text = run("plan", "deploy_site").stdout.split("\n")
    at = text.index("1. all (critical): 3 nodes")
    assert text[at + 1 : at + 4] == [
        "|  wave canary, begins 2026-11-26 22:00:00: 1 node: n1",
        "|  wave rest, nothing begins: 2 nodes: n2, n3",
        "`-- n1, n2, n3",
    ]


def test_nodes_with_the_same_steps_are_one_branch(api, run):
    def step(name, **fields):
        return {"interface": "deploy", "step": name, "priority": 100, "args": {}, "template": None} | fields

    steps = [
        {"nodes": ["n1", "n2"], "steps": [step("write_image")], "disabled": []},
        {
            "nodes": ["n3"],
            "steps": [step("raid", priority=120, args={"level": 1}, template="CUSTOM_RAID"), step("write_image")],
            "disabled": [step("erase", template="CUSTOM_KEEP")],
        },
    ]
    cleaning = [{"nodes": ["n4"], "steps": [step("erase", priority=1, template="firmware")], "disabled": []}]
    groups = [group("all", 1, ["n1", "n2", "n3", "n4"])]
    planned = PLAN | {"groups": groups, "deploy_steps": steps, "clean_steps": cleaning}
    api.replies["POST /plans"] = Reply(200, planned)
    text = unpadded(run("plan", "deploy_site").stdout)
    assert (
        """
1. all (critical): 4 nodes
|-- n1, n2
|   `-- 100 deploy.write_image
|-- n3
|   |-- 120 deploy.raid {"level": 1} (CUSTOM_RAID)
|   |-- 100 deploy.write_image
|   `-- off deploy.erase (CUSTOM_KEEP)
`-- n4
    `-- clean 1 deploy.erase (firmware)
"""
        in text
    )


def test_a_plan_shows_what_each_task_runs(api, run):
    tasks = [
        {"id": "ntp", "type": "shell", "parameters": {"cmd": "apt install ntp", "timeout": 60}},
        {"id": "keys", "type": "copy_files", "parameters": {"digests": {"a": "5e88"}}},
    ]
    api.replies["POST /plans"] = Reply(200, PLAN | {"tasks": tasks})
    lines = [line.split() for line in run("plan", "deploy_site").stdout.splitlines()]
    assert ["ntp", "shell", "cmd", "apt", "install", "ntp"] in lines
    assert ["keys", "copy_files", "digests", '{"a":', '"5e88"}'] in lines


def test_a_forecast_can_be_part_of_a_plan(api, run):
    api.replies["POST /plans"] = Reply(200, PLAN)
    api.replies["POST /forecasts"] = Reply(200, FORECAST)
    result = run("plan", "deploy_site", "--param", "a=b", "--forecast")
    assert (result.exit_code, "8.9 % (7.7 % to 10.2 %)" in result.stdout) == (0, True)
    planned, foreseen = api.requests
    assert planned.body == foreseen.body
    raw = run("--output-format=raw", "plan", "deploy_site", "--forecast")
    assert json.loads(raw.stdout) == PLAN | {"forecast": FORECAST}


STORED = {
    "id": ID,
    "hash": "0" * 64,
    "name": "deploy_site",
    "request": {"name": "deploy_site"},
    "stored_by": "ann",
    "stored_at": "2026-11-26T10:00:00.000000Z",
    "signatures": [{"by": "bob", "at": "2026-11-26T11:00:00.000000Z", "reason": "as discussed"}],
    "action": None,
}
SIGNED = f"""\
Stored:          plan/{ID}
Hash:            {"0" * 64}
By:              ann at 2026-11-26 10:00:00
Approved:        bob at 2026-11-26 11:00:00: as discussed
"""


def test_a_plan_is_stored_and_shown_with_what_it_changes(api, run):
    last = {"id": "1" * 26, "differences": ["revision: was 4, is 5.", "nodes c2: not_started is new."]}
    api.replies["POST /plans"] = Reply(201, STORED | {"last": last, "plan": PLAN})

    result = run("plan", "deploy_site", "--store")

    changes = f"""
Compared with plan/{"1" * 26}, the last one of this action:
- revision: was 4, is 5.
- nodes c2: not_started is new.

"""
    assert (result.exit_code, unpadded(result.stdout)) == (0, SIGNED + changes + TEXT)
    assert ("store", "true") in api.requests[0].query


def test_stored_plans_are_listed_and_one_is_shown(api, run):
    started = STORED | {"id": "1" * 26, "signatures": [], "action": "2" * 26}
    api.replies["GET /plans"] = Reply(200, {"plans": [STORED, started]})
    api.replies[f"GET /plans/{ID}"] = Reply(200, STORED | {"last": {"id": "1" * 26, "differences": []}, "plan": PLAN})

    listed = [" ".join(line.split()) for line in run("get", "plans").stdout.splitlines()]
    shown = run("get", "plans", f"plan/{ID}").stdout

    assert listed == [
        "Plan Action Stored Approved Started",
        f"plan/{ID} deploy_site ann 2026-11-26 10:00:00 bob -",
        f"plan/{'1' * 26} deploy_site ann 2026-11-26 10:00:00 - action/{'2' * 26}",
    ]
    assert run("get", "plans", "-o", "name").stdout == f"plan/{ID}\nplan/{'1' * 26}\n"
    assert "Nothing differs." in shown
    assert run("describe", "plan/latest").stdout == shown
    assert unpadded(shown).endswith(TEXT)
    api.replies["GET /plans"] = Reply(200, {"plans": []})
    assert run("get", "plans").stdout == "There are no stored plans.\n"


@pytest.mark.parametrize(
    "words", [["create", "action", "deploy_site", "--plan", f"plan/{ID}"], ["retry", "1" * 26, "--plan", ID]]
)
def test_an_action_is_started_from_a_stored_plan(api, run, words):
    api.replies["POST /plans"] = Reply(200, PLAN)
    for path in ("/actions", f"/actions/{'1' * 26}/control/retry"):
        api.replies[f"POST {path}"] = Reply(201, {"id": ID, "name": "deploy_site"})

    run(*words)

    assert ("plan", ID) in api.requests[-1].query
    assert run(*words[:-1], "nothing").exit_code == 2
