"""An answer in each output form (contract: shipyard-cli, 4 and 5)."""

import json
from dataclasses import replace

from shipyard_api.cli.output import action_tables, answers
from shipyard_api.cli.output.answers import Answer
from tests.unit.tables import every_row


def said(status: int, text: str, method: str = "GET", content_type: str = "application/json") -> Answer:
    return Answer(method, status, content_type, text, "/actions", "http://site")


ERROR = json.dumps({"message": "M", "reason": "R"})
FROM = "- Error: {} from http://site (GET /actions)"
NOT_AUTHENTICATED = "Error: Command requires authentication. Check credential values"
REFUSED = "- Error: http://site refuses the token that was sent: it is unknown, expired or revoked"
ANSWERS = {
    "cli": (said(200, "{}"), "cli", "<{}>", True),
    "raw": (said(200, ' {"a":1}'), "raw", ' {"a":1}', True),
    "format JSON": (said(200, '{"b":1,"a":[2]}'), "format", '{\n    "a": [\n        2\n    ],\n    "b": 1\n}', True),
    "format YAML": (
        said(200, "a: {b: [1, 2]}\n---\nc: d", content_type="application/x-yaml"),
        "format",
        "a:\n    b:\n    - 1\n    - 2\n---\nc: d\n",
        True,
    ),
    "no content type": (said(200, "a: 1", content_type=""), "format", "a: 1\n", True),
    "error in cli": (said(404, ERROR), "cli", "Error: M\nReason: R", False),
    "error in raw": (said(404, ERROR), "raw", ERROR, False),
    "error in format": (said(500, ERROR), "format", '{\n    "message": "M",\n    "reason": "R"\n}', False),
    "400 to POST in raw": (said(400, ERROR, "POST"), "raw", "Error: M\nReason: R", False),
    "409 to POST in format": (said(409, ERROR, "POST"), "format", "Error: M\nReason: R", False),
    "another 2xx": (said(202, "{}"), "cli", "Error: Not specified\nReason: Not specified", False),
    "401": (said(401, "secret"), "raw", f"{NOT_AUTHENTICATED}\n{REFUSED}", False),
    "401 without a token": (
        replace(said(401, "secret"), has_token=False),
        "cli",
        f"{NOT_AUTHENTICATED}\n- Error: No token was sent: set SHIPYARD_TOKEN or give --token",
        False,
    ),
    "403": (said(403, "secret"), "format", "Error: Unauthorized to perform this action.", False),
    "not JSON": (
        said(500, "<html>"),
        "cli",
        f"Error: Unable to decode response. Value: <html>\n{FROM.format(500)}",
        False,
    ),
    "not JSON in format": (said(200, "<"), "format", "Error: Unable to decode response. Value: <", False),
    "not YAML in format": (
        said(200, "a: [", content_type="application/x-yaml"),
        "format",
        "Error: Unable to decode response. Value: a: [",
        False,
    ),
    "a list for a Status": (
        said(500, "[]"),
        "cli",
        f"Error: Unable to decode response. Value: []\n{FROM.format(500)}",
        False,
    ),
    "success without body in format": (said(200, ""), "format", "", True),
    "error without body in format": (
        said(502, ""),
        "format",
        f"Error: Not specified\nReason: status 502\n{FROM.format(502)}",
        False,
    ),
    "error without body": (
        said(502, ""),
        "cli",
        f"Error: Not specified\nReason: status 502\n{FROM.format(502)}",
        False,
    ),
}


@every_row(ANSWERS)
def test_an_answer_becomes_the_text_of_the_contract(answer, form, text, good):
    kind = answers.YAML if "yaml" in answer.content_type else answers.JSON
    assert answers.rendered(answer, form, expected=200, cli=lambda body: f"<{body}>", kind=kind) == (text, good)


def test_an_answer_of_another_shape_is_an_error_not_a_traceback():
    text, good = answers.rendered(said(200, '{"id": 1}'), "cli", expected=200, cli=action_tables.actions)
    assert text.startswith("Error: Unable to invoke action due to: ")
    assert not good
