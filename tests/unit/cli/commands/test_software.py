"""The commands about the software stage: what each asks for, and what it prints."""

import json

import pytest

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID
from tests.unit.tables import table


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


@table(("plan", "text"), NO_PLANS)
def test_what_does_not_run_says_why(api, run, plan, text):
    api.replies["POST /plans"] = Reply(200, plan)
    result = run("software", "plan")
    assert (result.exit_code, result.stdout) == (1 if plan["refused"] else 0, text)


RUNS = {
    "n1 --tasks netconfig,hiera": {"nodes": ["n1"], "tasks": ["netconfig", "hiera"]},
    "n2 --start netconfig --end galera": {"nodes": ["n2"], "start": "netconfig", "end": "galera"},
    "n[2-3]": {"nodes": ["n[2-3]"]},
    "n2 --noop": {"nodes": ["n2"], "noop": True},
}


@pytest.mark.parametrize(("words", "parameters"), RUNS.items(), ids=RUNS)
def test_node_run_starts_these_tasks_on_these_nodes(api, run, words, parameters):
    api.replies["POST /actions"] = Reply(201, samples.action("Pending"))

    result = run("node", "run", *words.split())

    assert (result.exit_code, ID in result.stdout) == (0, True), result.output
    assert json.loads(api.requests[-1].body) == {"name": "update_software", "parameters": parameters}


def test_values_of_a_run_come_from_a_file(api, run, tmp_path):
    api.replies |= {"POST /actions": Reply(201, samples.action("Pending")), "POST /plans": Reply(200, PLAN)}
    file = tmp_path / "values.yaml"
    file.write_text("all: {ntp: 10.0.0.9}\nsecret: [ntp]\n")

    for words in (["node", "run", "n1"], ["software", "plan", "--nodes", "n1"]):
        assert run(*words, "--values", str(file)).exit_code == 0
        sent = json.loads(api.requests[-1].body)["parameters"]
        assert sent == {"nodes": ["n1"], "values": {"all": {"ntp": "10.0.0.9"}, "secret": ["ntp"]}}
    file.write_text("{")
    assert "is not YAML that can be sent" in run("node", "run", "n1", "--values", str(file)).stderr
    assert "cannot be read" in run("node", "run", "n1", "--values", str(tmp_path / "none")).stderr


def test_a_retry_is_planned_and_run_for_a_run_alone(api, run):
    api.replies |= {
        "POST /plans": Reply(200, PLAN),
        f"POST /actions/{ID}/control/retry": Reply(201, samples.action("Pending")),
        f"GET /actions/{ID}": [Reply(200, {"name": name}) for name in ("update_software", "deploy_site")],
    }

    assert run("software", "plan", "--retry", ID).stdout == TREE
    assert json.loads(api.requests[-1].body) == {"retry": ID}
    assert run("node", "run", "--retry", ID).exit_code == 0
    of_a_deployment = run("node", "run", "--retry", ID)
    assert (of_a_deployment.exit_code, "is a deploy_site" in of_a_deployment.stderr) == (2, True)
    assert [one.path for one in api.requests if "retry" in one.path] == [f"/api/v1.0/actions/{ID}/control/retry"]


def total(task, **counts):
    return {"task": task, **dict.fromkeys(("running", "success", "failed", "left"), 0), **counts}


def tasks(*totals, failed=()):
    return Reply(200, {"tasks": [samples.task(*names) for names in failed], "totals": totals, "next": None})


@table(
    ("words", "lifecycle", "code"),
    {
        "the newest action": ([], "Complete", 0),
        "an action": ([f"action/{ID}"], "Failed", 1),
    },
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
    api.replies["GET /nodes/n1/tasks"] = Reply(
        200, {"tasks": [samples.task(name, "n1", action_id=ID) for name in ("x", "ntp")]}
    )
    api.replies[f"GET /actions/{ID}/tasks/ntp/nodes/n1/output"] = [part("one\n", 4, 9), part("two\x1b[0m\n", 9, 9)]

    result = run("software", "logs", "node/n1", "ntp", *words)

    assert (result.exit_code, result.stdout) == (0, "one\ntwo�[0m\n")
    assert [request.query[0] for request in api.requests[-2:]] == [("offset", "0"), ("offset", "4")]


def test_a_terminal_gets_a_table_of_the_tasks(api, run_main):
    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action("Complete"))
    api.replies[f"GET /actions/{ID}/tasks"] = tasks(total("net", success=1, failed=7), failed=[("net", "n2")])

    shown, code = run_main("software", "watch", ID, TERM="xterm")

    assert code == 0
    assert "n2 and 2 more" in shown.decode()


def ended(node, status, tail, exit_status=0, detail=""):
    return {
        "node": node,
        "task": "command",
        "status": status,
        "exit_status": exit_status,
        "tail": tail,
        "detail": detail,
    }


