"""Validation messages and their weight."""

from collections.abc import Iterable
from typing import Any

from shipyard_api.domain.findings import (
    DocumentRef,
    Finding,
    Level,
    error,
    errors,
    in_short,
    info,
    messages_in_short,
    of_status,
    warning,
)
from tests.unit.tables import every_row


def test_only_errors_block() -> None:
    found = [warning("W", "odd"), error("E1", "wrong"), info("I", "fine"), error("E2", "worse")]

    assert [finding.name for finding in errors(found)] == ["E1", "E2"]


def test_a_finding_can_be_about_several_documents() -> None:
    first, second = DocumentRef("a/B/v1", "one"), DocumentRef("a/B/v1", "two")
    plain = error("E", "wrong", path="/x", diagnostic="why")

    tied = plain.about(first).about(second)

    assert tied.documents == (first, second)
    assert (tied.name, tied.message, tied.path, tied.diagnostic) == ("E", "wrong", "/x", "why")
    assert plain.documents == ()


@every_row(
    [
        ("", (), ""),
        ("a", (), "a"),
        ("ab", (2,), "a, b"),
        ("abc", (2,), "a, b and 1 more"),
        ("abcd", (2, "; ", "; and {} more"), "a; b; and 2 more"),
        ("abcdefghijkl", (), "a, b, c, d, e, f, g, h, i, j and 2 more"),
        (iter((1, 2, 3)), (1, ", ", ", …"), "1, …"),
    ]
)
def test_a_sentence_names_the_first_and_how_many_more(texts: Iterable[object], options: Any, text: str) -> None:
    assert in_short(texts, *options) == text


@every_row([((), ""), (("x",), "x"), (("x", "y", "x"), "x (and 2 more)")])
def test_the_first_message_says_how_many_follow(messages: tuple[str, ...], text: str) -> None:
    assert messages_in_short([error("E", message) for message in messages]) == text


def status(word: str, *messages: object, **more: object) -> dict[str, object]:
    return {"kind": "Status", "status": word, "message": None, "details": {"messageList": list(messages)}} | more


def message(level: str = "Info", **changes: object) -> dict[str, object]:
    error = level.lower() == "error"
    return {"kind": "ValidationMessage", "name": "DD3001", "level": level, "error": error, "message": "text"} | changes


def test_a_finding_keeps_rule_level_text_diagnostic_and_documents() -> None:
    documents = [{"schema": "drydock/BaremetalNode/v1", "name": "ctl01"}, "noise"]
    told = message("Error", diagnostic="Select a valid image from: jammy", documents=documents)
    assert of_status(status("Failure", told), "Drydock") == (
        Finding(
            "DD3001",
            Level.ERROR,
            "text",
            documents=(DocumentRef("drydock/BaremetalNode/v1", "ctl01"),),
            diagnostic="Select a valid image from: jammy",
            source="Drydock",
        ),
    )


STATUSES = {
    "valid and silent": (status("Success"), []),
    "the status in capitals": (status("SUCCESS", message()), [("DD3001", Level.INFO, "text")]),
    "a schema error in lower case without a text": (
        status("failure", message("Error", name="DD001", message=None, diagnostic="why")),
        [("DD001", Level.ERROR, "why")],
    ),
    "a failure that no message explains": (
        status("Failure", message("warning"), message="Site design failed validation.", reason="See messages."),
        [("DD3001", Level.WARNING, "text"), ("Drydock", Level.ERROR, "Site design failed validation. See messages.")],
    ),
    "a silent failure": (status("failure"), [("Drydock", Level.ERROR, "The design failed validation.")]),
    "error true": (status("Success", message("Warning", error=True)), [("DD3001", Level.ERROR, "text")]),
    "a message without rule or level": (
        status("Success", {"message": "simple", "error": False}),
        [("Drydock", Level.INFO, "simple")],
    ),
    "an unknown level": (status("Success", message("Fatal")), [("DD3001", Level.WARNING, "text")]),
    "messages that are none": (status("Success", None, 7), []),
    "a bare text of a success": (status("Success", "noise"), [("Drydock", Level.INFO, "noise")]),
    "a bare text of a failure": (status("Failure", "noise"), [("Drydock", Level.ERROR, "noise")]),
    "an error by its level": (
        status("Failure", message("Error", error=False)),
        [("DD3001", Level.ERROR, "text")],
    ),
    "levels in other words": (
        status("Success", message("warn"), message("debug"), message("")),
        [("DD3001", Level.WARNING, "text"), ("DD3001", Level.INFO, "text"), ("DD3001", Level.INFO, "text")],
    ),
    "no list of messages": (status("Success", details={"messageList": None}), []),
    "a number of messages": (status("Success", details={"messageList": 2}), []),
    "a text for the messages": (
        status("Failure", details={"messageList": "noise"}, reason="why"),
        [("Drydock", Level.ERROR, "why")],
    ),
    "no object": (["a list"], [("Drydock", Level.ERROR, '["a list"]')]),
    "no details": (
        {"status": "Success", "details": None},
        [("Drydock", Level.ERROR, '{"status": "Success", "details": null}')],
    ),
}


@every_row(STATUSES)
def test_every_form_of_status_gives_findings(answer: object, found: list[tuple[str, Level, str]]) -> None:
    findings = of_status(answer, "Drydock")
    assert [(one.name, one.level, one.message) for one in findings] == found
    assert all(one.source == "Drydock" for one in findings)
