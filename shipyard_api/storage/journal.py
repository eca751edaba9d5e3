"""Facts of the domain as rows: a line in the journal each, and the projections that readers are shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts import (
    AttemptFailed,
    GroupChanged,
    GroupStatus,
    JobStarted,
    JoinAwaited,
    MembersKnown,
    NodesChanged,
    NodesKept,
    Noted,
    PhaseEnded,
    PhaseRunning,
    PhaseStarted,
    PhaseStatus,
    RolloutEnded,
    WorkLeftBehind,
)
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.storage import tables as t

STEP_STARTED = "step_started"
"""The kind of the line that is the first one of a step."""
ATTEMPT_FAILED = "attempt_failed"
"""The kind of the lines that end an attempt at a step; the line belongs to the attempt that it ends."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where and when a fact was recorded."""

    action: ActionId
    epoch: int
    step: str | None
    at: datetime
    worker: str


def write(connection: sa.Connection, line: Line, kind: str, facts: Mapping[str, Any]) -> None:
    """Add a line to the journal."""
    connection.execute(t.journal.insert(), [_row(line, kind, facts)])


def _row(line: Line, kind: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "action_id": line.action,
        "epoch": line.epoch,
        "step_id": line.step,
        "kind": kind,
        "at": line.at,
        "worker": line.worker,
        "facts": dict(facts),
    }


def record(connection: sa.Connection, line: Line, facts: Sequence[object]) -> None:
    """Write facts to the journal, in their order, and bring the projections up to date."""
    lines = []
    for fact in facts:
        recorder = _RECORDERS.get(type(fact))
        if recorder is None:
            raise TypeError(f"no place for a fact of type {type(fact).__name__}")
        lines.append(_row(line, *recorder(connection, line, fact)))
    if lines:
        connection.execute(t.journal.insert(), lines)


Recorded = tuple[str, Mapping[str, Any]]


def _members_known(connection: sa.Connection, line: Line, fact: MembersKnown) -> Recorded:
    holders: dict[NodeName, list[str]] = {}
    for group in fact.strategy.groups:
        for node in fact.members[group.name]:
            holders.setdefault(node, []).append(group.name)
    groups = [
        {
            "action_id": line.action,
            "position": index,
            "name": group.name,
            "critical": group.critical,
            "depends_on": list(group.depends_on),
            "status": GroupStatus.NOT_STARTED.value,
        }
        for index, group in enumerate(fact.strategy.groups)
    ]
    nodes = [
        {
            "action_id": line.action,
            "name": node,
            "status": NodeStatus.NOT_STARTED.value,
            "groups": held,
            "updated_at": line.at,
        }
        for node, held in sorted(holders.items())
    ]
    if groups:
        connection.execute(t.deployment_groups.insert(), groups)
    if nodes:
        connection.execute(t.action_nodes.insert(), nodes)
    return "members_known", {"groups": len(groups), "nodes": len(nodes)}


def _phase_started(connection: sa.Connection, line: Line, fact: PhaseStarted) -> Recorded:
    connection.execute(
        t.group_phases.insert().values(
            action_id=line.action,
            group_name=fact.group,
            phase=fact.phase.value,
            batch=fact.batch,
            status=PhaseStatus.RUNNING.value,
            job=fact.job,
            nodes=list(fact.nodes),
            submitted_at=line.at,
        )
    )
    return "phase_started", {
        "group": fact.group,
        "phase": fact.phase.value,
        "batch": fact.batch,
        "job": fact.job,
        "nodes": list(fact.nodes),
    }


def _phase_running(connection: sa.Connection, line: Line, fact: PhaseRunning) -> Recorded:
    phases = t.group_phases
    own = (phases.c.action_id == line.action, phases.c.group_name == fact.group, phases.c.batch == fact.batch)
    connection.execute(phases.update().where(*own, phases.c.phase == fact.phase.value).values(running_at=line.at))
    return "phase_running", {"group": fact.group, "phase": fact.phase.value, "batch": fact.batch}


def _phase_ended(connection: sa.Connection, line: Line, fact: PhaseEnded) -> Recorded:
    ended = {"status": fact.status.value, "message": fact.message, "ended_at": line.at}
    statement = insert(t.group_phases).values(
        action_id=line.action,
        group_name=fact.group,
        phase=fact.phase.value,
        batch=fact.batch,
        job="",
        nodes=[],
        submitted_at=line.at,
        **ended,
    )
    # A phase that could not be handed over has no row yet.
    connection.execute(
        statement.on_conflict_do_update(index_elements=["action_id", "group_name", "phase", "batch"], set_=ended)
    )
    return "phase_ended", {
        "group": fact.group,
        "phase": fact.phase.value,
        "batch": fact.batch,
        "status": fact.status.value,
        "message": fact.message,
    }


