"""Work items: claimed with SKIP LOCKED, fenced by an epoch of their own."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.actions import ActionId, RunState, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.items import ENDED_ITEM, EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor, of_items, together
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent, ItemClaim, stopped_by
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.due_items import MOST_RUNS, claim_due, count_due
from shipyard_api.storage.histories import check_table, lost_history
from shipyard_api.storage.hold_rows import guard
from shipyard_api.storage.projections import Line
from shipyard_api.storage.rows import intent_from, intent_json
from shipyard_api.storage.wakeups import queue

# Items that end within this time of each other are gathered by one turn of their action.
_GATHER_PAUSE = timedelta(seconds=0.25)
_MOST_WAITS = 100  # items whose waits are shown as one

_items = t.work_items
_OPEN = _items.c.ended_at.is_(None)

# Statements of every item are built once: to build one takes longer than to execute it.
_OF_STEP = (_items.c.action_id == sa.bindparam("of_action"), _items.c.step_id == sa.bindparam("of_step"))
# It sets the columns that are given with it.
_FENCED = (
    _items.update()
    .where(
        *_OF_STEP,
        _items.c.id == sa.bindparam("of_item"),
        _items.c.epoch == sa.bindparam("of_epoch"),
        t.actions.c.id == _items.c.action_id,
    )
    .returning(_items.c.stop, _items.c.broken, t.actions.c.state.label("action_state"), t.actions.c.stopped_by)
)
_ANY_OPEN = sa.select(sa.exists().where(*_OF_STEP, _OPEN))
_GATHER = (
    _items.update()
    .where(
        *_OF_STEP,
        _items.c.id.in_(
            sa.select(_items.c.id)
            .where(*_OF_STEP, _items.c.ended_at.is_not(None), ~_items.c.gathered)
            .order_by(_items.c.ended_at, _items.c.position)
            .limit(sa.bindparam("most"))
        ),
    )
    .values(gathered=True)
    .returning(_items.c.id, _items.c.state, _items.c.detail, _items.c.memory, _items.c.ended_at, _items.c.position)
)
_FOLLOWING = sa.select(sa.func.min(_items.c.wake_at)).where(
    _items.c.action_id == sa.bindparam("of_action"), _OPEN, _items.c.wake_at.is_not(None)
)
_ANY_OPEN_LOCKED = (
    _ANY_OPEN.select_from(t.actions).where(t.actions.c.id == sa.bindparam("of_action")).with_for_update(read=True)
)


class Items:
    """Work items. Every write of a turn names its epoch and raises Fenced after a later turn of the item has begun."""

    def __init__(self, connection: sa.Connection, wakeup: Wakeup) -> None:
        self._connection = connection
        self._wakeup = wakeup

    def add(self, claim: Claim, items: Sequence[NewItem], *, now: datetime) -> None:
        """Create items of the claim's step and queue runs for them; those that exist already are left alone."""
        if not items:
            return
        rows = [
            {
                "action_id": claim.action,
                "step_id": claim.step,
                "id": item.id,
                "task": dict(item.task),
                "state": ItemState.QUEUED.value,
                "wake_at": now,
            }
            for item in items
        ]
        self._connection.execute(insert(_items).on_conflict_do_nothing(), rows)
        self._queue_runs(claim.action, len(items), None)

    def gather(self, claim: Claim, *, limit: int = 500) -> tuple[tuple[EndedItem, ...], bool]:
        """Return the items of the claim's step that ended since the last call, in order, and whether any is open.

        They are not returned again once the transaction is kept. The claim has locked the action's row, which the end
        of an item locks too.
        """
        of_step = {"of_action": claim.action, "of_step": claim.step}
        rows = self._connection.execute(_GATHER, {**of_step, "most": limit}).all()
        any_open = self._connection.execute(_ANY_OPEN, of_step).scalar_one()
        in_order = sorted(rows, key=lambda row: (row.ended_at, row.position))
        return tuple(
            EndedItem(ItemId(row.id), ItemState(row.state), row.detail, row.memory) for row in in_order
        ), any_open

    def waiting_for(self, claim: Claim) -> WaitingFor | None:
        """Return what the open items of the claim's step wait for, together; None without any."""
        return self._waiting(claim.action, claim.step)

    def wake_resting(self, claim: Claim, *, now: datetime) -> None:
        """Make the items that rest since a pause due."""
        resting = (_OPEN, _items.c.wake_at.is_(None), _items.c.holder.is_(None))
        woken = self._connection.execute(_items.update().where(*self._of_step(claim), *resting).values(wake_at=now))
        if woken.rowcount:
            self._queue_runs(claim.action, woken.rowcount, None)

    def stop_open(self, claim: Claim, why: str, *, now: datetime) -> bool:
        """Tell the open items of the claim's step to end; return whether there are any.

        One that is held, and whose run only reads or repeats, is taken from it: the next run fences that turn. One with
        an intent whose outcome must be known sees the stop when its turn goes on.
        """
        repeatable = _items.c.intent["repeatable"].as_boolean()
        free = sa.or_(_items.c.holder.is_(None), _items.c.intent.is_(None), sa.func.coalesce(repeatable, sa.false()))
        stopped = self._connection.execute(
            _items.update()
            .where(*self._of_step(claim), _OPEN, _items.c.stop.is_(None))
            .values(
                stop=why,
                wake_at=sa.case((free, now), else_=_items.c.wake_at),
                holder=sa.case((free, None), else_=_items.c.holder),
            )
        )
        if stopped.rowcount:
            self._queue_runs(claim.action, stopped.rowcount, None)
        of_step = {"of_action": claim.action, "of_step": claim.step}
        return bool(self._connection.execute(_ANY_OPEN, of_step).scalar_one())

    def start_run(self, action: ActionId, versions: Mapping[StepId, int], *, holder: str, now: datetime) -> None:
        """Release what an earlier delivery of this run held, and queue more runs if more items are due.

        ``versions``: as for ``claim``.
        """
        self._connection.execute(
            _items.update()
            .where(_items.c.action_id == action, _items.c.holder == holder, _OPEN)
            .values(holder=None, wake_at=now)
        )
        values = {"of_action": action, "now": now}
        count = self._connection.execute(count_due(tuple(versions.items())), values).scalar_one()
        if count > 1:
            self._queue_runs(action, count - 1, None)

    def continue_run(self, action: ActionId) -> None:
        """Queue a run in place of one that makes way for other work although items are due.

        The job of the run that ends still counts.
        """
        queue(self._connection, self._wakeup.runs(action, 1, MOST_RUNS + 1, None))

    def end_run(self, action: ActionId, *, now: datetime, left_until: datetime) -> None:
        """Queue a run for the next item that will be due, if there is one and no run is queued for it.

        For an item that is due already and that the run left, the next one comes at ``left_until``.
        """
        following = self._connection.execute(_FOLLOWING, {"of_action": action}).scalar_one()
        if following is not None:
            queue(self._connection, self._wakeup.next_run(action, following if following > now else left_until))

    def claim(
        self, action: ActionId, versions: Mapping[StepId, int], *, holder: str, now: datetime, worker: str
    ) -> ItemClaim | None:
        """Begin a turn of a due item that no run holds; ``versions``: the newest state version known, by step.

        Runs pass over each other's rows without waiting.
        """
        values = {"of_action": action, "now": now, "of_holder": holder}
        row = self._connection.execute(claim_due(tuple(versions.items())), values).one_or_none()
        if row is None:
            return None
        check_table(self._connection, row.of_table)
        return ItemClaim(
            action=action,
            step=StepId(row.step_id),
            item=ItemId(row.id),
            epoch=row.epoch,
            worker=worker,
            task=row.task,
            state=row.memory,
            intent=intent_from(row.intent) if row.intent else None,
            **_control(row),
            user=row.user_name,
            context_marker=row.context_marker,
            traceparent=row.traceparent or "",
            lost=lost_history(self._connection, action, row, now),
            waiting=WaitingFor.from_json(row.waiting_for) if row.waiting_for else None,
        )

    def start(self, claim: ItemClaim, state: JsonObject, *, now: datetime) -> ItemClaim:
        """Record that the item has begun, with its first state; return the claim with that state.

        The state is written with the first intent or outcome.
        """
        return replace(claim, state=state)

    def intend(self, claim: ItemClaim, intent: Intent, *, now: datetime | None = None) -> ItemClaim:
        """Write an intent, or a further attempt at it; return the claim with it.

        ``now``: when a search begins; nothing is sent.
        """
        self._fenced(claim, {"intent": intent_json(intent), "memory": claim.state})
        return replace(claim, intent=intent)

    def wait(self, claim: ItemClaim, waiting: WaitingFor) -> ItemClaim:
        """Do nothing: what an item waits for is shown once its answer is known to be missing."""
        return claim

    def renew(self, claim: ItemClaim) -> ItemClaim:
        """Return the claim with what control verbs have asked for meanwhile."""
        return replace(claim, **_control(self._fenced(claim, {"epoch": claim.epoch})))

    def held(self, claim: ItemClaim, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        """Return the active holds that forbid the work and that the action does not override, as ``Turns.held``."""
        return guard(self._connection, claim.action, nodes, work)

    def record(
        self,
        claim: ItemClaim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[NewItem] = (),
        waiting: WaitingFor | None = None,
    ) -> ItemClaim:
        """Write an outcome, as ``Turns.record`` does. An item creates no items.

        ``waiting``: what it waits for, which its action shows from now on; None: nothing worth showing. With a wake-up
        the item is let go, else the turn goes on.
        """
        values: dict[str, Any] = {"memory": state, "intent": None, "broken": 0}
        if wake_at is not None:
            values |= {"wake_at": wake_at, "holder": None}
        row = self._write(claim, values, waiting)
        journal.record(self._connection, self._line(claim, now), facts)
        return replace(claim, state=state, intent=None, waiting=waiting, **_control(row))

    def tell(self, claim: ItemClaim, facts: Sequence[Fact], *, now: datetime) -> None:
        """Write facts beside a ``sleep`` of the same transaction."""
        journal.record(self._connection, self._line(claim, now), facts)

    def sleep(self, claim: ItemClaim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        """Write when the next turn is due, and what the item waits for (None: as before), and let it go."""
        self._write(claim, {"wake_at": until, "holder": None}, waiting or claim.waiting)

    def rest(self, claim: ItemClaim, *, waiting: WaitingFor | None = None) -> None:
        """Let the item go, without a next turn, until the action is resumed or stopped.

        The turn of a resumed action wakes the items that it finds at rest. So the action's row is read under a lock
        that a control verb takes, too: either it is resumed, and the item stays due, or its turn finds the item.
        """
        paused = sa.select(t.actions.c.state == RunState.PAUSED.value).where(t.actions.c.id == claim.action)
        rests = self._connection.execute(paused.with_for_update(read=True)).scalar_one()
        if rests:
            self._fenced(claim, {"wake_at": None, "holder": None})
        else:
            self._fenced(claim, {"holder": None}, _FENCED.values(wake_at=sa.func.site_time()))

    def broke(self, claim: ItemClaim, *, now: datetime, until: datetime) -> int:
        """Record that a turn ended in a bug, and let the item go until then; return how often in a row."""
        values = {"wake_at": until, "holder": None}
        row = self._fenced(claim, values, _FENCED.values(broken=_items.c.broken + 1))
        in_a_row: int = row.broken
        return in_a_row

    def end(self, claim: ItemClaim, outcome: ItemState, detail: str, facts: Sequence[Fact], *, now: datetime) -> None:
        """End the item, and wake its action: at once for the last open one, else together with others."""
        if outcome not in ENDED_ITEM:
            raise ValueError(f"{outcome.value} is not how an item ends")
        ended = {
            "state": outcome.value,
            "detail": detail,
            "intent": None,
            "wake_at": None,
            "holder": None,
            "ended_at": now,
        }
        self._fenced(claim, {**ended, **({} if claim.state is None else {"memory": claim.state})})
        journal.record(self._connection, self._line(claim, now), facts)
        # With this lock, a turn that gathers either sees this item or is waited for; then it gets another wake-up.
        is_open = self._connection.execute(
            _ANY_OPEN_LOCKED, {"of_action": claim.action, "of_step": claim.step}
        ).scalar_one()
        queue(self._connection, self._wakeup.gather(claim.action, now + _GATHER_PAUSE if is_open else now))

    def succeeded(self, action: ActionId) -> Mapping[StepId, Sequence[ItemId]]:
        """Return the items of an action that succeeded, by step, in order of creation: what a retry keeps."""
        succeeded: dict[StepId, list[ItemId]] = {}
        rows = self._connection.execute(
            sa.select(_items.c.step_id, _items.c.id)
            .where(_items.c.action_id == action, _items.c.state == ItemState.SUCCESS.value)
            .order_by(_items.c.position)
        )
        for row in rows:
            succeeded.setdefault(StepId(row.step_id), []).append(ItemId(row.id))
        return succeeded

    def task(self, action: ActionId, item: ItemId) -> JsonObject | None:
        """Return what an item of an action works from."""
        query = sa.select(_items.c.task).where(_items.c.action_id == action, _items.c.id == item)
        stored: JsonObject | None = self._connection.execute(query).scalars().first()
        return stored

    def counts(self, action: ActionId) -> Mapping[StepId, Mapping[ItemState, int]]:
        """Return how many items each step has in each state."""
        counts: dict[StepId, dict[ItemState, int]] = {}
        rows = self._connection.execute(
            sa.select(_items.c.step_id, _items.c.state, sa.func.count().label("number"))
            .where(_items.c.action_id == action)
            .group_by(_items.c.step_id, _items.c.state)
        )
        for row in rows:
            counts.setdefault(StepId(row.step_id), {})[ItemState(row.state)] = row.number
        return counts

    def remind_overdue(self, *, grace: float) -> int:
        """Free items whose run is gone, and queue runs for actions with items that are overdue; return how many."""
        clock = sa.func.site_time()
        gone = sa.text(f"NOT {self._wakeup.run_exists('work_items.holder')}")
        self._connection.execute(
            _items.update().where(_OPEN, _items.c.holder.is_not(None), gone).values(holder=None, wake_at=clock)
        )
        limit = clock - timedelta(seconds=grace)
        overdue = self._connection.execute(
            sa.select(_items.c.action_id).where(_OPEN, _items.c.wake_at < limit).distinct()
        ).scalars()
        actions = [ActionId(action) for action in overdue]
        for action in actions:
            self._queue_runs(action, 1, None)
        return len(actions)

    def _of_step(self, claim: Claim) -> tuple[sa.ColumnElement[bool], ...]:
        return _items.c.action_id == claim.action, _items.c.step_id == claim.step

    def _write(self, claim: ItemClaim, values: Mapping[str, Any], waiting: WaitingFor | None) -> sa.Row[Any]:
        """Write to the item's row with what it waits for, and show that in the row of its action if it has changed."""
        if waiting == claim.waiting:
            return self._fenced(claim, values)
        # In the order in which turns of the action lock: its own row first, then those of items.
        of_action = t.actions.c.id == claim.action
        self._connection.execute(sa.select(t.actions.c.id).where(of_action).with_for_update(key_share=True))
        row = self._fenced(claim, {**values, "waiting_for": waiting.to_json() if waiting else None})
        shown = self._waiting(claim.action, claim.step)
        if shown is None and claim.waiting is not None:
            shown = of_items(claim.step).after(None, claim.waiting.since)
        if shown is not None:
            # A step with its own turns beside its items reports its own wait.
            rests = (t.actions.c.wake_at.is_(None), t.actions.c.state == RunState.RUNNING.value)
            self._connection.execute(t.actions.update().where(of_action, *rests).values(waiting_for=shown.to_json()))
        return row

    def _waiting(self, action: ActionId, step: StepId | None) -> WaitingFor | None:
        waits = _items.c.waiting_for
        rows = self._connection.execute(
            sa.select(waits)
            .where(_items.c.action_id == action, _items.c.step_id == step, _OPEN, waits.is_not(None))
            .order_by(_items.c.position)
            .limit(_MOST_WAITS)
        )
        return together([WaitingFor.from_json(stored) for stored in rows.scalars()])

    def _fenced(self, claim: ItemClaim, values: Mapping[str, Any], statement: sa.Executable = _FENCED) -> sa.Row[Any]:
        """Write to the item's row, or raise Fenced."""
        fence = {"of_action": claim.action, "of_step": claim.step, "of_item": claim.item, "of_epoch": claim.epoch}
        row = self._connection.execute(statement, {**fence, **values}).one_or_none()
        if row is None:
            raise Fenced(f"{claim.action} {claim.item}: turn {claim.epoch} is over")
        return row

    def _line(self, claim: ItemClaim, at: datetime) -> Line:
        return Line(claim.action, claim.epoch, claim.step, at, claim.worker)

    def _queue_runs(self, action: ActionId, count: int, at: datetime | None) -> None:
        queue(self._connection, self._wakeup.runs(action, min(count, MOST_RUNS), MOST_RUNS, at))


def _control(row: "sa.Row[Any]") -> dict[str, Any]:
    """Return what control verbs have asked for. An item obeys a stop before the turn of its action has passed it on."""
    stopped = row.stop or (stopped_by(row.stopped_by) if row.stopped_by else None)
    return {"paused": row.action_state == RunState.PAUSED.value, "stopped": stopped}
