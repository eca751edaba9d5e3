"""Actions, their steps, and the projections for readers; lists of them with filters."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from ulid import ULID

from shipyard_api.domain.actions import (
    NODE_OPERATION,
    ActionId,
    ActionName,
    ActionState,
    Control,
    RunState,
)
from shipyard_api.domain.approvals import Approval, WaveGate
from shipyard_api.domain.errors import SiteActionRunning
from shipyard_api.domain.facts.actions import ACKNOWLEDGED, Noted
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.reconciliation import Doubt, JobAnswers
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.observing.telemetry import traceparent
from shipyard_api.ports.state.actions import (
    FURTHER,
    LIMITS,
    NO_FILTERS,
    ActionFilters,
    ActionRecord,
    DescribedAction,
    NewAction,
    RunningSiteAction,
    StepRecord,
    Successor,
)
from shipyard_api.ports.state.errors import RequestKeyTaken
from shipyard_api.ports.state.groups import GroupRecord
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.storage import description, journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.groups import groups_of_action
from shipyard_api.storage.nodes import Wanted, nodes_of_action
from shipyard_api.storage.projections import Line
from shipyard_api.storage.rows import SHOWN, action_record, record
from shipyard_api.storage.site_actions import MOVING, newest_successor, on_nodes, on_site
from shipyard_api.storage.site_tables import plans
from shipyard_api.storage.turns import Turns


def filtered(
    query: "sa.Select[Any]", filters: ActionFilters, after: ActionId | None, *, descending: bool, limit: int | None
) -> "sa.Select[Any]":
    """Return the query with the filters applied, in order."""
    actions = t.actions.c
    if filters.names:
        query = query.where(actions.name.in_(list(filters.names)))
    if filters.states is not None:
        query = query.where(actions.state.in_([state.value for state in filters.states]))
    if filters.users:
        query = query.where(actions.user_name.in_(filters.users))
    if filters.since is not None:
        query = query.where(actions.created_at >= filters.since)
    if after is not None:
        query = query.where(actions.id < after if descending else actions.id > after)
    return query.order_by(actions.id.desc() if descending else actions.id).limit(limit)


# Any number that no other advisory lock in this database uses.
_CREATION_LOCK = 0x5317_ACC7

SERVER = "server"
"""Key in a connection's info for the start time of its server."""

_ONE = sa.select(*SHOWN).where(t.actions.c.id == sa.bindparam("of_action"))
_VERSION: sa.ColumnElement[str] = sa.literal_column(f"actions.{description.VERSION}").label("version")


