"""Stragglers: jobs that go on after their action stopped waiting, as rows that are open until the job ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.jobs import LateResult
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, JobReport, Operation, Work
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections import Line


class Stragglers:
    """Stragglers, until their provisioner reports their end."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def open(self) -> Sequence[Straggler]:
        """Return all stragglers that have not ended, oldest first."""
        rows = t.stragglers
        open_rows = self._connection.execute(
            sa.select(rows).where(rows.c.ended_at.is_(None)).order_by(rows.c.since, rows.c.job)
        )
        return [_straggler(row) for row in open_rows]

    def to_poll(self, *, now: datetime, pause: float) -> Sequence[Straggler]:
        """Return the stragglers to poll now, and postpone them by ``pause`` seconds, so that one worker polls each."""
        rows = t.stragglers
        mine = (
            sa.select(rows.c.action_id, rows.c.job)
            .where(rows.c.ended_at.is_(None), rows.c.look_at <= now)
            .with_for_update(skip_locked=True)
        )
        due_rows = self._connection.execute(
            rows.update()
            .where(sa.tuple_(rows.c.action_id, rows.c.job).in_(mine))
            .values(look_at=now + timedelta(seconds=pause))
            .returning(*rows.c)
        )
        return [_straggler(row) for row in due_rows]

    def end(self, straggler: Straggler, report: JobReport, *, now: datetime, worker: str) -> None:
        """Record its outcome as a late event of its action; a second call changes nothing."""
        rows = t.stragglers
        ended = self._connection.execute(
            rows.update()
            .where(rows.c.action_id == straggler.action, rows.c.job == straggler.job, rows.c.ended_at.is_(None))
            .values(ended_at=now)
        )
        if ended.rowcount != 1:
            return
        # This update changes nothing but the row's version, so that readers see a new version of the action.
        epoch = self._connection.execute(
            t.actions.update()
            .where(t.actions.c.id == straggler.action)
            .values(epoch=t.actions.c.epoch)
            .returning(t.actions.c.epoch)
        ).scalar_one()
        late = LateResult(
            straggler.job,
            straggler.work.operation.value,
            report.state.value,
            tuple(sorted(report.succeeded)),
            tuple(sorted(report.failed)),
            report.message,
        )
        journal.record(self._connection, Line(straggler.action, epoch, None, now, worker), [late])


def _straggler(row: "sa.Row[Any]") -> Straggler:
    nodes = None if row.nodes is None else tuple(NodeName(node) for node in row.nodes)
    work = Work(Operation(row.operation), row.design, nodes)
    return Straggler(ActionId(row.action_id), JobId(row.job), work, row.why, row.since)
