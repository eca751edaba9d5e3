"""How nodes fared in each phase of the newest actions, and how long the phases took."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.rollout.history import PhaseHistory
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.storage import tables as t

_REACHED = {Phase.PREPARE: NodeStatus.PREPARED, Phase.DEPLOY: NodeStatus.SUCCESS}

# A status with these reasons says nothing about the node: a hold kept it from being sent.
_NOT_SENT = ("held",)


def phase_history(
    connection: sa.Connection, names: Collection[ActionName], *, actions: int, before: ActionId | None
) -> Mapping[Phase, PhaseHistory]:
    """Return the history of both phases."""
    newest = (
        sa.select(t.actions.c.id)
        .where(
            t.actions.c.name.in_(list(names)),
            t.actions.c.id < before if before else sa.true(),
        )
        .order_by(t.actions.c.id.desc())
        .limit(actions)
    )
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


def _by_group(took: Iterable[tuple[str, float]]) -> Mapping[GroupName, Sequence[float]]:
    found: defaultdict[GroupName, list[float]] = defaultdict(list)
    for name, seconds in took:
        found[GroupName(name)].append(seconds)
    return found
