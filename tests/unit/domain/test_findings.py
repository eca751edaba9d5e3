"""Validation messages and their weight."""

from shipyard_api.domain.findings import DocumentRef, error, errors, info, warning


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
