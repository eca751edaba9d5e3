"""An error has its data by name, and its sentence with it."""

import pytest

from shipyard_api.domain import errors
from shipyard_api.domain.error_kinds import Text
from shipyard_api.domain.findings import error
from tests.unit.tables import every_row


def test_an_error_is_its_title_and_its_sentence_in_a_log() -> None:
    assert str(errors.HoldNotFound("01A")) == "Hold not found: There is no hold 01A"


def test_data_has_its_names_however_it_was_given() -> None:
    by_place, by_name = errors.Overtaken("A", "B", "x", 1, []), errors.Overtaken("A", "B", "x", revision=1, nodes=[])

    assert by_place.data == by_name.data
    assert (by_place.data["newer"], by_place.data["removed"]) == ("B", False)


def test_an_error_without_its_data_is_a_fault_where_it_is_raised() -> None:
    with pytest.raises(TypeError):
        errors.HoldNotFound()  # type: ignore[call-arg]  # what mypy refuses, too


def test_a_dialect_replaces_a_sentence_and_no_more() -> None:
    found = [error("A", "no.")]
    failed = errors.UnknownNodes(found)

    assert failed.text({errors.UnknownNodes: lambda findings: f"{len(findings)} wrong"}) == Text(
        "1 wrong", title="Unknown nodes", findings=found
    )


@every_row([(0.0, 1), (0.2, 1), (1.0, 1), (1.2, 2), (60.0, 60)])
def test_a_pause_is_a_whole_number_above_zero(pause: float, seconds: int) -> None:
    assert errors.TooManyRequests(pause).seconds == seconds
