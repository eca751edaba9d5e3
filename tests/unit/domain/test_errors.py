"""What a caller can be told about."""

import pytest

from shipyard_api.domain import errors
from shipyard_api.domain.findings import error


@pytest.mark.parametrize(
    "family", [errors.Invalid, errors.TooLarge, errors.NotFound, errors.Conflict, errors.Precondition]
)
def test_an_error_carries_both_texts_of_the_status_object(family: type[errors.ShipyardError]) -> None:
    fault = family("Unable to commit", "the buffer is empty")

    assert (fault.title, fault.reason) == ("Unable to commit", "the buffer is empty")
    assert str(fault) == "Unable to commit: the buffer is empty"


def test_invalid_input_keeps_every_finding_in_order() -> None:
    findings = [error("A", "first"), error("B", "second")]

    assert errors.Invalid("t", "r", findings).findings == tuple(findings)


def test_missing_credentials_and_missing_permission_are_different_errors() -> None:
    assert errors.Unauthenticated().title != errors.Forbidden().title


@pytest.mark.parametrize("again", [True, False])
def test_a_conflict_says_whether_trying_again_can_help(again: bool) -> None:
    assert errors.Conflict("t", "r", again=again).again is again
