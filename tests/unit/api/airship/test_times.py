"""Moments and durations as callers write them."""

from datetime import UTC, datetime, timedelta

from shipyard_api.api.airship.times import moment, since
from tests.unit.tables import every_row

DAY = datetime(2026, 11, 21, tzinfo=UTC)
MOMENTS = {
    "2026-11-21": DAY,
    "2026-11-21 01:23:55": DAY.replace(hour=1, minute=23, second=55),
    "2026-11-21T01:23:55.745506Z": DAY.replace(hour=1, minute=23, second=55, microsecond=745506),
    "2026-11-21T02:00:00+02:00": DAY,
    "2026-11-21T02:00:00 02:00": DAY,  # a plus sign that was not written as %2B
    "2026-11-20T22:00:00-02:00": DAY,
    "": None,
    "yesterday": None,
    "2026-13-01": None,
    "2026-11-21T25:00": None,
    "0001-01-01T00:00:00+14:00": None,  # before the first moment that there is
    "9999-12-31T23:00:00-14:00": None,
    "٢٠٢٦-11-21": None,
    "1700000000": None,
}


@every_row(MOMENTS.items())
def test_a_moment_is_one_of_iso_8601_in_utc(written: str, meant: datetime | None) -> None:
    found = moment(written)

    assert found == meant
    assert found is None or found.tzinfo is UTC


DURATIONS = {
    "P7D": timedelta(days=7),
    "PT12H": timedelta(hours=12),
    "PT1,5S": timedelta(seconds=1.5),
    "P1Y2M3W4DT5H6M7S": timedelta(days=365 + 60 + 21 + 4, hours=5, minutes=6, seconds=7),
    "P0D": timedelta(0),
    "P": None,
    "PT": None,
    "P1DT": None,
    "7D": None,
    "P-7D": None,
    "P1H": None,
    "P1D ": None,
    "p1d": None,
    "P9999999D": None,
    "P٧D": None,
}


@every_row(DURATIONS.items())
def test_how_long_ago_is_a_duration_of_iso_8601(written: str, meant: timedelta | None) -> None:
    assert since(written) == meant


def test_the_longest_duration_is_still_one() -> None:
    assert since("P999999Y999999M999999W999999D") == timedelta(days=999_999 * (365 + 30 + 7 + 1))


def test_a_moment_says_since_when_too() -> None:
    assert since("2026-11-21") == DAY
