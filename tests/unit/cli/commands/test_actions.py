"""Starting actions: what is sent (contract: shipyard-cli, 2.2)."""

import json

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID

CREATED = {"id": ID, "name": "deploy_site", "dag_execution_date": "2026-11-21T01:23:55.745506Z"}


def test_create_action_sends_parameters_as_strings(api, run):
    api.replies["POST /actions"] = Reply(201, CREATED)
    options = ["--param", "a=b=c", "--param", "n=1", "--param", "n=2", "--param", "e="]
    result = run("create", "action", "deploy_site", "--allow-intermediate-commits", *options)
    assert result.exit_code == 0
    assert f"action/{ID}" in result.stdout
    (request,) = api.requests
    assert request.query == [("allow-intermediate-commits", "True"), ("verbosity", "1")]
    assert json.loads(request.body) == {"name": "deploy_site", "parameters": {"a": "b=c", "n": "2", "e": ""}}
    assert "application/json" in request.headers["content-type"]


def test_strict_is_sent_only_if_it_is_asked_for(api, run):
    api.replies["POST /actions"] = Reply(201, CREATED)
    run("create", "action", "deploy_site")
    run("create", "action", "deploy_site", "--strict")
    plain, strict = (request.query for request in api.requests)
    assert plain == [("allow-intermediate-commits", "False"), ("verbosity", "1")]
    assert strict == [("allow-intermediate-commits", "False"), ("strict", "true"), ("verbosity", "1")]


def lines(page: object) -> list[str]:
    """The text without the blanks that pad a table's last column."""
    return [line.rstrip() for line in str(page).split("\n")]


def test_warnings_about_a_new_action_stand_below_its_table(api, run):
    warning = {"message": "deploy_site knows no parameter targets; target_nodes?", "level": "Warning"}
    api.replies["POST /actions"] = Reply(201, samples.action(warnings=[warning]))
    result = run("create", "action", "deploy_site", "--param", "targets=n1")
    assert result.exit_code == 0
    *table, empty, warning = lines(result.stdout.removesuffix("\n"))
    assert (len(table), empty) == (2, "")
    assert warning == "- Warning: deploy_site knows no parameter targets; target_nodes?"
