"""The commands that steer an action (contract: shipyard-cli, 2.2, 3 and 5.4)."""

import json

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"


@pytest.mark.parametrize(
    "line",
    [
        "pause action",
        "unpause action/",
        "control pause action",
        "control unpause action/",
        "stop foo",
        "stop",
        "control stop",
    ],
)
def test_a_verb_sends_one_request_without_a_body(api, run, line):
    verb = next(word for word in line.split() if word != "control")
    api.replies[f"POST /actions/{ID}/control/{verb}"] = Reply(202, b"")

    result = run(*(f"{line}{ID}" if line.endswith("/") else f"{line} {ID}").split())

    assert (result.exit_code, result.stdout) == (0, f"{verb} successfully submitted for action {ID}\n")
    (request,) = api.requests
    assert (request.body, request.query) == (b"", [("verbosity", "1")])
    assert request.headers["content-type"] == "application/x-yaml"


def test_ids_in_the_short_and_in_the_long_form_are_the_servers_to_judge(api, run):
    """Upstream checks them nowhere but after the bare verb, and scripts may rely on the server's answer."""
    said = {"message": "Action not found", "reason": "Unknown action x", "details": {"messageList": []}}
    api.replies["POST /actions/x/control/stop"] = Reply(404, said)

    for words in (["stop", "action/x"], ["control", "stop", "action", "x"]):
        result = run(*words)
        assert result.exit_code == 1
        assert "Error: Action not found\nReason: Unknown action x" in result.stdout


def planned(api, kept, nodes, refused=None):
    api.replies["POST /plans"] = Reply(200, {"refused": refused, "totals": {"kept": kept, "nodes": nodes}})


AGAIN = {
    "a command": (["command"], {"command": "uname -r"}, "the command `uname -r`"),
    "a task": (["ntp"], {}, "task ntp"),
    "a task of that name": (["command"], {}, "task command"),
    "tasks": (["ntp", "net"], {}, "tasks net, ntp"),
}


@table(("tasks", "parameters", "what"), AGAIN)
def test_retry_of_a_run_says_what_it_runs_and_where(api, run, tasks, parameters, what):
    software = {"batches": [{"runs": [{"nodes": ["n2", "n1"], "tasks": tasks}]}]}
    body = {"refused": None, "totals": {"kept": 0, "nodes": 0}, "software": software}
    api.replies["POST /plans"] = Reply(200, body)
    api.replies[f"GET /actions/{ID}"] = Reply(200, {"id": ID, "parameters": parameters})
    api.replies[f"POST /actions/{ID}/control/retry"] = Reply(201, {"id": "2" * 26, "name": "update_software"})

    assert run("retry", ID).stdout.startswith(f"Runs {what} of action {ID} again on n1, n2.\n")


def test_retry_says_what_it_will_do_before_it_does_it(api, run):
    planned(api, 3, 5)
    api.replies[f"POST /actions/{ID}/control/retry"] = Reply(201, {"id": "2" * 26, "name": "deploy_site"})

    result = run("retry", f"action/{ID}", "--force")

    assert result.exit_code == 0
    first, _, rest = result.stdout.partition("\n")
    assert first == f"Keeps 3 deployed nodes of action {ID} and retries 2."
    assert f"action/{'2' * 26}" in rest
    assert api.requests[-1].query == [("force", "true"), ("verbosity", "1")]
    # Programs read stdout, so in their forms the announcement is on stderr.
    assert run("--output-format=raw", "retry", ID, "--force").stderr == f"{first}\n"
    planned(api, 0, 0)
    assert run("retry", ID).stdout.startswith(f"Runs action {ID} again: it deploys no nodes.\n")


@pytest.mark.parametrize("form", ["cli", "raw"])
def test_a_retry_of_what_did_not_fail_announces_nothing(api, run, form):
    planned(api, 16, 16, {"title": "Unable to retry action"})
    said = {
        "message": "Unable to retry action",
        "reason": "only what failed is retried",
        "details": {"messageList": []},
    }
    api.replies[f"POST /actions/{ID}/control/retry"] = Reply(409, said)

    result = run(f"--output-format={form}", "retry", ID)

    assert (result.exit_code, "Keeps" in result.output) == (1, False)
    assert result.stdout.startswith("Error: Unable to retry action\n")


def test_a_retry_of_an_unknown_action_is_refused_in_the_form_that_was_asked_for(api, run):
    result = run("--output-format=raw", "retry", ID)

    assert (result.exit_code, json.loads(result.stdout)["reason"], result.stderr) == (1, "404 Not Found", "")
    assert api.requests[-1].method == "POST"


@pytest.mark.parametrize("form", ["cli", "raw"])
def test_what_cannot_be_announced_is_not_done(api, run, form):
    said = {"message": "The database is out of reach", "reason": "later", "details": {"messageList": []}}
    api.replies["POST /plans"] = Reply(503, said)
    api.replies[f"POST /actions/{ID}/control/retry"] = Reply(201, {"id": "2" * 26})

    result = run(f"--output-format={form}", "retry", ID)

    assert (result.exit_code, "The database is out of reach" in result.stdout) == (1, True)
    assert {request.path.rpartition("/")[2] for request in api.requests} == {"plans"}
