"""The commands about the software stage: what each asks for, and what it prints."""

import json

import pytest

from shipyard_api.cli.output import task_tables
from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID


def batch(priority, *runs):
    return {
        "priority": priority,
        "wave": 0,
        "runs": [{"group": group, "nodes": nodes, "tasks": tasks} for group, nodes, tasks in runs],
    }


PLAN = {
    "refused": None,
    "software": {
        "batches": [
            batch(100, ("control", ["n1"], ["net", "ntp"])),
            batch(200, ("web", [f"w{number}" for number in range(10)], ["net"]), ("db", ["d1"], ["net"])),
        ],
        "skipped": [{"task": "swift", "reason": "its condition is false"}],
        "findings": [{"level": "Warning", "message": "No node has mysql."}],
    },
}
TREE = """\
100
`-- control: n1
    |-- net
    `-- ntp
200
|-- web: w[0-9]
|   `-- net
`-- db: d1
    `-- net

Skipped tasks:
  swift: its condition is false

- Warning: No node has mysql.
"""


def test_a_plan_is_a_tree_of_what_the_limits_leave(api, run):
    api.replies["POST /plans"] = Reply(200, PLAN)

    result = run("software", "plan", "--nodes", "n1,node/n2", "--skip=ntp", "--start=net")

    assert (result.exit_code, result.stdout) == (0, TREE)
    parameters = {"nodes": ["n1", "n2"], "skip": ["ntp"], "start": "net"}
    assert json.loads(api.requests[-1].body) == {"name": "update_software", "parameters": parameters}


NO_PLANS = {
    "no task graph": (
        {"refused": None, "software": None},
        "The site has no task graph, so no software is installed.\n",
    ),
    "refused": (
        {"refused": {"title": "No", "reason": "because", "messages": []}, "software": None},
        "Refused: No: because\n\nThe site has no task graph, so no software is installed.\n",
    ),
    "nothing runs": (
        {
            "refused": None,
            "software": {"batches": [], "skipped": [], "findings": [{"level": "Error", "message": "no [ssh]"}]},
        },
        "No task runs.\n\n- Error: no [ssh]\n",
    ),
}


@pytest.mark.parametrize(("plan", "text"), NO_PLANS.values(), ids=NO_PLANS)
def test_what_does_not_run_says_why(api, run, plan, text):
    api.replies["POST /plans"] = Reply(200, plan)
    assert run("software", "plan").stdout == text


RUNS = {
    "n1 --tasks netconfig,hiera": {"nodes": ["n1"], "tasks": ["netconfig", "hiera"]},
    "node/n2,n3 --skip netconfig": {"nodes": ["n2", "n3"], "skip": ["netconfig"]},
    "n2 --end pre_deployment": {"nodes": ["n2"], "end": "pre_deployment"},
    "n2 --start netconfig --end galera": {"nodes": ["n2"], "start": "netconfig", "end": "galera"},
    "n[2-3]": {"nodes": ["n[2-3]"]},
}


@pytest.mark.parametrize(("words", "parameters"), RUNS.items(), ids=RUNS)
def test_node_run_starts_these_tasks_on_these_nodes(api, run, words, parameters):
    api.replies["POST /actions"] = Reply(201, samples.action("Pending"))

    result = run("node", "run", *words.split())

    assert (result.exit_code, ID in result.stdout) == (0, True), result.output
    assert json.loads(api.requests[-1].body) == {"name": "update_software", "parameters": parameters}


NOTHING_NAMED = {
    "no node": (["node", "run", ""], "NODES '' names no node."),
    "commas": (["node", "run", " ,, "], "NODES ' ,, ' names no node."),
    "no task": (["node", "run", "n1", "--tasks", ""], "--tasks '' names no task."),
    "no start": (["software", "plan", "--start="], "--start '' names no task."),
    "no node to plan": (["software", "plan", "--nodes="], "NODES '' names no node."),
    "tasks and others": (["node", "run", "n1", "--tasks=a", "--skip=b"], "Give --tasks or --skip"),
}


