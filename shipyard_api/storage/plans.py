"""Stored plans and their signatures."""

from collections.abc import Sequence

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.plans.plan import PlanContent, PlanId, Signature, StoredPlan
from shipyard_api.storage.rows import record
from shipyard_api.storage.site_tables import plans as t


class Plans:
    """Stored plans. ``Actions.create`` notes which action was started from one."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def insert(self, plan: StoredPlan) -> None:
        """Store a plan."""
        values = {
            "id": plan.id,
            "name": plan.name,
            "digest": plan.digest,
            "content": dict(plan.content.parts),
            "request": dict(plan.request),
            "shown": dict(plan.shown),
            "stored_by": plan.stored_by,
            "caller": plan.key,
            "stored_at": plan.stored_at,
        }
        self._connection.execute(t.insert().values(values))

    def get(self, plan: PlanId, *, lock: bool = False) -> StoredPlan | None:
        """Return a plan. ``lock``: no other transaction signs or uses the plan until this one has ended."""
        query = sa.select(t).where(t.c.id == plan)
        row = self._connection.execute(query.with_for_update() if lock else query).one_or_none()
        return None if row is None else _plan(row)

    def newest(self, *, limit: int) -> Sequence[StoredPlan]:
        """Return the newest plans, the newest first, without their content and what was shown."""
        short = [column for column in t.c if column.name not in ("content", "shown")]
        empty = (sa.literal({}, sa.JSON).label(name) for name in ("content", "shown"))
        query = sa.select(*short, *empty).order_by(t.c.id.desc()).limit(limit)
        return [_plan(row) for row in self._connection.execute(query)]

    def before(self, plan: PlanId, action: ActionName) -> StoredPlan | None:
        """Return the newest earlier plan of the action."""
        query = sa.select(t).where(t.c.name == action, t.c.id < plan).order_by(t.c.id.desc()).limit(1)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else _plan(row)

    def sign(self, plan: PlanId, signatures: Sequence[Signature]) -> None:
        """Set the signatures of a plan that is locked."""
        stored = [signature.to_json() for signature in signatures]
        self._connection.execute(t.update().where(t.c.id == plan).values(signatures=stored))


def _plan(row: "sa.Row[tuple[object, ...]]") -> StoredPlan:
    signatures = tuple(map(Signature.from_json, row.signatures or ()))
    return record(StoredPlan, row, content=PlanContent(row.content), key=row.caller, signatures=signatures)