def _join_awaited(_connection: sa.Connection, _line: Line, fact: JoinAwaited) -> Recorded:
    return "join_awaited", {"group": fact.group, "batch": fact.batch, "nodes": list(fact.nodes)}


def _group_changed(connection: sa.Connection, line: Line, fact: GroupChanged) -> Recorded:
    reason = fact.reason.value if fact.reason else None
    connection.execute(
        t.deployment_groups.update()
        .where(t.deployment_groups.c.action_id == line.action, t.deployment_groups.c.name == fact.group)
        .values(status=fact.status.value, reason=reason, detail=fact.detail)
    )
    return "group_changed", {
        "group": fact.group,
        "status": fact.status.value,
        "reason": reason,
        "detail": fact.detail,
        "shortfalls": [
            {"criterion": one.criterion.value, "needed": one.needed, "actual": one.actual} for one in fact.shortfalls
        ],
    }


def _nodes_changed(connection: sa.Connection, line: Line, fact: NodesChanged) -> Recorded:
    failed = fact.status is NodeStatus.FAILURE
    reason = ("timeout" if fact.timed_out else fact.phase.value) if failed else None
    said = (
        sa.func.unnest(
            sa.cast(list(fact.nodes), ARRAY(sa.Text)),
            sa.cast([fact.reasons.get(node, "") for node in fact.nodes], ARRAY(sa.Text)),
        )
        .table_valued("name", "detail")
        .render_derived(name="said")
    )
    connection.execute(
        t.action_nodes.update()
        .where(t.action_nodes.c.action_id == line.action, t.action_nodes.c.name == said.c.name)
        .values(
            status=fact.status.value,
            reason=reason,
            detail=said.c.detail,
            group_name=fact.group,
            updated_at=line.at,
        )
    )
    return "nodes_changed", {
        "group": fact.group,
        "phase": fact.phase.value,
        "status": fact.status.value,
        "reason": reason,
        "nodes": list(fact.nodes),
        "details": dict(fact.reasons),
    }


def _rollout_ended(_connection: sa.Connection, _line: Line, fact: RolloutEnded) -> Recorded:
    return "rollout_ended", fact.words


def _work_left_behind(connection: sa.Connection, line: Line, fact: WorkLeftBehind) -> Recorded:
    connection.execute(
        insert(t.stragglers)
        .values(
            action_id=line.action,
            job=fact.job,
            operation=fact.operation,
            design=fact.design,
            nodes=None if fact.nodes is None else list(fact.nodes),
            why=fact.why,
            since=line.at,
            look_at=line.at,
        )
        .on_conflict_do_nothing()
    )
    # Without the address of the design, which may hold a password.
    nodes = None if fact.nodes is None else list(fact.nodes)
    return "work_left_behind", {"operation": fact.operation, "job": fact.job, "nodes": nodes, "why": fact.why}


def _nodes_kept(connection: sa.Connection, line: Line, fact: NodesKept) -> Recorded:
    nodes = t.action_nodes
    connection.execute(
        nodes.update()
        .where(nodes.c.action_id == line.action, nodes.c.name.in_(fact.nodes))
        .values(status=NodeStatus.SUCCESS.value, detail=f"kept: deployed by {fact.action}", updated_at=line.at)
    )
    return "nodes_kept", {"nodes": list(fact.nodes), "action": fact.action}


def _job_started(_connection: sa.Connection, _line: Line, fact: JobStarted) -> Recorded:
    return "job_started", {"operation": fact.operation, "job": fact.job}


def _finding(_connection: sa.Connection, _line: Line, fact: Finding) -> Recorded:
    return "finding", {
        "name": fact.name,
        "level": fact.level.value,
        "message": fact.message,
        "path": fact.path,
        "source": fact.source,
        "documents": [{"schema": ref.schema, "name": ref.name} for ref in fact.documents],
    }


def _noted(_connection: sa.Connection, _line: Line, fact: Noted) -> Recorded:
    return "noted", {"kind": fact.kind, "text": fact.text}


def _attempt_failed(_connection: sa.Connection, _line: Line, fact: AttemptFailed) -> Recorded:
    return ATTEMPT_FAILED, {"attempt": fact.attempt, "why": fact.why, "pause": fact.pause}


_RECORDERS: Mapping[type, Callable[[sa.Connection, Line, Any], Recorded]] = {
    MembersKnown: _members_known,
    PhaseStarted: _phase_started,
    PhaseRunning: _phase_running,
    PhaseEnded: _phase_ended,
    JoinAwaited: _join_awaited,
    GroupChanged: _group_changed,
    NodesChanged: _nodes_changed,
    RolloutEnded: _rollout_ended,
    JobStarted: _job_started,
    WorkLeftBehind: _work_left_behind,
    NodesKept: _nodes_kept,
    Finding: _finding,
    Noted: _noted,
    AttemptFailed: _attempt_failed,
}
