"""Rows of actions as records."""

from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.storage import tables as t

# The columns for readers. Inputs can be large, and only the engine reads them.
SHOWN = tuple(column for column in t.actions.c if column.name not in ("inputs", "limits", "software"))
"""The columns of an ActionRecord."""


def action_record(row: sa.Row[Any]) -> ActionRecord:
    """Return a row of ``actions``."""
    return ActionRecord(
        ActionId(row.id),
        ActionName(row.name),
        row.parameters,
        row.user_name,
        row.context_marker,
        None if row.revision is None else Revision(row.revision),
        row.allow_intermediate_commits,
        RunState(row.state),
        row.created_at,
        row.started_at,
        row.ended_at,
        row.epoch,
        WaitingFor.from_json(row.waiting_for) if row.waiting_for else None,
    )
