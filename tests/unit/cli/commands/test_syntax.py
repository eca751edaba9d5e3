"""What tables print is taken wherever an id is asked for: behind the word of a command, and as an option."""

import pytest

from tests.unit.cli.samples import ID

OTHER = "01BTTMFVDKZFRJM80FGD7J1AKV"
RUN = "deploy_site__2026-11-21T01:23:55"
TAKEN = {
    f"describe action action/{ID}": f"GET /actions/{ID}",
    f"describe step step/{ID}/preflight": f"GET /actions/{ID}/steps/preflight",
    f"describe step preflight -a action/{ID}": f"GET /actions/{ID}/steps/preflight",
    f"describe validation validation/{OTHER}/{ID}": f"GET /actions/{ID}/validations/{OTHER}",
    f"describe validation {OTHER} -a action/{ID}": f"GET /actions/{ID}/validations/{OTHER}",
    f"describe notedetails notedetails/{OTHER}": f"GET /notedetails/{OTHER}",
    f"describe workflow workflow/{RUN}": f"GET /workflows/{RUN.replace(':', '%3A')}",
    "describe node node/n1": "GET /nodes/n1",
    f"logs step step/{ID}/preflight": f"GET /actions/{ID}/steps/preflight/logs",
    f"logs step preflight -a action/{ID}": f"GET /actions/{ID}/steps/preflight/logs",
    f"pause action action/{ID}": f"POST /actions/{ID}/control/pause",
    f"unpause action action/{ID}": f"POST /actions/{ID}/control/unpause",
    f"control stop action action/{ID}": f"POST /actions/{ID}/control/stop",
    f"watch action/{ID}": f"GET /actions/{ID}",
    f"report action/{ID}": f"GET /actions/{ID}/report",
    f"plan --retry action/{ID}": "POST /plans",
}


@pytest.mark.parametrize(("line", "request_"), TAKEN.items(), ids=TAKEN.keys())
def test_an_item_is_taken_as_the_tables_print_it(api, run, line, request_):
    run(*line.split())
    sent = api.requests[0]
    assert f"{sent.method} {sent.path.removeprefix('/api/v1.0')}" == request_


REFUSED = {
    "describe action action/short": "Invalid ID. ID can only be 26 characters.",
    f"describe action action/{ID}/x": "Invalid ID. ID can only be 26 characters.",
    f"describe action step/{ID}": "Invalid ID. ID can only be 26 characters.",
    "stop action action/short": "Invalid ID. ID can only be 26 characters.",
    "describe step preflight -a action/": "Invalid ID. ID can only be 26 characters.",
}


@pytest.mark.parametrize(("line", "text"), REFUSED.items(), ids=REFUSED.keys())
def test_what_is_no_such_item_is_refused_as_ever(api, run, line, text):
    result = run(*line.split())
    assert (result.exit_code, f"Error: {text}" in result.stderr, api.requests) == (2, True, [])
