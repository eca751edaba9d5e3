"""Steps in full: the record that clients of the engine's API read (contract: shipyard-rest, 7.2)."""

from typing import Any

from shipyard_api.api.airship.action_views import ShownStep, operator, seconds
from shipyard_api.api.entities.types import zulu
from shipyard_api.domain.actions import StepId
from shipyard_api.ports.state.journal import StepRun
from shipyard_api.usecases.actions.describe import ActionRun

# What an engine with queues and pools of its own would have to say, and ours has not.
_NOTHING = (
    "queued_dttm", "unixname", "job_id", "pool", "queue", "pool_slots", "queued_when", "scheduled_when", "executor",
    "executor_config", "note", "rendered_map_index", "trigger", "triggerer_job", "dag_version",
)  # fmt: skip


def record(run: ActionRun, shown: ShownStep) -> dict[str, Any]:
    """Return the record of the latest attempt at a step, without what only some resources add to it.

    Of a bare group id the attempts are those of the step of its group that has most.
    """
    step_records = [step for step in run.steps if step.id == shown.id]
    members = step_records or [step for step in run.steps if step.id.startswith(f"{shown.id}.")]
    runs = [run.runs[member.id] for member in members if member.id in run.runs]
    host, pid = _worker(runs)
    started = zulu(run.action.created_at)
    return {
        **dict.fromkeys(_NOTHING),
        "id": f"{run.action.id}/{shown.id}",
        "task_id": shown.id,
        "task_display_name": shown.id,
        "state": shown.state.value if shown.state else None,
        "dag_id": run.action.name,
        "run_id": run.action.id,
        "dag_run_id": run.action.id,
        "map_index": -1,
        "execution_date": started,
        "logical_date": started,
        "run_after": started,
        "start_date": zulu(shown.started_at),
        "end_date": zulu(shown.ended_at),
        "duration": seconds(shown.started_at, shown.ended_at),
        "try_number": max((len(attempt.failed) + 1 for attempt in runs), default=1),
        "max_tries": 0,
        "priority_weight": _weight(run, members[0].id),
        "operator": operator(shown.id),
        "hostname": host,
        "pid": pid,
        "rendered_fields": {},
        "detail": step_records[0].detail if step_records else "",
    }


def _worker(runs: list[StepRun]) -> tuple[str | None, int | None]:
    """Return the host and the process that began the step, from the name that workers give themselves."""
    if not runs:
        return None, None
    host, _, pid = runs[0].worker.rpartition(":")
    return (host, int(pid)) if host and pid.isdecimal() else (runs[0].worker, None)


def _weight(run: ActionRun, step: StepId) -> int:
    """Return the number of remaining steps, this one included; steps run in sequence."""
    ids = [entry.id for entry in run.steps]
    return len(ids) - ids.index(step)
