"""Showing one thing, workflows and logs: what is sent, what is printed, in each spelling (contract: 2.2, 2.3)."""

import pytest

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.printed import lines
from tests.unit.cli.samples import ID, RUN
from tests.unit.tables import table


def test_a_failed_action_says_why_in_words(api, run):
    note = samples.NOTE | {"note_val": "Stage.NOT_STARTED: n2; Stage.FAILED: n1"}
    report = samples.report(
        way_back=[{"command": f"shipyard retry {ID}", "when": "when the cause is repaired"}],
        failed_steps=[{"id": "drydock_build.verify_site", "detail": "MAAS does not answer"}],
        nodes=[samples.node("n1", "failure", reason="deploy", detail="no root device")],
    )
    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action("Failed", notes=[note]))
    api.replies[f"GET /actions/{ID}/report"] = Reply(200, report)
    found = lines(run("describe", "action", ID).stdout)
    assert "drydock_build.verify_site    MAAS does not answer" in found
    assert "node/n1        g        deploy: no root device" in found
    assert any(line.endswith("not started: n2; failed: n1") for line in found)
    assert f"shipyard retry {ID}    when the cause is repaired" in found

    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action("Complete"))
    tolerated = {way: Reply(200, {"way_back": way_back}) for way, way_back in (("no", []), ("yes", report["way_back"]))}
    for failures, shown in (("no", False), ("yes", True)):
        api.replies[f"GET /actions/{ID}/overview"] = tolerated[failures]
        assert ("no root device" in run("describe", "action", ID).stdout) is shown


def test_the_log_of_an_action_is_that_of_its_steps_in_order_of_time(api, run):
    step = {"notes": [], "state": "success"}
    steps = [{**step, "id": one} for one in ("drydock_build", "drydock_build.verify_site", "tag")]
    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action(steps=[*steps, {**step, "id": "x", "state": None}]))
    api.replies[f"GET /actions/{ID}/steps/drydock_build.verify_site/logs"] = Reply(200, b"2026-11-21T02 b\n")
    api.replies[f"GET /actions/{ID}/steps/tag/logs"] = Reply(200, b"2026-11-21T01 a\n2026-11-21T03 c\n")
    for words in (["logs", f"action/{ID}"], ["logs", "action", ID], ["get", "events", ID]):
        api.requests.clear()
        assert run(*words).stdout == "2026-11-21T01 a\n2026-11-21T02 b\n2026-11-21T03 c\n"
        assert len(api.requests) == 3


V, NOTE = "01BTTMFVDKZFRJM80FGD7J1AKV", "01BTTMFVDKZFRJM80FGD7J1AKN"


@pytest.mark.parametrize(
    "at", ["2026-11-21T01:23:55", "2026-11-21T01:23:55.745506Z", "2026-11-21T01:23:55.745506+00:00"]
)
def test_ids_as_later_servers_list_them_are_taken(api, run, at):
    run("describe", f"workflow/deploy_site__{at}")
    assert len(api.requests) == 1


LOGS = {
    "long": (["step", "preflight", "-a", ID], []),
    "one attempt": (["step", "preflight", "--action", ID, "--try", "2"], [("try", "2")]),
    "item of an attempt": ([f"step/{ID}/preflight/2"], [("try", "2")]),
}


@table(("words", "query"), LOGS)
def test_logs_are_text(api, run, words, query):
    api.replies[f"GET /actions/{ID}/steps/preflight/logs"] = Reply(200, b"a: [\nb\x1b[1m")
    result = run("logs", *words)
    assert (result.exit_code, result.stdout) == (0, "a: [\nb\x1b[1m\n")
    assert api.requests[0].query == [*query, ("verbosity", "1")]


FEWEST = {
    "get actions": (["get", "actions"], "GET /actions", [{"id": ID}]),
    "describe action": (["describe", "action", ID], f"GET /actions/{ID}", {"id": ID, "notes": []}),
    "describe step": (["describe", "step", "s", "-a", ID], f"GET /actions/{ID}/steps/s", {"notes": []}),
    "describe validation": (["describe", "validation", V, "-a", ID], f"GET /actions/{ID}/validations/{V}", {}),
    "get workflows": (["get", "workflows"], "GET /workflows", [{}]),
    "describe workflow": (["describe", "workflow", RUN], f"GET /workflows/{RUN.replace(':', '%3A')}", {}),
    "create action": (["create", "action", "deploy_site"], "POST /actions", {"id": ID}),
    "get configdocs": (["get", "configdocs"], "GET /configdocs", [{}]),
    "get site-statuses": (["get", "site-statuses"], "GET /site_statuses", {}),
}


@table(("words", "request_line", "body"), FEWEST)
def test_what_another_server_does_not_say_is_none(api, run, words, request_line, body):
    api.replies[request_line] = Reply(201 if request_line.startswith("POST") else 200, body)
    result = run(*words)
    assert result.exit_code == 0
    assert "None" in result.stdout or words == ["get", "site-statuses"]
