"""What tables print is taken wherever an id is asked for: behind the word of a command, and as an option."""

import pytest

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID
from tests.unit.tables import table

OTHER = "01BTTMFVDKZFRJM80FGD7J1AKV"
RUN = "deploy_site__2026-11-21T01:23:55"
TAKEN = {
    f"describe action action/{ID}": f"GET /actions/{ID}",
    f"describe step preflight -a action/{ID}": f"GET /actions/{ID}/steps/preflight",
    f"describe validation validation/{OTHER}/{ID}": f"GET /actions/{ID}/validations/{OTHER}",
    f"describe notedetails notedetails/{OTHER}": f"GET /notedetails/{OTHER}",
    f"describe workflow workflow/{RUN}": f"GET /workflows/{RUN.replace(':', '%3A')}",
    "describe node node/n1": "GET /nodes/n1",
    f"describe {ID}": f"GET /actions/{ID}",
    f"describe plan/{OTHER}": f"GET /plans/{OTHER}",
    f"describe plan plan/{OTHER}": f"GET /plans/{OTHER}",
    f"logs {ID}": f"GET /actions/{ID}",
    f"set {ID} drain-timeout=7200": f"PATCH /actions/{ID}/limits",
    f"logs step step/{ID}/preflight": f"GET /actions/{ID}/steps/preflight/logs",
    f"pause action action/{ID}": f"POST /actions/{ID}/control/pause",
    f"watch action/{ID}": f"GET /actions/{ID}",
    f"report action/{ID}": f"GET /actions/{ID}/report",
    f"ack action/{ID} --reason=seen": f"POST /actions/{ID}/control/acknowledge",
    f"plan --retry action/{ID}": "POST /plans",
}


@pytest.mark.parametrize(("line", "request_"), TAKEN.items(), ids=TAKEN.keys())
def test_an_item_is_taken_as_the_tables_print_it(api, run, line, request_):
    run(*line.split())
    sent = api.requests[0]
    assert f"{sent.method} {sent.path.removeprefix('/api/v1.0')}" == request_


OLDER = "01M7XV7TAAMDHXJVA7WMC7P6AA"
SHORT = {
    f"describe action {ID[:9]}": f"GET /actions/{ID}",
    f"describe step preflight -a {OLDER[:8]}": f"GET /actions/{OLDER}/steps/preflight",
    f"stop {ID[:9]}": f"POST /actions/{ID}/control/stop",
    "pause action/latest": f"POST /actions/{ID}/control/pause",
    "describe action": f"GET /actions/{ID}",
    "report": f"GET /actions/{ID}/report",
    "describe latest": f"GET /actions/{ID}",
    "logs latest": f"GET /actions/{ID}",
    f"logs {ID[:9]}": f"GET /actions/{ID}",
    "approve latest --show": f"GET /actions/{ID}/approvals",
    "get steps latest": f"GET /actions/{ID}",
    "get action latest": f"GET /actions/{ID}",
    "logs step preflight": f"GET /actions/{ID}/steps/preflight/logs",
    "get action -w": f"GET /actions/{ID}",
}


@pytest.mark.parametrize(("line", "request_"), SHORT.items(), ids=SHORT.keys())
def test_the_newest_action_and_the_beginning_of_an_id_need_no_whole_id(api, run, line, request_):
    api.replies["GET /actions"] = Reply(200, [samples.action(id=OLDER), samples.action()])
    run(*line.split())
    asked, sent = api.requests[:2]
    assert asked.path == "/api/v1.0/actions"
    assert f"{sent.method} {sent.path.removeprefix('/api/v1.0')}" == request_


def on_nodes(number, **values):
    """An action on nodes that is newer than the ones of the site."""
    return samples.action(id=f"01M7XV7W{number:018}", **values)


def test_the_newest_action_is_one_on_the_site_however_many_commands_ran_on_nodes(api, run):
    commands = [on_nodes(number, name="update_software", parameters={"command": "df"}) for number in range(20)]
    drain = on_nodes(30, name="node_operation", parameters={"operation": "drain", "node": "n1"})
    api.replies["GET /actions"] = [Reply(200, commands), Reply(200, [*commands, drain, samples.action()])]
    run("describe", "action", "latest")
    assert api.requests[-1].path == f"/api/v1.0/actions/{ID}"

    api.replies["GET /actions"] = Reply(200, [drain])
    result = run("describe", "action", "latest")
    assert (result.exit_code, result.stdout) == (1, "Error: There is no action on the site yet.\n")


@table(
    ("short", "text"),
    {
        "of two": (ID[:7], f"2 actions have an id that begins with {ID[:7]}: {OLDER}, {ID}."),
        "none": ("01ABC", "Invalid ID. ID can only be 26 characters. No action's id begins with 01ABC."),
    },
)
def test_a_beginning_that_names_no_one_action_is_refused(api, run, short, text):
    api.replies["GET /actions"] = Reply(200, [samples.action(), samples.action(id=OLDER)])
    result = run("stop", short)
    assert (result.exit_code, text in result.stderr, len(api.requests)) == (2, True, 1)
