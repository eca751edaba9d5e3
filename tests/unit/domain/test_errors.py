"""Errors carry data: for the log all of it, for callers what a dialect makes of it."""

import pytest

from shipyard_api.domain import errors


def test_an_error_shows_its_data_in_the_log() -> None:
    assert str(errors.KeyReused("01A")) == "KeyReused(action='01A')"


@pytest.mark.parametrize(("pause", "seconds"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.2, 2), (60.0, 60)])
def test_a_pause_is_a_whole_number_above_zero(pause: float, seconds: int) -> None:
    assert errors.TooManyRequests(pause).seconds == seconds
