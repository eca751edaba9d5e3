"""The history of a tortured run, in the format of ``check_history``: what the database says, what peers did, faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shipyard_api.storage import tables as t
from shipyard_api.storage.run_history import Entry, RunHistory, _actions, _journal_entry, _moment, reading, written
from shipyard_simulators.record import entries as of_peer
from tests.fakes.clock import FakeClock

Numbers = tuple[tuple[int, int], ...]
"""The last entry that each loss has left, with the number of the loss."""

_APART = 10_000_000  # numbers of journal entries of two histories of a database


class TorturedHistory(RunHistory):
    """A history of a database that may lose its end.

    Where nothing in the database shows a loss, the numbers of entries are given out again: those of each history are
    ``_APART`` from those of the one before. ``added``: what was recorded beside tables and peers.
    """

    def __init__(self, engine: sa.Engine, clock: FakeClock, *, ahead: Callable[[], timedelta] | None = None) -> None:
        """``ahead``: how far the time of workers is ahead of that of the peers; without it, operators are left out."""
        super().__init__(engine, has_clock=ahead is not None)
        self._ahead = ahead
        self._dated: dict[object, datetime] = {}
        self._clock, self._began = clock, clock.now()
        self.added: list[Entry] = []
        self.numbers: Numbers = ()
        self._known: set[int] = set()
        self._lost: list[Entry] = []
        self._losses = 0

    def add(self, process: str, operation: str, kind: str, **more: Any) -> None:
        """Record that something happened now."""
        self.added.append({"at": self._clock.now(), "process": process, "operation": operation, "type": kind, **more})

    def read(self, at: datetime | None = None) -> None:
        """Read the journal: nothing is being written meanwhile."""
        lines = t.journal.c
        with self._engine.connect() as connection:
            ids = connection.scalars(sa.select(lines.id).order_by(lines.id)).all()
            with_items = sa.select(t.work_items.c.action_id, t.work_items.c.step_id).distinct()
            items = {(row.action_id, row.step_id) for row in connection.execute(with_items)}
            new = sa.select(t.journal).where(lines.id > self._settled).order_by(lines.id)
            rows = [_journal_entry(row, items) for row in connection.execute(new)]
            self._date(connection)
        now, ahead = at or self._clock.now(), self._ahead() if self._ahead else timedelta(0)
        # The database dates what it tells of a loss; without a time of its own for the site, by the clock on the wall.
        undated = ("api",) if self._ahead else ("api", "database")
        rows = [{**row, "at": now if row["process"] in undated else _moment(row) - ahead} for row in rows]
        numbered = {self._number(int(str(row["journal"]))): row for row in rows}
        # A copy may have rows that were read long ago, in a history since then.
        self._rows += [{**row, "journal": number} for number, row in numbered.items() if number not in self._known]
        self._known |= numbered.keys()
        self._settled = max(ids, default=0)
        self._readings.append(reading("journal", [*map(self._number, ids)], at or self._clock.now()))

    def _date(self, connection: sa.Connection) -> None:
        """Note the time of what operators asked for, if the database has another one."""
        if self._ahead:
            ahead = connection.execute(sa.select(sa.func.site_time())).scalar_one() - self._clock.now()
            columns = (t.command_audit.c.at, t.holds.c.placed_at, t.holds.c.released_at)
            for at in (at for column in columns for at in connection.scalars(sa.select(column)) if at):
                self._dated.setdefault(at, at - ahead)

    def entries(self) -> list[Entry]:
        """Return everything that was read, in the time of the peers."""
        return [{**entry, "at": self._dated.get(entry["at"], entry["at"])} for entry in super().entries()]

    def moved(self, engine: sa.Engine) -> None:
        """Read another database from now on, which has taken the place of this one."""
        self._engine = engine

    def losing(self) -> None:
        """Keep what tables say of actions that may not be in the history to come."""
        with self._engine.connect() as connection:
            self._lost += _actions(connection, self._begins())

    def restored(self, kept: Numbers) -> None:
        """Record that the database has lost its end; ``kept``: the numbers when what it has now was copied."""
        now = self._clock.now()
        for entry in (*self._rows, *self._readings, *self.added):
            if entry["at"] == now:  # what was read in the same moment was read before
                entry["at"] = now - timedelta(microseconds=1)
        self.add("database", "restore", "info")
        self.numbers = kept
        self.read()  # what was kept, and not read before
        self._losses += 1
        self.numbers = (*kept, (self._settled, self._losses))

    def text(self, header: Mapping[str, Any], peers: Mapping[str, list[dict[str, Any]]], foreign: Set[str]) -> str:
        """Return the history with what each peer's log has; the effects of ``foreign`` jobs are somebody else's."""
        self.read()
        there = self.entries()
        known = {entry["action"] for entry in there if (entry["operation"], entry["type"]) == ("action", "invoke")}
        lost = {str(entry): entry for entry in self._lost if entry["action"] not in known}
        entries = [*self.added, *lost.values(), *there]
        for peer, events in peers.items():
            own = list(of_peer(peer, events))
            for entry in own:
                if entry.get("value", {}).get("job") in foreign:
                    entry["effect"] = False
            numbers = [entry["entry"] for entry in own if "entry" in entry]
            entries += [*own, reading(peer, numbers, self._clock.now())]
        return "".join(written({**header, "made_by": "torture", "design": self.design()}, self._began, entries))

    def _number(self, row: int) -> int:
        return row + _APART * max((loss for kept, loss in self.numbers if row > kept), default=0)
