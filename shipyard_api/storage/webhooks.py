"""Cursors and claims of webhooks, by the clock of the database."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.ports.state.journal import WebhookClaim
from shipyard_api.storage import site_tables as t


class Webhooks:
    """Webhooks, by name. A claim is held by one worker at a time, and expires some seconds after its last sign."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def claim(self, name: str, holder: str, *, start: int, seconds: float) -> WebhookClaim | None:
        """Claim a target; None if it is not due or another worker holds it. A new target begins behind ``start``.

        The row lock serializes concurrent claims; only one succeeds.
        """
        self._connection.execute(insert(t.webhooks).values(name=name, cursor=start).on_conflict_do_nothing())
        webhooks, now = t.webhooks.c, sa.func.clock_timestamp()
        row = self._connection.execute(
            t.webhooks.update()
            .where(
                webhooks.name == name,
                webhooks.due_at <= now,
                sa.or_(webhooks.holder.is_(None), webhooks.held_until < now),
            )
            .values(holder=holder, held_until=_later(seconds))
            .returning(webhooks.cursor, webhooks.failures)
        ).one_or_none()
        return WebhookClaim(row.cursor, row.failures) if row else None

    def advance(self, name: str, holder: str, cursor: int, *, seconds: float) -> bool:
        """Record what the target took; False if the claim is lost."""
        return self._update(name, holder, cursor=cursor, failures=0, held_until=_later(seconds))

    def release(self, name: str, holder: str) -> None:
        """Give up the claim."""
        self._update(name, holder, holder=None, held_until=None)

    def failed(self, name: str, holder: str, *, pause: float) -> None:
        """Record a failed attempt and give up the claim; the next attempt may begin after a pause in seconds."""
        failures = t.webhooks.c.failures + 1
        self._update(name, holder, failures=failures, due_at=_later(pause), holder=None, held_until=None)

    def _update(self, name: str, own_holder: str, /, **values: Any) -> bool:
        webhooks = t.webhooks.c
        mine = (webhooks.name == name, webhooks.holder == own_holder)
        return self._connection.execute(t.webhooks.update().where(*mine).values(**values)).rowcount == 1


def _later(seconds: float) -> sa.ColumnElement[Any]:
    return sa.func.clock_timestamp() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)
