"""Times in answers and in requests."""

import re
from datetime import UTC, datetime, timedelta

# A year is 365 days and a month 30: callers only say roughly how far to look back.
_DAYS = {"years": 365, "months": 30, "weeks": 7, "days": 1}
_DURATION = re.compile(
    r"P(?=[0-9T])(?:(?P<years>[0-9]{1,6})Y)?(?:(?P<months>[0-9]{1,6})M)?(?:(?P<weeks>[0-9]{1,6})W)?"
    r"(?:(?P<days>[0-9]{1,6})D)?(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,6})H)?(?:(?P<minutes>[0-9]{1,6})M)?"
    r"(?:(?P<seconds>[0-9]{1,6}(?:[.,][0-9]{1,6})?)S)?)?"
)
_PLUS_LOST = re.compile(r"(.*T.*) ([0-9]{2}:?[0-9]{2})")


def with_offset(moment: datetime) -> str:
    """Return a moment in the form of the database, ``2026-11-21 01:23:55.745506+00:00``."""
    return f"{without_zone(moment)}+00:00"


def without_zone(moment: datetime) -> str:
    """Return a moment of UTC in the form of a new action, ``2026-11-21 01:23:55.638118``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def moment(written: str) -> datetime | None:
    """Return the moment that ISO 8601 writes so, None if it writes none: a day is its beginning, no zone means UTC."""
    # An offset whose plus sign was not written as %2B arrives with a blank.
    if lost := _PLUS_LOST.fullmatch(written):
        written = f"{lost[1]}+{lost[2]}"
    try:
        moment = datetime.fromisoformat(written)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def since(written: str) -> datetime | timedelta | None:
    """Return a moment, or how long ago it is (``P7D``, ``PT12H``); None if it is written as neither."""
    duration = _DURATION.fullmatch(written)
    if duration is None:
        return moment(written)
    parts = {unit: float(number.replace(",", ".")) for unit, number in duration.groupdict(default="0").items()}
    days = sum(parts.pop(unit) * length for unit, length in _DAYS.items())
    return timedelta(days=days, **parts)
