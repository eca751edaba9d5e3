"""Validation messages and their weight."""

from collections.abc import Iterable
from typing import Any

from shipyard_api.domain.findings import DocumentRef, error, errors, in_short, info, messages_in_short, warning
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
