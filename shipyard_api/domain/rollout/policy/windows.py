"""Maintenance windows, and holds with their times (product, section 13). A window closes for beginning only."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from heapq import merge
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from shipyard_api.domain.holds import HoldClass
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.rollout.policy.pace import Blocked
from shipyard_api.domain.stored import ByFields, Number
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.domain.strategy.strategy import parse_selector

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of the week, as Python counts them."""

RULE = "windows"
"""The name of the rule."""

# How far ahead a window is looked for: windows that repeat on days of the week come again within a fortnight, and a
# window on a date that is further away than a year is a mistake in the date.
_AHEAD = timedelta(days=400)


class Unit(Enum):
    """What must end inside a window if it begins there; the values are the words of the deployment configuration."""

    GROUP = "group"
    WAVE = "wave"
    SERVER = "server"


class Window(Struct, frozen=True):
    """A window that begins at a wall-clock time of an IANA time zone, on some days of the week or on single dates.

    ``seconds``: its length in elapsed time, so a night in which the clocks change has no longer or shorter window.
    ``days`` count from Monday, which is 0. ``not_on``: dates on which it does not begin.
    """

    zone: str
    start: time
    seconds: float
    days: frozenset[int] = frozenset(range(7))
    dates: frozenset[date] = frozenset()
    not_on: frozenset[date] = frozenset()

    def begins_on(self, day: date) -> bool:
        """Return whether the window begins on this date of its zone."""
        if day in self.not_on:
            return False
        return day in self.dates if self.dates else day.weekday() in self.days

    def after(self, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Return begin and end of the windows that end after the moment, in order, for a bounded time ahead.

        A start that the clocks skip is as much later as they skip; a start that occurs twice is the first.
        """
        zone, length = ZoneInfo(self.zone), timedelta(seconds=self.seconds)
        day, last = (moment - length).astimezone(zone).date(), (moment + _AHEAD).astimezone(zone).date()
        while day <= last:
            if self.begins_on(day):
                begin = datetime.combine(day, self.start, zone).astimezone(UTC)
                if begin + length > moment:
                    yield begin, begin + length
            day += timedelta(days=1)


class Windows(Struct, frozen=True):
    """The windows of a site; overlapping windows are merged. ``unit``: what must fit.

    ``certainty``: the share of the known durations that must end inside the window.
    """

    windows: tuple[Window, ...]
    unit: Unit = Unit.GROUP
    certainty: float = 0.95

    def opening(self, now: datetime, seconds: float) -> datetime | None:
        """Return when work of this length may begin: ``now``, or the begin of the first window that is long enough.

        None if no window of the next year is.
        """
        length = timedelta(seconds=seconds)
        for begin, end in self.spans(now):
            earliest = max(begin, now)
            if end - earliest >= length:
                return earliest
        return None

    def blocked(self, now: datetime, seconds: float) -> Blocked | None:
        """Return why work of this length may not begin now, None if it may."""
        opening = self.opening(now, seconds)
        if opening is not None and opening <= now:
            return None
        what = f"the {seconds:g} s of a {self.unit.value}"
        if opening is None:
            return Blocked(RULE, f"no window is as long as {what}", never=True)
        begin, end = next(self.spans(now))
        if begin <= now:
            return Blocked(RULE, f"{what} do not end before the window closes at {_zulu(end)}", until=opening)
        return Blocked(RULE, f"closed until {_zulu(opening)}", until=opening)

    def spans(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Return begin and end of the open times that end after now, in order; windows that touch are one."""
        span: tuple[datetime, datetime] | None = None
        for begin, end in merge(*[window.after(now) for window in self.windows]):
            if span is None:
                span = begin, end
            elif begin <= span[1]:
                span = span[0], max(span[1], end)
            else:
                yield span
                span = begin, end
        if span is not None:
            yield span


class ServerWindows(ByFields, Struct, frozen=True):
    """The windows in which a server may begin by itself, as a design writes them; ``seconds``: what must fit."""

    open: Sequence[JsonObject]
    seconds: Number = 0.0

    def blocked(self, now: datetime) -> Blocked | None:
        """Return why a server may not begin now, None if it may."""
        return Windows(tuple(map(parse_window, self.open)), Unit.SERVER).blocked(now, self.seconds)


def _zulu(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def parse_window(entry: Mapping[str, Any]) -> Window:
    """Return a window as a design writes it; it passed the schema and its zone and dates are known."""
    days = frozenset(DAYS.index(day) for day in entry["days"]) if entry.get("days") else frozenset(range(len(DAYS)))
    return Window(
        entry["zone"],
        time.fromisoformat(entry["start"]),
        float(entry["minutes"]) * 60,
        days,
        frozenset(date.fromisoformat(day) for day in entry.get("dates", ())),
        frozenset(date.fromisoformat(day) for day in entry.get("not_on", ())),
    )


class WindowHold(Struct, frozen=True):
    """The holds of a class on the nodes that selectors match, all nodes without any, during each of the windows."""

    name: str
    hold_class: HoldClass
    windows: tuple[Window, ...]
    selectors: tuple[Selector, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of each of the holds."""
        return f"maintenance window {self.name}"

    def nodes(self, machines: Inventory) -> frozenset[NodeName]:
        """Return the nodes that are held."""
        return select(self.selectors, machines) if self.selectors else frozenset(machines.nodes)

    def ends(self, now: datetime, ahead: timedelta) -> Iterator[datetime]:
        """Return the ends of the windows that are open, or that begin within the time ``ahead``."""
        for window in self.windows:
            for begin, end in window.after(now):
                if begin > now + ahead:
                    break
                yield end

    def never_comes(self, now: datetime) -> bool:
        """Return whether no window begins within a year."""
        return Windows(self.windows).opening(now, 0.0) is None


def window_holds(policy: Mapping[str, Any]) -> tuple[WindowHold, ...]:
    """Return the holds of a policy as it is written; it passed the schema and its checks."""
    return tuple(
        WindowHold(
            entry["name"],
            HoldClass(entry["class"]),
            tuple(map(parse_window, entry["windows"])),
            tuple(map(parse_selector, entry.get("selectors", ()))),
        )
        for entry in policy.get("holds", ())
    )
