"""Nodes that actions left deployed, and what peers showed of them then."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from msgspec.structs import asdict
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on, insert

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.domain.drift.observations import DownNode, LeftNode, MachineObservation, ObservedMember, TakenDownNode
from shipyard_api.domain.hardware.seen import OfNode, Value
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.nodes import Unobserved
from shipyard_api.storage import site_tables as s
from shipyard_api.storage import tables as t
from shipyard_api.storage.nodes import TORN_DOWN, removed, worked_on
from shipyard_api.storage.rows import SHOWN, action_record, record

_ENDED = tuple(state.value for state in ENDED)
_OTHERS = t.actions.alias("other").c  # made once: an alias copies every column of the table


class Observations:
    """Nodes that actions left deployed, with their observations."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def last_of(self, names: Collection[ActionName], *, succeeded: bool) -> ActionRecord | None:
        """Return the newest ended action with one of these names; ``succeeded``: only one that succeeded."""
        actions = t.actions.c
        states = (RunState.SUCCESS.value,) if succeeded else _ENDED
        query = (
            sa.select(*SHOWN)
            .where(actions.name.in_(list(names)), actions.state.in_(states))
            .order_by(actions.id.desc())
            .limit(1)
        )
        row = self._connection.execute(query).one_or_none()
        return action_record(row) if row else None

    def left_nodes(self, since: ActionId) -> Sequence[LeftNode]:
        """Return the nodes that this action or a later one left deployed, as the newest one that worked on each did.

        An empty id: of all actions.
        """
        seen, torn, newest = s.node_sightings.c, t.node_teardowns.c, _newest(since)
        teardown = sa.exists().where(torn.node == newest.c.name, torn.at > newest.c.updated_at)
        query = (
            sa.select(newest, seen.machine, seen.installed, seen.member, teardown.label("torn_down"))
            .select_from(newest)
            .outerjoin(s.node_sightings, sa.and_(seen.name == newest.c.name, seen.action_id == newest.c.action_id))
            .where(newest.c.status == NodeStatus.SUCCESS.value)
            .order_by(newest.c.name)
        )
        return [
            LeftNode(
                NodeName(row.name),
                ActionId(row.action_id),
                row.updated_at,
                None
                if row.machine is None
                else MachineObservation(
                    row.machine, row.installed, ObservedMember(**row.member) if row.member else None
                ),
                in_cluster=not row.torn_down,
            )
            for row in self._connection.execute(query)
        ]

    def taken_down(self, since: ActionId) -> Sequence[TakenDownNode]:
        """Return the nodes that their newest action took down, if it is this one or a later one."""
        by, newest = t.actions.alias("by"), _newest(since)
        query = (
            sa.select(newest, by.c.name.label("action_name"))
            .join_from(newest, by, by.c.id == newest.c.action_id)
            .where(newest.c.reason == TORN_DOWN, by.c.state.in_(_ENDED), ~removed(newest.c))
            .order_by(newest.c.name)
        )
        rows = self._connection.execute(query)
        return [record(TakenDownNode, row, since=row.updated_at) for row in rows]

    def down(self, names: Collection[NodeName]) -> Sequence[DownNode]:
        """Return those of the nodes that an ended action did not leave deployed: their newest that worked on them.

        A node that no action has worked on counts by the newest that had it; one that no action had is left out.
        """
        held, by = t.action_nodes.c, t.actions.alias("by").c
        newest = (
            sa.select(held.name, held.action_id, held.status, held.reason, held.updated_at)
            .where(held.name == sa.any_(sa.cast([*names], ARRAY(sa.Text))))
            .ext(distinct_on(held.name))
            .order_by(held.name, worked_on(held).desc(), held.action_id.desc())
            .subquery()
        )
        query = (
            sa.select(newest, by.name.label("action_name"), by.exclusive, removed(newest.c).label("removed"))
            .where(newest.c.action_id == by.id, newest.c.status != NodeStatus.SUCCESS.value, by.state.in_(_ENDED))
            .order_by(newest.c.name)
        )
        return [
            record(DownNode, row, since=row.updated_at, torn_down=row.reason == TORN_DOWN, in_place=not row.exclusive)
            for row in self._connection.execute(query)
        ]

    def at_work(self) -> Sequence[ActionRecord]:
        """Return the actions that have not ended, in order of creation."""
        query = sa.select(*SHOWN).where(t.actions.c.state.not_in(_ENDED)).order_by(t.actions.c.id)
        return [action_record(row) for row in self._connection.execute(query)]

    def nodes_at_work(self, actions: Collection[ActionId]) -> Mapping[NodeName, ActionId]:
        """Return the nodes that these actions hold, with those that stragglers work on."""
        held, late = t.action_nodes.c, t.stragglers.c
        nodes = sa.select(held.name, held.action_id).where(
            held.action_id == sa.any_(sa.cast([*actions], ARRAY(sa.Text)))
        )
        stragglers = sa.select(sa.func.unnest(late.nodes), late.action_id).where(late.ended_at.is_(None))
        rows = self._connection.execute(sa.union_all(nodes, stragglers))
        return {NodeName(name): ActionId(action) for name, action in rows}

    def to_observe(self, *, now: datetime, pause: float) -> Sequence[Unobserved]:
        """Return ended actions to observe, and postpone them by ``pause`` seconds; none while a site action runs."""
        actions, rows = t.actions.c, s.sighted_actions
        moving = sa.exists().where(_OTHERS.exclusive, _OTHERS.state.not_in(_ENDED))
        new = sa.select(actions.id, sa.literal(now)).where(
            actions.state.in_(_ENDED), actions.exclusive, ~sa.exists().where(rows.c.action_id == actions.id), ~moving
        )
        self._connection.execute(insert(rows).from_select(["action_id", "look_at"], new).on_conflict_do_nothing())
        mine = (
            sa.select(rows.c.action_id)
            .where(rows.c.done_at.is_(None), rows.c.look_at <= now, ~moving)
            .with_for_update(skip_locked=True)
        )
        taken = (
            rows.update()
            .where(rows.c.action_id.in_(mine), actions.id == rows.c.action_id)
            .values(look_at=now + timedelta(seconds=pause))
            .returning(rows.c.action_id, actions.name, actions.parameters, actions.revision, actions.ended_at)
        )
        unobserved = [record(Unobserved, row) for row in self._connection.execute(taken)]
        return sorted(unobserved, key=lambda entry: entry.action)

    def record(
        self,
        observations: Mapping[NodeName, tuple[ActionId, MachineObservation]],
        done: Collection[ActionId],
        *,
        now: datetime,
    ) -> None:
        """Store observations in place of the nodes' earlier ones, and count these actions as observed."""
        rows = [
            {
                "name": name,
                "action_id": action,
                "machine": observation.machine,
                "installed": observation.installed,
                "member": asdict(observation.member) if observation.member else None,
                "at": now,
            }
            for name, (action, observation) in sorted(observations.items())
        ]
        if rows:
            new = insert(s.node_sightings)
            kept = {key: new.excluded[key] for key in ("action_id", "machine", "installed", "member", "at")}
            self._connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=kept), rows)
        self._connection.execute(
            s.sighted_actions.update()
            .where(s.sighted_actions.c.action_id == sa.any_(sa.cast([*done], ARRAY(sa.Text))))
            .values(done_at=now)
        )

    def keep_seen(self, features: Mapping[NodeName, OfNode]) -> None:
        """Keep what was seen of nodes; a feature that was not seen now keeps its value."""
        rows = [
            {"name": node, "features": {name: _stored(value) for name, value in sorted(features[node].items())}}
            for node in sorted(features)  # two that keep the same nodes wait for each other, in one order
        ]
        new = insert(s.seen_hardware)
        merged = s.seen_hardware.c.features.op("||")(new.excluded.features)
        changed = merged != s.seen_hardware.c.features
        kept = new.on_conflict_do_update(index_elements=["name"], set_={"features": merged}, where=changed)
        if rows:
            self._connection.execute(kept, rows)

    def seen(self, nodes: Collection[NodeName]) -> Mapping[NodeName, OfNode]:
        """Return what was seen last of the nodes, of those of which anything was."""
        wanted = s.seen_hardware.c.name == sa.any_(sa.cast([*nodes], ARRAY(sa.Text)))
        rows = self._connection.execute(sa.select(s.seen_hardware).where(wanted))
        return {NodeName(row.name): {name: _value(value) for name, value in row.features.items()} for row in rows}


def _stored(value: Value) -> str | list[str]:
    match value:
        case str():
            return value
    return sorted(value)


def _value(stored: str | list[str]) -> Value:
    match stored:
        case str():
            return stored
    return frozenset(stored)


def _newest(since: ActionId) -> sa.Subquery:
    """Select the newest record of each node that this action or a later one worked on."""
    held = t.action_nodes.c
    return (
        sa.select(held.name, held.action_id, held.status, held.reason, held.updated_at)
        .where(held.action_id >= since, worked_on(held))
        .ext(distinct_on(held.name))
        .order_by(held.name, held.action_id.desc())
        .subquery()
    )
