"""Maintenance windows: when work may begin so that it ends inside one."""

from datetime import UTC, date, datetime, time, timedelta

from shipyard_api.domain.rollout.policy.windows import Window, Windows
from tests.unit.tables import every_row

HOUR = 3600.0
NIGHT = Window("Europe/Berlin", time(22), 6 * HOUR, frozenset({0, 1, 2, 3}))  # Monday to Thursday, 22:00 to 04:00


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@every_row(
    {
        "open, and it fits": ("2026-11-23T21:30", 3, "2026-11-23T21:30"),
        "open, but too late to begin": ("2026-11-24T00:30", 3, "2026-11-24T21:00"),
        "closed, and it fits exactly": ("2026-11-23T12:00", 6, "2026-11-23T21:00"),
        "over the weekend": ("2026-11-27T03:01", 1, "2026-11-30T21:00"),
        "longer than any": ("2026-11-23T12:00", 6.5, None),
    },
)
def test_work_begins_where_it_ends_inside_the_window(now: str, hours: float, opening: str | None) -> None:
    assert Windows((NIGHT,)).opening(at(now), hours * HOUR) == (at(opening) if opening else None)


def test_windows_that_touch_are_one() -> None:
    early, late = Window("UTC", time(20), 2 * HOUR), Window("UTC", time(22), 2 * HOUR)

    assert Windows((late, early)).opening(at("2026-11-23T19:00"), 4 * HOUR) == at("2026-11-23T20:00")


@every_row(
    {
        "the clocks skip the start": ("Europe/Berlin", date(2026, 3, 29), time(2, 30), "2026-03-29T01:30"),
        "the start occurs twice": ("Europe/Berlin", date(2026, 10, 25), time(2, 30), "2026-10-25T00:30"),
        "a longer night": ("America/New_York", date(2026, 11, 1), time(0), "2026-11-01T04:00"),
    },
)
def test_a_window_lasts_as_long_on_the_night_the_clocks_change(zone: str, day: date, start: time, begin: str) -> None:
    window = Window(zone, start, 4 * HOUR, dates=frozenset({day}))

    found = next(window.after(at("2026-01-01T00:00")))

    assert found == (at(begin), at(begin) + timedelta(hours=4))


def test_a_window_does_not_begin_on_dates_that_are_taken_out() -> None:
    window = Window("UTC", time(22), HOUR, not_on=frozenset({date(2026, 12, 24), date(2026, 12, 25)}))

    assert Windows((window,)).opening(at("2026-12-24T12:00"), 60) == at("2026-12-26T22:00")


def test_a_window_on_a_date_that_has_passed_never_comes() -> None:
    past = Window("UTC", time(22), HOUR, dates=frozenset({date(2020, 1, 1)}))

    assert Windows((past,)).opening(at("2026-11-23T12:00"), 0) is None
