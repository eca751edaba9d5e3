"""One action with its steps, commands and journal entries, in one statement, unless the caller knows its version.

Rows come as JSON arrays, so the statement returns the same types whatever a migration does to columns: Postgres refuses
a prepared statement whose types have changed.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.codec import decode
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.actions import ActionRecord, CommandRecord, DescribedAction, StepRecord
from shipyard_api.storage.prepared import Prepared

# The last transaction that wrote the action's row. Every change that readers of lists see also writes that row.
VERSION = "xmin::text"
# Work items write to the journal and not to that row, of which all of them would wait for each other.
_VERSION = f"{VERSION} || '.' || coalesce((SELECT max(v.id) FROM journal v WHERE v.action_id = $1), 0)"  # noqa: S608  # constant

VERSION_OF_ACTION = Prepared(
    "version_of_action",
    ("text",),
    f"SELECT {_VERSION} AS version FROM actions WHERE id = $1",  # noqa: S608  # constant
)

DESCRIBED_ACTION = Prepared(
    "described_action",
    ("text", "text[]", "text"),
    f"""
    SELECT version, CASE WHEN version <> $3 THEN json_build_array(
        json_build_array(id, name, parameters, user_name, context_marker, revision, allow_intermediate_commits, state,
            created_at, started_at, ended_at, epoch, waiting_for),
        (SELECT json_agg(json_build_array(s.id, s.position, s.state, s.started_at, s.ended_at, s.detail)
                ORDER BY s.position)
            FROM steps s WHERE s.action_id = $1),
        (SELECT json_agg(json_build_array(c.id, c.command, c.user_name, c.at) ORDER BY c.id)
            FROM command_audit c WHERE c.action_id = $1),
        (SELECT json_agg(json_build_array(j.id, j.epoch, j.step_id, j.at, j.worker, j.kind, j.facts) ORDER BY j.id)
            FROM journal j WHERE j.action_id = $1 AND j.kind = ANY ($2))
    ) END AS shown
    FROM actions, LATERAL (SELECT {_VERSION} AS version OFFSET 0) AS found  -- without OFFSET it would be found twice
    WHERE id = $1
    """,  # noqa: S608  # constant
)
"""Parameters: the id of the action, the kinds of the journal entries, and the version that is known."""


def described(action: ActionId, shown: Sequence[Any]) -> DescribedAction:
    """Return a described action."""
    action_row, steps, commands, entries = shown
    return DescribedAction(_action(action_row), _steps(action, steps), _commands(action, commands), _entries(entries))


def _action(row: Sequence[Any]) -> ActionRecord:
    action_id, name, parameters, user, marker, revision, allow, state, created, started, ended, epoch, waiting = row
    return ActionRecord(
        ActionId(action_id),
        ActionName(name),
        parameters,
        user,
        marker,
        None if revision is None else Revision(revision),
        allow,
        RunState(state),
        datetime.fromisoformat(created),
        _moment(started),
        _moment(ended),
        epoch,
        WaitingFor.from_json(waiting) if waiting else None,
    )


def _steps(action: ActionId, rows: Sequence[Any] | None) -> Sequence[StepRecord]:
    return [
        StepRecord(
            action, StepId(step), position, StepState(state) if state else None, _moment(begun), _moment(ended), detail
        )
        for step, position, state, begun, ended, detail in rows or ()
    ]


def _commands(action: ActionId, rows: Sequence[Any] | None) -> Sequence[CommandRecord]:
    return [
        CommandRecord(command_id, action, command, user, datetime.fromisoformat(at))
        for command_id, command, user, at in rows or ()
    ]


def _entries(rows: Sequence[Any] | None) -> Sequence[JournalEntry]:
    return [
        JournalEntry(
            entry_id, epoch, StepId(step) if step else None, datetime.fromisoformat(at), worker, decode(kind, facts)
        )
        for entry_id, epoch, step, at, worker, kind, facts in rows or ()
    ]


def _moment(written: str | None) -> datetime | None:
    return datetime.fromisoformat(written) if written else None
