"""``-o`` after a command, as kubectl's users type it."""

import json

import pytest
import yaml

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID

WORKFLOW = {"workflow_id": "deploy_site__2026-11-21T01:23:55.745506", "state": "success"}
STATUSES = {
    "nodes_provision_status": [{"hostname": "n1", "status": "Ready"}],
    "machines_powerstate": [{"hostname": "n1", "power_state": "on"}, {"hostname": "n2", "power_state": "off"}],
}
NAMES = {
    "get actions": ("GET /actions", [samples.action()], f"action/{ID}"),
    f"describe action {ID}": (f"GET /actions/{ID}", samples.action(), f"action/{ID}"),
    f"report {ID}": (f"GET /actions/{ID}/report", {"action": samples.action(), "nodes": []}, f"action/{ID}"),
    "get workflows": ("GET /workflows", [WORKFLOW], f"workflow/{WORKFLOW['workflow_id']}"),
    "get configdocs": ("GET /configdocs", [{"collection_name": "design"}], "configdocs/design"),
    "get site-statuses": ("GET /site_statuses", STATUSES, "node/n1\nnode/n2"),
}


@pytest.mark.parametrize(("command", "case"), NAMES.items(), ids=NAMES.keys())
def test_names_are_those_that_other_commands_take(api, run, command, case):
    asked, body, names = case
    api.replies[asked] = Reply(200, body)
    assert run(*command.split(), "-o", "name").stdout == f"{names}\n"


def test_json_and_yaml_hold_the_answer(api, run):
    api.replies["GET /actions"] = Reply(200, [samples.action(user="Zoë")])
    asjson, asyaml = (run("get", "actions", "-o", form).stdout for form in ("json", "yaml"))
    assert json.loads(asjson) == yaml.safe_load(asyaml) == [samples.action(user="Zoë")]
    assert "Zoë" in asjson


def test_documents_become_a_list(api, run):
    api.replies["GET /renderedconfigdocs"] = Reply(200, b"a: 2026-11-21\n---\nb: [1]\n", "application/x-yaml")
    assert json.loads(run("get", "renderedconfigdocs", "-o", "json").stdout) == [{"a": "2026-11-21"}, {"b": [1]}]


def test_an_error_keeps_its_form_and_its_exit_code(api, run):
    said = {"message": "Action not found", "reason": "Unknown Action", "details": {"messageList": []}}
    api.replies[f"GET /actions/{ID}"] = Reply(404, said)
    asjson, asname = (run("describe", "action", ID, "-o", form) for form in ("json", "name"))
    assert (asjson.exit_code, json.loads(asjson.stdout)) == (1, said)
    assert asname.stdout.startswith("Error: Action not found\nReason: Unknown Action\n")


def test_what_has_no_names_says_so(api, run):
    api.replies["POST /plans"] = Reply(200, {"name": "deploy_site"})
    result = run("plan", "deploy_site", "-o", "name")
    assert (result.exit_code, "it has no names; use -o json" in result.stdout) == (1, True)


def test_it_goes_before_the_format_of_the_whole_command(api, run):
    api.replies["GET /actions"] = Reply(200, [samples.action()])
    assert run("--output-format=raw", "get", "actions", "-o", "name").stdout == f"action/{ID}\n"


def test_the_release_is_printed_without_a_server(run):
    result = run("--version")
    assert (result.exit_code, result.stdout.split()[0]) == (0, "shipyard")
