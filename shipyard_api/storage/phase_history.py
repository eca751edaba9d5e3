"""How nodes fared in each phase of the newest actions, and how long the phases took."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.items import ItemState
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.history import PhaseHistory, TeardownHistory
from shipyard_api.domain.rollout.policy.lateness import ANY, LEAST, PERCENT, Usual
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.teardown.order import DESTROY, DRAIN, LEAVE, WHOLE
from shipyard_api.storage import tables as t

_REACHED = {Phase.PREPARE: NodeStatus.PREPARED, Phase.DEPLOY: NodeStatus.SUCCESS}

# A status with these reasons says nothing about the phase: the node was not sent.
_NOT_SENT = ("held", "hardware")


def phase_history(
    connection: sa.Connection, names: Collection[ActionName], *, actions: int, before: ActionId | None
) -> Mapping[Phase, PhaseHistory]:
    """Return the history of both phases."""
    newest = _newest(names, actions, before)
    changes, phases = t.node_changes.c, t.group_phases.c
    stopped_by = t.actions.c.stopped_by
    # Nor does the end of a job that an operator no longer waits for (``Rollout.stop``).
    stopped = sa.and_(
        stopped_by.is_not(None),
        sa.func.cardinality(changes.details) > 0,
        (sa.literal("stopped by ") + stopped_by) == sa.all_(changes.details),
    )
    outcomes = connection.execute(
        sa.select(changes.phase, changes.status, sa.func.sum(sa.func.cardinality(changes.nodes)).label("nodes"))
        .join(t.actions, t.actions.c.id == changes.action_id)
        .where(
            changes.action_id.in_(newest),
            changes.late.is_(sa.false()),
            sa.func.coalesce(changes.reason, "").not_in(_NOT_SENT),
            ~stopped,
        )
        .group_by(changes.phase, changes.status)
    )
    counts = {(row.phase, row.status): int(row.nodes) for row in outcomes}
    seconds = sa.func.extract("epoch", phases.ended_at - phases.submitted_at).label("seconds")
    took = connection.execute(
        sa.select(phases.phase, phases.group_name, seconds)
        .where(
            phases.action_id.in_(newest),
            phases.ended_at.is_not(None),
            phases.status != PhaseStatus.STOPPED.value,
            # Otherwise the provisioner never began it, and it lasted as long as the queue was allowed to.
            sa.or_(phases.status != PhaseStatus.TIMEOUT.value, phases.running_at.is_not(None)),
        )
        .order_by(seconds)
    ).all()
    return {
        phase: PhaseHistory(
            counts.get((phase.value, NodeStatus.FAILURE.value), 0),
            counts.get((phase.value, reached.value), 0),
            [float(row.seconds) for row in took if row.phase == phase.value],
            _by_group([(row.group_name, float(row.seconds)) for row in took if row.phase == phase.value]),
        )
        for phase, reached in _REACHED.items()
    }


def teardown_history(connection: sa.Connection, *, actions: int, before: ActionId | None) -> TeardownHistory:
    """Return how long servers took that were destroyed, in the newest actions that took any down."""
    down, items = t.node_teardowns.c, t.work_items.c
    earlier = down.action_id < before if before else sa.true()
    newest = sa.select(down.action_id).where(earlier).distinct().order_by(down.action_id.desc()).limit(actions)
    part, node = sa.func.split_part(items.id, "/", 2), sa.func.split_part(items.id, "/", 1)
    seconds = sa.func.sum(sa.func.extract("epoch", items.ended_at - items.started_at))
    whole, alone = seconds.label("whole"), seconds.filter(part == LEAVE).label("alone")
    rows = connection.execute(
        sa.select(whole, alone)
        .where(
            items.action_id.in_(newest),
            items.state == ItemState.SUCCESS.value,
            part.in_([WHOLE, DRAIN, LEAVE, DESTROY]),
        )
        .group_by(items.action_id, items.step_id, node)
        .having(sa.func.bool_or(part.in_([WHOLE, DESTROY])))
        .order_by(whole)
    ).all()
    alone_seconds = sorted(float(row.alone) for row in rows if row.alone is not None)
    return TeardownHistory([float(row.whole) for row in rows], alone_seconds)


def usual_durations(
    connection: sa.Connection, names: Collection[ActionName], models: Mapping[NodeName, str], *, actions: int
) -> Usual:
    """Return how long each phase usually lasts with a node, by hardware profile; of enough nodes that succeeded.

    Seconds from the provisioner's begin, or from the submission if no poll saw it at work, until the node's success.
    """
    changes, phases = t.node_changes.c, t.group_phases.c
    seconds = sa.func.extract("epoch", changes.at - sa.func.coalesce(phases.running_at, phases.submitted_at))
    sent = sa.and_(
        phases.action_id == changes.action_id,
        phases.group_name == changes.group_name,
        phases.phase == changes.phase,
        # The nodes of a change are all of one batch.
        changes.nodes[1] == sa.any_(phases.nodes),
    )
    reached = sa.tuple_(changes.phase, changes.status).in_([(phase.value, at.value) for phase, at in _REACHED.items()])
    took = (
        sa.select(
            changes.phase, sa.cast(seconds, sa.Double).label("seconds"), sa.func.unnest(changes.nodes).label("node")
        )
        .select_from(t.node_changes.join(t.group_phases, sent))
        .where(changes.action_id.in_(_newest(names, actions, None)), changes.late.is_(sa.false()), reached)
        .subquery()
    )
    known = (
        sa.func.unnest(sa.cast(list(models), ARRAY(sa.Text)), sa.cast(list(models.values()), ARRAY(sa.Text)))
        .table_valued("node", "model")
        .render_derived(name="known")
    )
    usual = sa.func.percentile_disc(PERCENT / 100).within_group(took.c.seconds).label("usual")
    rows = connection.execute(
        sa.select(took.c.phase, sa.func.coalesce(known.c.model, ANY).label("model"), usual)
        .select_from(took.outerjoin(known, known.c.node == took.c.node))
        .group_by(sa.func.grouping_sets(sa.tuple_(took.c.phase), sa.tuple_(took.c.phase, known.c.model)))
        # A node of no known profile is in the row of all nodes alone.
        .having(sa.func.count() >= LEAST, sa.or_(sa.func.grouping(known.c.model) == 1, known.c.model.is_not(None)))
    )
    durations: dict[Phase, dict[str, float]] = {}
    for row in rows:
        durations.setdefault(Phase(row.phase), {})[row.model] = row.usual
    return durations


def _newest(names: Collection[ActionName], actions: int, before: ActionId | None) -> "sa.Select[str]":
    action_columns = t.actions.c
    earlier = action_columns.id < before if before else sa.true()
    return (
        sa.select(action_columns.id)
        .where(action_columns.name.in_(list(names)), earlier)
        .order_by(action_columns.id.desc())
        .limit(actions)
    )


def _by_group(took: Iterable[tuple[str, float]]) -> Mapping[GroupName, Sequence[float]]:
    by_group: defaultdict[GroupName, list[float]] = defaultdict(list)
    for name, seconds in took:
        by_group[GroupName(name)].append(seconds)
    return by_group
