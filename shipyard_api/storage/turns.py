"""The engine's rows: claiming a turn, intents, outcomes. Every write is fenced by the epoch of its turn.

Statements of every turn are built once, here: to build one takes longer than to execute it.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.facts.actions import ActionEnded
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.steps import Broke, Intended, StepEnded, StepsSkipped, StepStarted, Waiting
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.items import NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.errors import Fenced
from shipyard_api.ports.state.turns import Claim, Intent, Unfinished
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites
from shipyard_api.storage.histories import CURRENT_TABLE, PLACE, check_table, lost_history
from shipyard_api.storage.hold_rows import guard
from shipyard_api.storage.items import Items
from shipyard_api.storage.projections import Line
from shipyard_api.storage.rows import intent_from, intent_json
from shipyard_api.storage.wakeups import gather

# A wake-up may arrive this much early, since the queue and the worker read different clocks; sooner is not for us.
_EARLY = timedelta(seconds=2)
_NO_PROGRESS = (Broke.kind, Intended.kind, Waiting.kind)
_MOVING = tuple(state.value for state in RunState if state not in ENDED)

_actions, _steps = t.actions.c, t.steps.c
_IS_OPEN = sa.or_(_steps.state.is_(None), _steps.state == StepState.RUNNING.value)

_CLAIM = (
    t.actions.update()
    .where(
        _actions.id == sa.bindparam("of_action"),
        _actions.state.in_(_MOVING),
        # A new action is due, and a stop does not wait until it is.
        sa.or_(
            _actions.state == RunState.QUEUED.value,
            _actions.wake_at.is_(None),
            _actions.wake_at <= sa.bindparam("due"),
            _actions.stopped_by.is_not(None),
        ),
    )
    .values(
        epoch=_actions.epoch + 1,
        wake_at=sa.bindparam("now"),
        place=PLACE,
        state=sa.case((_actions.state == RunState.QUEUED.value, RunState.RUNNING.value), else_=_actions.state),
        started_at=sa.func.coalesce(_actions.started_at, sa.bindparam("now")),
    )
    .returning(
        _actions.name,
        _actions.epoch,
        _actions.state,
        _actions.stopped_by,
        _actions.user_name,
        _actions.context_marker,
        _actions.traceparent,
        _actions.waiting_for,
        _actions.created_at,
        _actions.place,
        _actions.lost_after,
        _actions.loss_noticed_at,
        _actions.job_answers,
        CURRENT_TABLE,
    )
)
# Large values of ended steps are not read.
_STEPS = (
    sa.select(
        _steps.id,
        _steps.state,
        sa.case((_IS_OPEN, _steps.memory)).label("memory"),
        sa.case((_IS_OPEN, _steps.fixed)).label("fixed"),
        sa.case((_IS_OPEN, _steps.intent)).label("intent"),
    )
    .where(_steps.action_id == sa.bindparam("of_action"))
    .order_by(_steps.position)
)
# These two set the columns that are given with them.
_FENCED = (
    t.actions.update()
    .where(_actions.id == sa.bindparam("of_action"), _actions.epoch == sa.bindparam("of_epoch"))
    .returning(_actions.state, _actions.stopped_by)
)
_STEP = t.steps.update().where(_steps.action_id == sa.bindparam("of_action"), _steps.id == sa.bindparam("of_step"))


class Turns:
    """The engine's own rows. Every write names the epoch of its turn and raises Fenced after a later turn has begun."""

    def __init__(self, connection: sa.Connection, wakeup: Wakeup, items: Items) -> None:
        self._connection = connection
        self._wakeup = wakeup
        self._items = items
        self._planned: tuple[ActionId, int] | None = None
        self._of_step: tuple[Claim, dict[str, Any]] | None = None
        self._lines: list[tuple[Line, Fact]] = []
        self._writes = BatchedWrites(connection)

    def flush(self) -> None:
        """Write what was gathered: a transaction that ends one move and begins the next writes the step's row once."""
        if self._of_step is not None:
            claim, values = self._of_step
            self._of_step = None
            self._writes.add(_STEP, {"of_action": claim.action, "of_step": claim.step, **values})
        lines, self._lines = self._lines, []
        journal.write(self._writes, lines)
        self._writes.send()

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        """Begin a turn: take the next epoch. None if the action has ended, does not exist, or is not due yet.

        The row lock makes concurrent claims wait for each other; each gets an epoch of its own.
        """
        self.flush()
        values = {"of_action": action, "due": now + _EARLY, "now": now}
        row = self._connection.execute(_CLAIM, values).one_or_none()
        if row is None:
            return None
        check_table(self._connection, row.of_table)
        self._planned = (action, row.epoch)
        # Read behind the lock: a turn that was writing has written.
        rows = self._connection.execute(_STEPS, {"of_action": action}).all()
        open_steps = [step for step in rows if step.state in (None, StepState.RUNNING.value)]
        current = open_steps[0] if open_steps else None
        return Claim(
            action=action,
            name=row.name,
            epoch=row.epoch,
            worker=worker,
            step=StepId(current.id) if current else None,
            state=_state(current.memory, current.fixed) if current else None,
            intent=intent_from(current.intent) if current and current.intent else None,
            remaining=tuple(StepId(step.id) for step in open_steps[1:]),
            failed=any(step.state == StepState.FAILED.value for step in rows),
            **_control(row),
            user=row.user_name,
            context_marker=row.context_marker,
            traceparent=row.traceparent or "",
            waiting=WaitingFor.from_json(row.waiting_for) if row.waiting_for else None,
            lost=lost_history(self._connection, action, row, now),
        )

    def pass_on(self, action: ActionId, *, at: datetime) -> None:
        """Queue a turn for another worker, since this one's release lacks a part of the action. Writes nothing else."""
        self.wake(action, at)

    def name(self, action: ActionId) -> ActionName:
        """Return the action's name as stored; empty for no action."""
        stored = self._connection.execute(sa.select(t.actions.c.name).where(t.actions.c.id == action)).scalar()
        return ActionName(stored or "")

    def unfinished(self) -> Sequence[Unfinished]:
        """Return the remaining steps of every action that has not ended."""
        version = sa.case((_steps.state.is_not(None), sa.func.coalesce(_steps.memory["v"].as_integer(), 1)), else_=1)
        rows = self._connection.execute(
            sa.select(_actions.id.label("action"), _actions.name, _steps.id, version.label("version"))
            .select_from(t.actions.outerjoin(t.steps, sa.and_(_steps.action_id == _actions.id, _IS_OPEN)))
            .where(_actions.state.in_(_MOVING))
            .order_by(_actions.id, _steps.position)
        )
        unfinished = []
        for action, of_action in groupby(rows, key=lambda row: row.action):
            left = list(of_action)
            open_steps = tuple(StepId(row.id) for row in left if row.id is not None)
            unfinished.append(Unfinished(ActionId(action), left[0].name, open_steps, left[0].version))
        return unfinished

    def start_step(self, claim: Claim, state: JsonObject, *, now: datetime) -> Claim:
        """Record that the claim's step has begun, with its first state; return the claim with that state."""
        self._plan(claim, now)
        self._update_step(claim, state=StepState.RUNNING.value, started_at=now, **_memory(state, {}))
        self._journal(claim, now, StepStarted())
        return replace(claim, state=state)

    def intend(self, claim: Claim, intent: Intent, *, now: datetime | None = None) -> Claim:
        """Write an intent, or a further attempt at it; return the claim with it.

        ``now``: when a search begins; nothing is sent.
        """
        now = now or intent.attempted_at
        self._plan(claim, now)
        self._update_step(claim, intent=intent_json(intent))
        self._journal(claim, now, Intended(intent.marker, intent.attempts, intent.effect))
        return replace(claim, intent=intent)

    def renew(self, claim: Claim) -> Claim:
        """Return the claim with the pause or stop that was asked for meanwhile; none is accepted before the commit."""
        return replace(claim, **_control(self._fenced(claim, epoch=claim.epoch)))

    def held(self, claim: Claim, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        """Return the active holds on these nodes that forbid the work, and that the action does not override.

        No further hold is placed until the transaction has ended. It has locked the action's row.
        """
        return guard(self._connection, claim.action, nodes, work)

    def record(
        self,
        claim: Claim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[NewItem] = (),
        waiting: WaitingFor | None = None,
    ) -> Claim:
        """Write an outcome: state, facts, new items and the next wake-up; the intent is fulfilled.

        ``waiting``: what the action waits for from now on; None: as before.

        Return the claim with that state, and with the pause or stop that was asked for meanwhile.
        """
        row = self._fenced(claim, wake_at=wake_at or now, **_waiting_for(waiting))
        self._planned = (claim.action, claim.epoch)
        if state != claim.state:
            self._update_step(claim, intent=None, **_memory(state, claim.state or {}))
        elif claim.intent is not None:
            self._update_step(claim, intent=None)
        self._journal(claim, now, *facts)
        self._journal_wait(claim, waiting)
        self._items.add(claim, items, now=now)
        if wake_at is not None:
            self.wake(claim.action, wake_at)
        return replace(claim, state=state, intent=None, waiting=waiting or claim.waiting, **_control(row))

    def wait(self, claim: Claim, waiting: WaitingFor) -> Claim:
        """Write what the action waits for while a request is on its way; return the claim with it."""
        if self._planned == (claim.action, claim.epoch):
            self._writes.add(_FENCED, {**_row_of(claim), **_waiting_for(waiting)})
        else:
            self._fenced(claim, **_waiting_for(waiting))
        self._journal_wait(claim, waiting)
        return replace(claim, waiting=waiting)

    def tell(self, claim: Claim, facts: Sequence[Fact], *, now: datetime) -> None:
        """Write facts beside a ``sleep`` of the same transaction."""
        self._journal(claim, now, *facts)

    def sleep(self, claim: Claim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        """Write when the next turn is due, and nothing else but what the action waits for (None: as before)."""
        self._fenced(claim, wake_at=until, **_waiting_for(waiting))
        self._journal_wait(claim, waiting)
        self.wake(claim.action, until)

    def rest(self, claim: Claim, *, waiting: WaitingFor | None = None) -> None:
        """Schedule no further turn until a control verb or the end of an item wakes the action."""
        self._fenced(claim, wake_at=None, **_waiting_for(waiting))
        self._journal_wait(claim, waiting)

    def broke(self, claim: Claim, detail: str, *, now: datetime) -> int:
        """Record that a turn of the claim's step ended in a bug; return how often in a row that has happened."""
        self._fenced(claim, epoch=claim.epoch)
        self.flush()
        lines = t.journal.c
        of_step = (lines.action_id == claim.action, lines.step_id == claim.step)
        # Trying an intent again is no progress, nor is waiting: only what a turn brought to an end is.
        progress = sa.select(sa.func.max(lines.id)).where(*of_step, lines.kind.not_in(_NO_PROGRESS))
        before = self._connection.execute(
            sa.select(sa.func.count()).where(
                *of_step, lines.kind == Broke.kind, lines.id > sa.func.coalesce(progress.scalar_subquery(), 0)
            )
        ).scalar_one()
        in_a_row: int = before + 1
        self._journal(claim, now, Broke(detail, in_a_row))
        return in_a_row

    def end_step(
        self,
        claim: Claim,
        state: StepState,
        detail: str,
        skipped: Sequence[StepId] = (),
        given_up: Sequence[Fact] = (),
        *,
        now: datetime,
    ) -> None:
        """End the claim's step; ``skipped`` are later steps that will not run because of it.

        ``given_up``: facts about what will not be done therefore.
        """
        self._plan(claim, now)
        self._update_step(claim, state=state.value, detail=detail, ended_at=now)
        if skipped:
            self._connection.execute(
                t.steps.update()
                .where(t.steps.c.action_id == claim.action, t.steps.c.id.in_(skipped))
                .values(state=StepState.UPSTREAM_FAILED.value, ended_at=now)
            )
        self._journal(claim, now, StepEnded(state, detail, tuple(skipped)), *given_up)

    def skip(self, claim: Claim, steps: Sequence[StepId], *, now: datetime) -> None:
        """Skip later steps, although nothing before them failed."""
        if not steps:
            return
        self._plan(claim, now)
        open_steps = (t.steps.c.action_id == claim.action, t.steps.c.id.in_(steps), t.steps.c.state.is_(None))
        self._connection.execute(
            t.steps.update().where(*open_steps).values(state=StepState.SKIPPED.value, ended_at=now)
        )
        self._journal(claim, now, StepsSkipped(tuple(steps)))

    def end_action(self, claim: Claim, state: RunState, *, now: datetime) -> None:
        """End the action; the site is free for the next one."""
        self._fenced(claim, state=state.value, ended_at=now, wake_at=None)
        self._journal(claim, now, ActionEnded(state))

    def overdue(self, *, grace: float) -> Sequence[ActionId]:
        """Return actions whose turn was due more than ``grace`` seconds ago (the database's clock)."""
        limit = sa.func.site_time() - timedelta(seconds=grace)
        rows = self._connection.execute(
            sa.select(t.actions.c.id)
            .where(t.actions.c.state.in_(_MOVING), t.actions.c.wake_at < limit)
            .order_by(t.actions.c.wake_at)
        )
        return [ActionId(row.id) for row in rows]

    def remind(self, action: ActionId) -> None:
        """Queue a turn of the action unless one is queued or runs."""
        gather(self._writes, self._wakeup.reminder(action))

    def wake(self, action: ActionId, at: datetime | None) -> None:
        """Queue a turn."""
        gather(self._writes, self._wakeup.statement(action, at))

    def interrupt(self, action: ActionId) -> None:
        """Queue a turn that does not wait for the one that runs, and fences it."""
        gather(self._writes, self._wakeup.urgent(action))

    def _plan(self, claim: Claim, at: datetime) -> None:
        """Say that the turn is at work, so that the sweeper does not take the action for a lost one.

        A transaction that has done so holds the row's lock, so no later turn can have begun.
        """
        if self._planned != (claim.action, claim.epoch):
            self._fenced(claim, wake_at=at)
            self._planned = (claim.action, claim.epoch)

    def _fenced(self, claim: Claim, **values: Any) -> sa.Row[Any]:
        """Write to the action's row, or raise Fenced: every other write of the turn follows this one."""
        row = self._connection.execute(_FENCED, {**_row_of(claim), **values}).one_or_none()
        if row is None:
            raise Fenced(f"{claim.action}: turn {claim.epoch} is over")
        return row

    def _update_step(self, claim: Claim, **values: Any) -> None:
        if self._of_step is not None and _step_of(self._of_step[0]) != _step_of(claim):
            self.flush()
        unwritten = self._of_step[1] if self._of_step is not None else {}
        self._of_step = (claim, {**unwritten, **values})

    def _journal_wait(self, claim: Claim, waiting: WaitingFor | None) -> None:
        """Write that the action waits for something else than before; a change begins when it is written."""
        if waiting is not None and not waiting.is_for(claim.waiting):
            deadline = waiting.deadline.isoformat() if waiting.deadline else ""
            self._journal(claim, waiting.since, Waiting(waiting.who, waiting.what, deadline))

    def _journal(self, claim: Claim, at: datetime, *facts: Fact) -> None:
        line = Line(claim.action, claim.epoch, claim.step, at, claim.worker)
        journal.project(self._writes, line, facts)
        self._lines += [(line, fact) for fact in facts]


def _control(row: "sa.Row[Any]") -> dict[str, Any]:
    """Return what control verbs have asked for."""
    return {"paused": row.state == RunState.PAUSED.value, "stopped_by": row.stopped_by}


def _row_of(claim: Claim) -> dict[str, Any]:
    return {"of_action": claim.action, "of_epoch": claim.epoch}


def _step_of(claim: Claim) -> tuple[ActionId, StepId | None]:
    return claim.action, claim.step


def _waiting_for(waiting: WaitingFor | None) -> dict[str, Any]:
    return {} if waiting is None else {"waiting_for": waiting.to_json()}


def _memory(state: JsonObject, before: JsonObject) -> dict[str, Any]:
    """Return the columns that hold a state; the fixed text only if it changed."""
    fixed = state.get("fixed")
    columns: dict[str, Any] = {"memory": {name: value for name, value in state.items() if name != "fixed"}}
    return columns if fixed == before.get("fixed") else {**columns, "fixed": fixed}


def _state(memory: JsonObject | None, fixed: str | None) -> JsonObject | None:
    return memory if memory is None or fixed is None else {**memory, "fixed": fixed}