class Actions:
    """Actions, their steps, groups, nodes and command audit."""

    def __init__(self, connection: sa.Connection, turns: Turns) -> None:
        self._connection = connection
        self._turns = turns

    def create(self, action: NewAction) -> ActionRecord:
        """Insert the action with its steps, its audit line, its first facts and its first wake-up.

        Raises RequestKeyTaken, or SiteBusy if another action excludes it; then nothing was inserted. A unique index
        decides whether another site action is running, a lock whether a run is.
        """
        anywhere = action.nodes is None
        if action.exclusive:
            self.lock_creation()
            running = on_nodes(self._connection, None) if anywhere else self.running_site_action(action.nodes)
            if running:
                raise SiteActionRunning(*running)
        values = {
            "id": action.id,
            "name": action.name,
            "parameters": dict(action.parameters),
            "user_name": action.user,
            "context_marker": action.context_marker,
            "traceparent": traceparent() or None,
            "revision": action.revision,
            "allow_intermediate_commits": action.allow_intermediate_commits,
            "idempotency_key": action.key.key if action.key else None,
            "request_digest": action.key.digest if action.key else None,
            "caller": action.key.caller if action.key else None,
            "exclusive": action.exclusive and anywhere,
            "inputs": dict(action.inputs),
            "software": action.software,
            "state": RunState.QUEUED.value,
            "wake_at": sa.func.site_time(),
            "created_at": sa.func.site_time(),
        }
        row = self._insert(values)
        while row is None:
            # The conflicting action ended between the insert and the query for it.
            row = self._insert(values)
        self._connection.execute(
            t.steps.insert(),
            [
                {"action_id": action.id, "position": index, "id": step}
                for index, step in enumerate(action.steps, start=1)
            ],
        )
        if action.plan:
            used = plans.update().where(plans.c.id == action.plan).values(action_id=action.id)
            self._connection.execute(used)
        self._audit(action.id, "invoke", action.user)
        journal.record(self._connection, Line(action.id, row.epoch, None, row.created_at, "api"), action.facts)
        self._turns.wake(action.id, None)
        return action_record(row)

    def _insert(self, values: Mapping[str, Any]) -> sa.Row[Any] | None:
        """Return the row of a new action, None if another one blocked it and has ended since."""
        try:
            with self._connection.begin_nested():
                return self._connection.execute(t.actions.insert().values(**values).returning(*SHOWN)).one()
        except IntegrityError as error:
            constraint = error.orig.diag.constraint_name if error.orig else ""  # type: ignore[attr-defined]  # psycopg2's own error
            if constraint == t.ONE_FOR_EACH_KEY:
                raise RequestKeyTaken from error
            if constraint != t.ONE_SITE_ACTION:
                raise
            running = self.running_site_action()
            if running is not None:
                raise SiteActionRunning(*running) from error
            return None

    def with_key(self, caller: str, key: str) -> tuple[ActionRecord, bytes] | None:
        """Return the action that this caller created with this key, and the digest of its request."""
        actions = t.actions.c
        row = self._connection.execute(
            sa.select(*SHOWN).where(actions.caller == caller, actions.idempotency_key == key)
        ).one_or_none()
        return (action_record(row), row.request_digest) if row else None

    def lock_creation(self) -> None:
        """Let no other site action and no other node operation be created until the transaction has ended.

        Later reads are complete: each creation takes this lock before it reads rivals.
        """
        self._connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))

    def node_operations(self) -> Sequence[ActionRecord]:
        """Return the node operations that have not ended, in order of creation."""
        columns = t.actions.c
        query = sa.select(*SHOWN).where(columns.name == NODE_OPERATION, columns.state.in_(MOVING))
        return [action_record(row) for row in self._connection.execute(query.order_by(columns.id))]

    def ended(self, actions: Collection[ActionId]) -> Collection[ActionId]:
        """Return those of the actions that have ended."""
        columns = t.actions.c
        query = sa.select(columns.id).where(columns.id.in_(actions), columns.state.not_in(MOVING))
        return [ActionId(action) for action in self._connection.execute(query).scalars()]

    def running_site_action(self, nodes: Collection[NodeName] | None = None) -> RunningSiteAction | None:
        """Return the first site action that has not ended and may work on one of the nodes (None: of any), if any."""
        return on_site(self._connection) or on_nodes(self._connection, nodes)

    def get(self, action: ActionId) -> ActionRecord | None:
        """Return the action."""
        row = self._connection.execute(_ONE, {"of_action": action}).one_or_none()
        return action_record(row) if row else None

    def matching(
        self,
        filters: ActionFilters = NO_FILTERS,
        *,
        after: ActionId | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> Sequence[ActionRecord]:
        """Return the actions that pass the filters, in order of creation or ``descending``.

        ``after``: only those that follow this id in that order. ``limit``: how many at most.
        """
        query = filtered(sa.select(*SHOWN), filters, after, descending=descending, limit=limit)
        return [action_record(row) for row in self._connection.execute(query)]

    def by_ids(self, actions: Collection[ActionId]) -> Sequence[ActionRecord]:
        """Return these actions, in order of creation."""
        id_column = t.actions.c.id
        return [
            action_record(row)
            for row in self._connection.execute(sa.select(*SHOWN).where(id_column.in_(actions)).order_by(id_column))
        ]

    def version(self, action: ActionId) -> str | None:
        """Return an opaque version that changes whenever the action's representation does; None for no action.

        It names the server and the last transaction that wrote the action's row.
        """
        row = description.VERSION_OF_ACTION.one(self._connection, action)
        return None if row is None else f"{self._connection.info.get(SERVER, '')} {row.version}"

    def versions(
        self,
        filters: ActionFilters = NO_FILTERS,
        *,
        after: ActionId | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> Sequence[tuple[ActionId, str]]:
        """Return the versions of the actions that ``matching`` returns for the same arguments.

        They change with the action and its steps, but not with every entry of work items, as ``version`` does.
        """
        query = filtered(sa.select(t.actions.c.id, _VERSION), filters, after, descending=descending, limit=limit)
        server = self._connection.info.get(SERVER, "")
        return [(action, f"{server} {version}") for action, version in self._connection.execute(query)]

    def created_at(self, name: ActionName, moment: datetime) -> ActionRecord | None:
        """Return the action of that name that was created at exactly that moment."""
        query = sa.select(*SHOWN).where(t.actions.c.name == name, t.actions.c.created_at == moment)
        row = self._connection.execute(query.order_by(t.actions.c.id).limit(1)).one_or_none()
        return action_record(row) if row else None

    def steps(self, actions: Collection[ActionId]) -> Mapping[ActionId, Sequence[StepRecord]]:
        """Return the steps of these actions, in order."""
        steps = t.steps.c
        columns = (
            steps.action_id,
            steps.id,
            steps.position,
            steps.state,
            steps.started_at,
            steps.ended_at,
            steps.detail,
        )
        by_action: defaultdict[ActionId, list[StepRecord]] = defaultdict(list)
        for row in self._connection.execute(
            sa.select(*columns).where(steps.action_id.in_(actions)).order_by(steps.action_id, steps.position)
        ):
            by_action[ActionId(row.action_id)].append(record(StepRecord, row, index=row.position))
        return by_action

    def described(
        self, action: ActionId, kinds: Collection[str], known: str = ""
    ) -> tuple[str, DescribedAction | None] | None:
        """Return the version of the action and, unless that is the known one, the action; None if it is missing.

        The action comes with its journal entries of these kinds. Both are as of one moment.
        """
        server = f"{self._connection.info.get(SERVER, '')} "
        of_server = known.removeprefix(server) if known.startswith(server) else ""
        row = description.DESCRIBED_ACTION.one(self._connection, action, list(kinds), of_server)
        if row is None:
            return None
        return server + row.version, description.described(action, row.shown) if row.shown else None

    def groups(
        self, action: ActionId, *, status: Collection[str], group: Collection[str], after: int, limit: int
    ) -> Sequence[GroupRecord]:
        """Return deployment groups after the given index, in order; an empty filter passes all.

        Each has its phases, and the count of its nodes by status.
        """
        return groups_of_action(self._connection, action, status=status, group=group, after=after, limit=limit)

    def nodes(
        self,
        action: ActionId,
        *,
        status: Collection[str],
        group: Collection[str],
        names: Collection[str] = (),
        after: str,
        limit: int,
    ) -> Sequence[NodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter passes all."""
        return nodes_of_action(self._connection, action, Wanted(status, group, names, after, limit))

    def inputs(self, action: ActionId) -> JsonObject:
        """Return the frozen inputs of the action."""
        stored: JsonObject = self._connection.execute(
            sa.select(t.actions.c.inputs).where(t.actions.c.id == action)
        ).scalar_one()
        return stored

    def software(self, action: ActionId) -> JsonObject | None:
        """Return what the action has frozen of the site's task graph; None if it was created without."""
        query = sa.select(t.actions.c.software).where(t.actions.c.id == action)
        stored: JsonObject | None = self._connection.execute(query).scalar_one_or_none()
        return stored

    def further(self, actions: Collection[ActionId]) -> Mapping[ActionId, JsonObject]:
        """Return what these actions' inputs have under FURTHER, without those that have nothing."""
        column = t.actions.c.inputs[FURTHER]
        query = sa.select(t.actions.c.id, column.label("further")).where(
            t.actions.c.id.in_(actions), column.is_not(None)
        )
        return {ActionId(row.id): row.further for row in self._connection.execute(query)}

    def control(self, action: ActionId, control: Control, user: str) -> ActionState | None:
        """Pause, unpause or stop the action if its state allows it, with a line in its audit.

        Return its state before, None if there is no such action. A refused control changes nothing. The row lock
        serializes controls.
        """
        actions = t.actions
        row = self._connection.execute(
            sa.select(actions.c.state, actions.c.stopped_by).where(actions.c.id == action).with_for_update()
        ).one_or_none()
        if row is None:
            return None
        state = ActionState(RunState(row.state), stopped=row.stopped_by is not None)
        if state.refusal(control) is not None:
            return state
        now = sa.func.site_time()
        values: dict[Control, dict[str, Any]] = {
            Control.PAUSE: {"state": RunState.PAUSED.value},
            Control.UNPAUSE: {"state": RunState.RUNNING.value, "wake_at": now},
            Control.STOP: {"state": RunState.RUNNING.value, "stopped_by": user, "wake_at": now},
        }
        self._connection.execute(actions.update().where(actions.c.id == action).values(**values[control]))
        self._audit(action, control.value, user)
        if control is Control.STOP:
            self._turns.interrupt(action)
        elif control is Control.UNPAUSE:
            self._turns.wake(action, None)
        return state

    def lock(self, action: ActionId) -> None:
        """Lock an action, if it exists, until the transaction has ended; no turn writes meanwhile."""
        self._connection.execute(sa.select(t.actions.c.id).where(t.actions.c.id == action).with_for_update())

    def limits(self, action: ActionId) -> TeardownLimits:
        """Return the limits of an action: those that were set, else those of its inputs, else the defaults.

        The action has frozen the JSON of its limits in its inputs under LIMITS.
        """
        columns = t.actions.c
        query = sa.select(sa.func.coalesce(columns.limits, columns.inputs[LIMITS])).where(columns.id == action)
        stored = self._connection.execute(query).scalar_one()
        return TeardownLimits() if stored is None else TeardownLimits.from_json(stored)

    def set_limits(self, action: ActionId, limits: TeardownLimits, user: str, text: str) -> None:
        """Set the limits of an action, with a line in its audit and ``text`` as a note, and wake it."""
        columns = t.actions.c
        wake_at = sa.case((columns.state == RunState.RUNNING.value, sa.func.site_time()), else_=columns.wake_at)
        note = Noted("Limits Changed", text)
        self._note(action, user, "set limits", note, limits=dict(limits.to_json()), wake_at=wake_at)
        self._turns.wake(action, None)

    def doubts(self, action: ActionId) -> tuple[Sequence[Doubt], JobAnswers]:
        """Return what an operator is asked about jobs whose record may be lost, and what was answered so far."""
        columns, items = t.actions.c, t.work_items.c
        row = self._connection.execute(
            sa.select(columns.waiting_for, columns.job_answers).where(columns.id == action)
        ).one()
        open_items = (items.action_id == action, items.ended_at.is_(None), items.waiting_for.is_not(None))
        waits = self._connection.execute(sa.select(items.waiting_for).where(*open_items).order_by(items.position))
        stored = [row.waiting_for, *waits.scalars()]
        doubts = [Doubt.from_json(wait["doubt"]) for wait in stored if wait and "doubt" in wait]
        return doubts, JobAnswers.from_json(row.job_answers) if row.job_answers else JobAnswers()

    def approvals(self, action: ActionId) -> tuple[Sequence[WaveGate], Sequence[Approval]]:
        """Return the gates that an action waits for, answered or not, and the answers so far, the oldest first."""
        columns = t.actions.c
        row = self._connection.execute(
            sa.select(columns.waiting_for, columns.approvals).where(columns.id == action)
        ).one()
        gates = [WaveGate.from_json(gate) for gate in (row.waiting_for or {}).get("gates", ())]
        return gates, [Approval.from_json(given) for given in row.approvals or ()]

    def approve(self, action: ActionId, approvals: Sequence[Approval], user: str, text: str) -> None:
        """Set the answers to gates, with a line in the audit and a note (``text``). A running action looks at once."""
        columns = t.actions.c
        wake_at = sa.case((columns.state == RunState.RUNNING.value, sa.func.site_time()), else_=columns.wake_at)
        stored = [approval.to_json() for approval in approvals]
        self._note(action, user, "approve", Noted("Wave Approval", text), approvals=stored, wake_at=wake_at)
        self._turns.wake(action, None)

    def answer_doubts(self, action: ActionId, answers: JobAnswers, user: str, text: str) -> None:
        """Set the owners of jobs whose record may be lost, with a line in the audit and a note (``text``).

        A running action looks at once.
        """
        columns = t.actions.c
        wake_at = sa.case((columns.state == RunState.RUNNING.value, sa.func.site_time()), else_=columns.wake_at)
        note = Noted("History Reconciled", text)
        self._note(action, user, "reconcile", note, job_answers=dict(answers.to_json()), wake_at=wake_at)
        self._turns.wake(action, None)

    def acknowledge(self, action: ActionId, user: str, text: str) -> None:
        """Acknowledge the failures of an action, in its audit and with ``text`` as a note; only the first counts.

        The row lock serializes callers.
        """
        self.lock(action)
        audit, command = t.command_audit.c, Control.ACKNOWLEDGE.value
        earlier = sa.select(audit.id).where(audit.action_id == action, audit.command == command).limit(1)
        if self._connection.execute(earlier).one_or_none() is None:
            # A write gives the action a new version, without which its cached representation stays.
            self._note(action, user, command, Noted(ACKNOWLEDGED, text), user_name=t.actions.c.user_name)

    def deployed(self, action: ActionId) -> Sequence[NodeName]:
        """Return the nodes of the action that are deployed, in order of name."""
        nodes = t.action_nodes.c
        rows = self._connection.execute(
            sa.select(nodes.name)
            .where(nodes.action_id == action, nodes.status == NodeStatus.SUCCESS.value)
            .order_by(nodes.name)
        )
        return [NodeName(row.name) for row in rows]

    def successor(self, action: ActionRecord) -> Successor | None:
        """Return the newest site action that overtook this one: on the same nodes, or with another revision.

        If the nodes of this one are unknown, work on any node counts.
        """
        return newest_successor(self._connection, action)

    def _note(self, action: ActionId, user: str, command: str, note: Noted, **values: Any) -> None:
        """Write the row of an action, with a line in its audit and a note."""
        query = t.actions.update().where(t.actions.c.id == action).values(**values)
        row = self._connection.execute(query.returning(t.actions.c.epoch, sa.func.site_time().label("at"))).one()
        self._audit(action, command, user)
        journal.record(self._connection, Line(action, row.epoch, None, row.at, "api"), [note])

    def _audit(self, action: ActionId, command: str, user: str) -> None:
        values = {"id": str(ULID()), "action_id": action, "command": command, "user_name": user}
        self._connection.execute(t.command_audit.insert().values(**values, at=sa.func.site_time()))