@pytest.mark.parametrize(("words", "said"), NOTHING_NAMED.values(), ids=NOTHING_NAMED)
def test_an_empty_limit_is_no_run_of_everything(api, run, words, said):
    result = run(*words)

    assert (result.exit_code, said in result.stderr) == (2, True), result.output
    assert not api.requests


def total(task, **counts):
    return {"task": task, **dict.fromkeys(("running", "success", "failed", "left"), 0), **counts}


def tasks(*totals, failed=()):
    return Reply(
        200, {"tasks": [{"task": task, "node": node} for task, node in failed], "totals": totals, "next": None}
    )


@pytest.mark.parametrize(
    ("words", "lifecycle", "code"),
    [
        pytest.param([], "Complete", 0, id="the newest action"),
        pytest.param([f"action/{ID}"], "Failed", 1, id="an action"),
    ],
)
def test_watch_prints_each_change_until_the_action_ends(api, run, words, lifecycle, code):
    api.replies["GET /actions"] = Reply(200, [samples.action("Processing")])
    api.replies[f"GET /actions/{ID}"] = [Reply(200, samples.action("Processing"))] * 2 + [
        Reply(200, samples.action(lifecycle))
    ]
    api.replies[f"GET /actions/{ID}/tasks"] = [
        tasks(total("net", running=2)),
        tasks(total("net", running=2)),
        tasks(total("net", success=1, failed=1), failed=[("net", "n2")]),
    ]

    result = run("software", "watch", *words, "--interval", "0.1")

    assert (result.exit_code, result.stdout.splitlines()) == (
        code,
        ["task net: 2 running", "task net: 1 ok, 1 failed (n2)", f"action is {lifecycle}"],
    )
    assert [request.path for request in api.requests].count("/api/v1.0/actions") == (0 if words else 1)


def part(text, after, kept):
    return Reply(200, {"text": text, "next_offset": after, "kept": kept})


@pytest.mark.parametrize("words", [[], ["--action", ID]], ids=["the newest action", "an action"])
def test_logs_prints_the_output_in_parts(api, run, words):
    api.replies["GET /nodes/n1/tasks"] = Reply(200, {"tasks": [{"task": "x"}, {"task": "ntp", "action_id": ID}]})
    api.replies[f"GET /actions/{ID}/tasks/ntp/nodes/n1/output"] = [part("one\n", 4, 9), part("two\x1b[0m\n", 9, 9)]

    result = run("software", "logs", "node/n1", "ntp", *words)

    assert (result.exit_code, result.stdout) == (0, "one\ntwo�[0m\n")
    assert [request.query[0] for request in api.requests[-2:]] == [("offset", "0"), ("offset", "4")]


def test_logs_of_a_task_that_did_not_run_says_so(api, run):
    api.replies["GET /nodes/n1/tasks"] = Reply(200, {"tasks": [], "next": None})

    result = run("software", "logs", "n1", "ntp")

    assert (result.exit_code, "ran the task ntp. Name one with --action." in result.stdout) == (1, True)


def test_a_terminal_gets_a_table_of_the_tasks(api, run_main):
    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action("Complete"))
    api.replies[f"GET /actions/{ID}/tasks"] = tasks(total("net", success=1, failed=7), failed=[("net", "n2")])

    shown, code = run_main("software", "watch", ID, TERM="xterm")

    assert code == 0
    assert "n2 and 2 more" in shown.decode()


def test_the_plan_of_an_action_has_its_software_stage():
    stage = [str(part) for part in task_tables.stage(PLAN)]

    assert [line.split() for line in stage[0].splitlines()][:2] == [
        ["Priority", "Group", "Tasks", "Nodes"],
        ["100", "control", "net,", "ntp", "n1"],
    ]
    assert stage[1:] == ["Skipped tasks:\n  swift: its condition is false", "- Warning: No node has mysql."]