@pytest.fixture
def command(api):
    """A server on which a command ends on n1 and n2 at once, and then on n3, which does not answer."""
    running = {"id": ID, "action_lifecycle": "Processing"}
    first = [ended("n1", "success", "same\n"), ended("n2", "success", "same\n"), {**ended("n3", "running", "")}]
    last = [*first[:2], ended("n3", "failed", "", None, "the node has not answered for 600 s")]
    nodes = [{"name": name, "status": status} for name, status in (("n1", "success"), ("n2", "success"), ("n9", None))]
    api.replies["GET /nodes"] = Reply(200, {"nodes": nodes, "next": None})
    api.replies["POST /actions"] = Reply(201, {"id": ID})
    api.replies[f"GET /actions/{ID}"] = [Reply(200, running), Reply(200, {**running, "action_lifecycle": "Failed"})]
    api.replies[f"GET /actions/{ID}/tasks"] = [
        Reply(200, {"tasks": some, "totals": [], "next": None}) for some in (first, last)
    ]
    return api


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ((), "n1: same\nn2: same\n"),
        (
            ("-b", "--forks", "2"),
            "---------------\nn[1-2] (2)\n---------------\nsame\n",
        ),
    ],
)
def test_a_command_prints_what_each_node_wrote_and_ends_with_the_worst_code(command, run, words, output):
    result = run("node", "run", "n*,n3", *words, "--", "echo", "same")

    assert (result.exit_code, result.stdout) == (255, output)
    assert result.stderr == "n3: the node has not answered for 600 s\n"
    [sent] = [json.loads(one.body) for one in command.requests if one.method == "POST"]
    forks = {"forks": 2} if words else {}
    assert sent == {
        "name": "update_software",
        "parameters": {"nodes": ["n1", "n2", "n3"], "command": "echo same", **forks},
    }


COMMANDS = {
    "one argument is a text for the shell": (["df | tail"], "df | tail"),
    "several are a command": (["sh", "-c", "a 'b' c", ""], """sh -c 'a '"'"'b'"'"' c' ''"""),
}


@table(("words", "sent"), COMMANDS)
def test_the_quotes_of_a_command_survive(command, run, words, sent):
    run("node", "run", "n1", "--", *words)

    assert [json.loads(one.body)["parameters"]["command"] for one in command.requests if one.method == "POST"] == [sent]


@pytest.mark.parametrize("words", [["--"], ["--", ""], ["-b", "--", " "]])
def test_a_command_of_nothing_runs_no_tasks(api, run, words):
    result = run("node", "run", "n1", *words)

    assert (result.exit_code, "There is no COMMAND behind --." in result.output, api.requests) == (2, True, [])


def test_lines_are_printed_while_the_command_runs_and_the_rest_when_it_has_ended(command, run):
    running, tasks = {"id": ID, "action_lifecycle": "Processing"}, f"GET /actions/{ID}/tasks"
    command.replies[f"GET /actions/{ID}"] = [
        *([Reply(200, running)] * 3),
        Reply(200, {**running, "action_lifecycle": "Complete"}),
    ]
    command.replies[tasks] = [
        Reply(200, {"tasks": [ended("n1", status, tail), ended("n2", "running", "")], "totals": [], "next": None})
        for status, tail in (("running", ""), ("running", ""), ("success", "cd\ne"))
    ] + [Reply(200, {"tasks": [ended(name, "success", "cd\ne") for name in ("n1", "n2")], "totals": [], "next": None})]
    parts = [("a\nb", 3), ("", 3), ("cd\ne", 7)]
    command.replies[f"{tasks}/command/nodes/n1/output"] = [
        Reply(200, {"text": text, "next_offset": end, "kept": end}) for text, end in parts
    ]
    command.replies[f"{tasks}/command/nodes/n2/output"] = Reply(404, {"message": "gone"})

    result = run("node", "run", "n1,n2", "--connect-timeout", "5", "--", "x")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "n1: a\nn1: bcd\nn1: e\nn2: cd\nn2: e\n", "")
    asked = [request.path for request in command.requests if request.path.endswith("/output")]
    assert [path.split("/")[-2] for path in asked] == ["n1", "n2", "n1", "n1"]
    [sent] = [json.loads(one.body) for one in command.requests if one.method == "POST"]
    assert sent["parameters"] == {"nodes": ["n1", "n2"], "command": "x", "connect_timeout": 5}


def test_a_long_output_is_read_from_its_node_and_what_is_lost_is_said(command, run):
    long = "x" * 200
    one = ended("n1", "failed", "y" * 4096, 3, "exit status 3")
    page = {"tasks": [one, ended("n2", "success", long)], "totals": [], "next": None}
    command.replies[f"GET /actions/{ID}/tasks"] = Reply(200, page)
    output = f"GET /actions/{ID}/tasks/command/nodes/n1/output"
    parts = [{"text": "a\nb", "next_offset": 3, "kept": 5}, {"text": "c\n", "next_offset": 5, "kept": 5}]
    command.replies[output] = [Reply(200, part) for part in parts]
    command.replies[output.replace("n1", "n2")] = Reply(503, {"message": "silent"})

    result = run("node", "run", "n1,n2", "--", "x")

    assert (result.exit_code, result.stdout) == (3, f"n1: a\nn1: bc\nn2: {long}\n")
    assert "n1: exit status 3\n" in result.stderr
    assert "n2: only the end of its output: " in result.stderr


def test_a_pattern_that_matches_no_deployed_node_starts_nothing(command, run):
    result = run("node", "run", "n9*", "--", "true")

    assert (result.exit_code, "NODES 'n9*' matches no deployed node." in result.output) == (2, True)
    assert [one.method for one in command.requests] == ["GET"]
