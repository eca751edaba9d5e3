"""Status objects as text: what scripts read (contract: shipyard-cli, 5.3 and 6)."""

import json

from shipyard_api.cli.output import status_text
from tests.unit.cli import samples
from tests.unit.tables import every_row


def test_status_of_a_refusal_is_sorted_by_level_and_counted():
    assert status_text.status_text(json.dumps(samples.REFUSED), word="Error") + "\n" == samples.REFUSED_TEXT


LEVELS = {
    "level error": ({"level": "Error"}, "- Error: m", 0),
    "level warning": ({"level": "warning"}, "- Warning: m", 1),
    "level debug": ({"level": "debug"}, "- Debug: m", 2),
    "other level": ({"level": "Nice"}, "- Nice: m", 3),
    "error without level": ({"error": True}, "- Error: m", 0),
    "error forces the word": ({"error": True, "level": "info"}, "- Error: m", 2),
    "source": ({"source": "Drydock"}, "- Info: m\n        Source: Drydock", 2),
}


@every_row(LEVELS)
def test_a_message_has_a_level_and_is_counted_by_it(fields, text, column):
    body = {"message": "M", "reason": "R", "details": {"messageList": [{"message": "m"} | fields]}}
    counts = [0, 0, 0, 0]
    counts[column] = 1
    summary = "####  Errors: {}, Warnings: {}, Infos: {}, Other: {}  ####".format(*counts)
    assert status_text.status_text(json.dumps(body), word="Error") == f"Error: M\nReason: R\n{text}\n\n{summary}"


def test_further_lines_of_a_message_stand_below_its_first():
    plain = {"message": "one\n####  Errors: 0", "level": "error"}
    checked = {"kind": "ValidationMessage", "level": "Info", "name": "N", "message": "one\ntwo", "diagnostic": "a\nb"}
    assert status_text.message_lines([checked, plain]) == [
        "- Error: one\n        ####  Errors: 0",
        "- Info: N",
        "        Message: one\n        two",
        "        Diagnostic: a\n        b",
    ]


STATUS_FIELDS = {
    "absent": ({}, "Error: Not specified\nReason: Not specified"),
    "null": ({"message": None, "reason": "404 Not Found"}, "Error: 404 Not Found\nReason: 404 Not Found"),
    "no list": (
        {"message": "M", "reason": "R", "details": {"errorCount": 0}},
        "Error: M\nReason: R\n\n####  Errors: 0, Warnings: 0, Infos: 0, Other: 0  ####",
    ),
}


@every_row(STATUS_FIELDS)
def test_a_status_may_lack_fields(body, text):
    assert status_text.status_text(json.dumps(body), word="Error") == text


DETAILS = {"null list": {"messageList": None}, "text": "xx", "list": [1], "texts": {"messageList": ["xx"]}}


@every_row(DETAILS)
def test_details_of_another_shape_do_not_hide_what_is_said(details):
    text = status_text.status_text(json.dumps({"message": "m", "reason": "r", "details": details}), word="Error")
    assert text.startswith("Error: m\nReason: r")
