"""The site's clock: the database's, steady when that is set (product, section 10, Clocks).

All hosts of a site agree on the time this way, however their own clocks are set. Pauses and limits are durations: a
step of the database's clock must neither shorten nor lengthen them. Each host leaves an anchor, the site's time at a
reading of a monotonic clock. If the database's clock has moved against it, the difference is subtracted from
then on, until no action runs any more.
"""

import logging
import socket
import threading
import time
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage import tables as t
from shipyard_api.storage.connections import outages
from shipyard_api.storage.wakeups import queue

LOG = logging.getLogger(__name__)

# Seconds after which the database's clock is read again.
_FRESH = 60.0
# A smaller difference is drift, and is followed.
_STEP = timedelta(seconds=2)
# A host whose anchor is this near agrees with the database's clock.
_AGREES = timedelta(seconds=15)
_NONE = timedelta(0)
_LOCK = 0x5317_DB02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MOVING = tuple(state.value for state in RunState if state not in ENDED)


class Anchor(Struct, frozen=True):
    """The site's time when the host's own seconds were these."""

    at: datetime
    seconds: float


def step_of(
    site: datetime, seconds: float, anchor: Anchor | None, others: Iterable[datetime], *, inaccuracy: float = 0.0
) -> timedelta:
    """Return by how much the database's clock was set since the anchor of this host; zero if it was not.

    ``site``: the site's time if it was not set. ``others``: when the anchors of other hosts were left. One that is
    fresh proves that this host was suspended instead; for a step ahead it must be younger than the step, since every
    anchor from before a step seems at least that old. ``inaccuracy``: seconds that the reading took.
    """
    if anchor is None:
        return _NONE
    step = site - anchor.at - timedelta(seconds=seconds - anchor.seconds)
    if abs(step) <= _STEP + timedelta(seconds=inaccuracy):
        return _NONE
    fresh = _AGREES if step < _NONE else min(_AGREES, step - _STEP)
    return _NONE if any(-_STEP <= site - at < fresh for at in others) else step


class DatabaseClock:
    """Fills ``ports.clock.Clock``."""

    def __init__(self, engine: sa.Engine, wakeup: Wakeup) -> None:
        self._engine = engine
        self._wakeup = wakeup
        self._host = _host()
        self._anchor: Anchor | None = None
        self._reading = threading.Lock()

    def now(self) -> datetime:
        """Return the site's time, in UTC; raises StoreUnavailable when it cannot be read."""
        anchor = self._anchor
        if anchor is None or _seconds() - anchor.seconds > _FRESH:
            anchor = self.measure()
        return anchor.at + timedelta(seconds=_seconds() - anchor.seconds)

    def monotonic(self) -> float:
        """Return seconds of this host's monotonic clock."""
        return time.monotonic()

    def ahead_of_host(self) -> float | None:
        """Return how many seconds the database's clock is ahead of this host's time of day, None if out of reach."""
        try:
            with outages(), self._engine.connect() as connection:
                read: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        except StoreUnavailable:
            return None
        return (read - datetime.now(UTC)).total_seconds()

    def measure(self) -> Anchor:
        """Read the database's clock, and keep the site's time steady if it was set. Raises StoreUnavailable."""
        with self._reading, outages(), self._engine.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            began = _seconds()
            ahead = sa.select(t.site_clock.c.ahead).scalar_subquery()
            row = connection.execute(sa.select(sa.func.clock_timestamp().label("at"), ahead.label("ahead"))).one()
            ended = _seconds()
            read: datetime = row.at.astimezone(UTC)
            seconds, offset = (began + ended) / 2, row.ahead or _NONE
            anchors = {row.host: Anchor(row.at, row.seconds) for row in connection.execute(sa.select(t.clock_anchors))}
            own_anchor = anchors.pop(self._host, None)
            others = [other.at for other in anchors.values()]
            step = step_of(read - offset, seconds, own_anchor, others, inaccuracy=ended - began)
            if step:
                LOG.warning("database clock was set", extra={"seconds": step.total_seconds()})
                self._subtract(connection, offset, step)
                offset += step
            elif offset and not _is_busy(connection):
                self._set(connection, _NONE)
                connection.execute(t.clock_anchors.delete())
                offset = _NONE
            anchor = Anchor(read - offset, seconds)
            values = {"at": anchor.at, "seconds": anchor.seconds}
            upsert = insert(t.clock_anchors).values(host=self._host, **values)
            connection.execute(upsert.on_conflict_do_update(index_elements=["host"], set_=values))
        self._anchor = anchor
        return anchor

    def _subtract(self, connection: sa.Connection, offset: timedelta, step: timedelta) -> None:
        """Let the queue, which knows only the database's clock, wake everything when it is wake_times."""
        self._set(connection, offset + step)
        queue(connection, self._wakeup.shift(step))
        # What was queued for a time that the step has skipped came too early, and did nothing.
        actions, items = t.actions.c, t.work_items.c
        waiting = sa.select(actions.id, actions.wake_at).where(actions.state.in_(_MOVING), actions.wake_at.is_not(None))
        for action in connection.execute(waiting).all():
            queue(connection, self._wakeup.statement(ActionId(action.id), action.wake_at))
        open_items = (items.ended_at.is_(None), items.wake_at.is_not(None))
        wake_times = sa.select(items.action_id, sa.func.min(items.wake_at).label("at")).where(*open_items)
        for action in connection.execute(wake_times.group_by(items.action_id)).all():
            queue(connection, self._wakeup.next_run(ActionId(action.action_id), action.at))

    def _set(self, connection: sa.Connection, ahead: timedelta) -> None:
        upsert = insert(t.site_clock).values(id=1, ahead=ahead)
        connection.execute(upsert.on_conflict_do_update(index_elements=["id"], set_={"ahead": ahead}))


def _is_busy(connection: sa.Connection) -> bool:
    """Return whether anything is stored in the site's time that is still to come."""
    moving = sa.exists().where(t.actions.c.state.in_(_MOVING))
    left_behind = sa.exists().where(t.stragglers.c.ended_at.is_(None))
    return bool(connection.execute(sa.select(sa.or_(moving, left_behind))).scalar_one())


def _seconds() -> float:
    """Return seconds of a clock of this host that is never set and, on Linux, goes on while the host is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _host() -> str:
    """Return the identity of this boot of the host; where there is no such thing, this clock alone."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = str(uuid.uuid4())
    return f"{boot} {socket.gethostname()}"
