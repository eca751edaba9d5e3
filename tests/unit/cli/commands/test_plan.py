"""What an action would do: what is asked, and what people read of the answer."""

import json

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID


def group(name, order, nodes, **fields):
    criteria = dict.fromkeys(("percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes"))
    base = {
        "name": name,
        "order": order,
        "critical": True,
        "depends_on": [],
        "success_criteria": criteria | fields.pop("criteria", {}),
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
        group("compute", 2, [f"n{number}" for number in range(10)], critical=False, depends_on=["control"]),
    ],
}
TEXT = """\
Plan:            deploy_site
Of:              committed
Revision:        5
Groups:          2, 1 critical
Nodes:           12: 12 sent, 0 kept
At Once:         2 groups, any number of nodes
Refused:         no

Order    Group      Critical    Depends On    Needs                           Nodes    Names
1        control    yes                       90 % succeed, at most 1 fail    2        c1, c2
2        compute    no          control                                       10       n[0-9]

Index        Step
1            preflight
2            drydock_build

- Info: all is well
"""


def lines(text):
    return "\n".join(line.rstrip() for line in text.split("\n"))


def test_a_plan_shows_groups_in_order_and_what_they_need(api, run):
    api.replies["POST /plans"] = Reply(200, PLAN)
    result = run("plan", "deploy_site")
    assert (result.exit_code, lines(result.stdout)) == (0, TEXT)


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


@pytest.mark.parametrize(("words", "body", "query"), REQUESTS.values(), ids=REQUESTS.keys())
def test_what_is_asked(api, run, words, body, query):
    api.replies["POST /plans"] = Reply(200, PLAN)
    assert run("plan", *words).exit_code == 0
    (request,) = api.requests
    assert (json.loads(request.body), request.query) == (body, [*query, ("verbosity", "1")])


def test_what_an_action_would_be_refused_with_is_part_of_its_plan(api, run):
    message = {"level": "Error", "message": "the group is empty", "error": True}
    refused = {"title": "No", "reason": "because", "code": "400 Bad Request", "messages": [message]}
    api.replies["POST /plans"] = Reply(200, PLAN | {"refused": refused, "mode": None, "groups": [], "steps": []})
    result = run("plan", "deploy_site")
    assert result.exit_code == 0
    text = lines(result.stdout).split("\n")
    assert "Refused:         No: because" in text
    assert "At Once:         nothing is deployed" in text
    assert text[-3:] == ["- Error: the group is empty", "- Info: all is well", ""]


def test_a_group_that_cannot_succeed_or_never_begins_is_told(api, run):
    groups = [
        group("a", None, ["n1"], criteria={"minimum_successful_nodes": 2}, can_succeed=False),
        group("b", 1, ["n1", "n2"], sends=["n2"]),
    ]
    again = {"retry": ID, "version": None, "groups": groups, "totals": PLAN["totals"] | {"kept": 1, "sent": 1}}
    api.replies["POST /plans"] = Reply(200, PLAN | again)
    text = lines(run("plan", "--retry", ID).stdout).split("\n")
    assert f"Of:              action/{ID}, again" in text
    assert "never    a        yes                       at least 2 succeed (impossible)    1         n1" in text
    assert "1        b        yes                                                          1 of 2    n1, n2" in text


WRONG = {
    "nothing": ([], "Give either the NAME of an action, or --retry with the id of one."),
    "both": (["deploy_site", "--retry", ID], "Give either the NAME of an action, or --retry with the id of one."),
    "unknown action": (["deploy"], "Invalid action command.  The action commands available are  deploy_site, "),
    "bad id": (["--retry", "x"], "Invalid ID. ID can only be 26 characters."),
    "retry with a parameter": (["--retry", ID, "--param=a=b"], "With --retry only --force may be used"),
    "force without retry": (["deploy_site", "--force"], "With --retry only --force may be used"),
    "version": (["deploy_site", "--version=next"], "Invalid value for '--version': "),
}


@pytest.mark.parametrize(("words", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_command_line_asks_nothing(api, run, words, text):
    result = run("plan", *words)
    assert (result.exit_code, api.requests) == (2, [])
    assert f"Error: {text}" in result.stderr


def test_a_server_without_plans_is_an_error(run):
    result = run("plan", "deploy_site")
    assert (result.exit_code, result.stdout.split("\n")[:2]) == (1, ["Error: 404 Not Found", "Reason: 404 Not Found"])
