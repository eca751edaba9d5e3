"""Read rows of phases of deployment groups."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from shipyard_api.ports.state.groups import PhaseRecord
from shipyard_api.storage import tables as t

# Rows of one transaction have the same time, and prepare comes first.
IN_ORDER = (t.group_phases.c.submitted_at, t.group_phases.c.phase.desc(), t.group_phases.c.batch)


def phase(row: sa.Row[Any], nodes: Sequence[str]) -> PhaseRecord:
    """Return the phase of a row. ``nodes``: the nodes that it sent, or a selection of them."""
    return PhaseRecord(
        row.phase,
        row.batch,
        row.status,
        row.job,
        nodes,
        row.message,
        row.submitted_at,
        row.running_at,
        row.ended_at,
    )
