"""Starting actions: what is sent (contract: shipyard-cli, 2.2)."""

import json

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.printed import lines
from tests.unit.cli.samples import ID
from tests.unit.tables import table

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


def test_a_created_action_is_followed_if_that_is_asked_for(api, run):
    api.replies["POST /actions"] = Reply(201, CREATED)
    api.replies[f"GET /actions/{ID}"] = Reply(200, samples.action("Failed"))
    api.replies |= {f"GET /actions/{ID}/{part}": Reply(200, {part: [], "next": None}) for part in ("groups", "nodes")}
    result = run("create", "action", "deploy_site", "-w")
    assert (result.exit_code, result.stdout.splitlines()[-1].split()[-3:]) == (1, ["action", "is", "Failed"])


def test_warnings_about_a_new_action_stand_below_its_table(api, run):
    warning = {"message": "deploy_site knows no parameter targets; target_nodes?", "level": "Warning"}
    api.replies["POST /actions"] = Reply(201, samples.action(warnings=[warning]))
    result = run("create", "action", "deploy_site", "--param", "targets=n1")
    assert result.exit_code == 0
    *table, empty, warning = lines(result.stdout.removesuffix("\n"))
    assert (len(table), empty) == (2, "")
    assert warning == "- Warning: deploy_site knows no parameter targets; target_nodes?"


IDS = [f"01M7XV7VKPMDHXJVA7WMC7P6X{letter}" for letter in "ABC"]
LISTED = [
    samples.action("Failed", id=IDS[0], user="cy"),
    samples.action("Complete", id=IDS[1], name="update_site", user="bo", parameters={"a": 1}),
    samples.action(id=IDS[2], user="ann"),
]
LISTS = {
    "by user": ("--sort user", [], [IDS[2], IDS[1], IDS[0]]),
    "filters": (
        "--name deploy_site --state Failed --state pending --user cy --since P7D",
        [("name", "deploy_site"), ("state", "failed"), ("state", "queued"), ("user", "cy"), ("since", "P7D")],
        IDS,
    ),
}


@table(("options", "query", "order"), LISTS)
def test_actions_are_listed_as_asked_for(api, run, options, query, order):
    api.replies["GET /actions"] = Reply(200, LISTED)
    result = run("get", "actions", *options.split())
    assert [line.split()[1].removeprefix("action/") for line in lines(result.stdout)[1:4]] == order
    assert api.requests[0].query == [*query, ("verbosity", "1")]


def test_the_last_actions_come_newest_first_and_are_shown_newest_last(api, run):
    api.replies["GET /actions"] = Reply(200, LISTED[::-1])
    result = run("get", "actions", "--last", "3")
    places = [result.stdout.index(one) for one in IDS]
    assert places == sorted(places)
    assert api.requests[0].query == [("limit", "3"), ("order", "desc"), ("verbosity", "1")]


def test_a_wide_list_has_more_columns(api, run):
    api.replies["GET /actions"] = Reply(200, LISTED)
    header, *rows = lines(run("get", "actions", "-o", "wide").stdout)
    assert header.split()[-4:] == ["User", "Parameters", "Context", "Marker"]
    assert rows[1].split()[-3:] == ["bo", "a=1", samples.MARKER]
