"""Rows as records, by the names of columns, and intents: storage names no field of a record again."""

from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import sqlalchemy as sa

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.turns import Intent
from shipyard_api.storage import tables as t

# The columns for readers. Inputs can be large, and only the engine reads them.
SHOWN = tuple(column for column in t.actions.c if column.name not in ("inputs", "limits", "software"))
"""The columns of an ActionRecord."""

Record = TypeVar("Record")
Convert = Callable[[Any], object]


def record(kind: type[Record], row: "sa.Row[*tuple[Any, ...]]", **more: object) -> Record:
    """Return the record of a row, whose columns have the names of the fields; ``more``: the other fields.

    The column may have ``_id`` or ``_name`` behind the name. Words become members of enumerations, arrays tuples.
    Raises IndexError for a field without a column, also for one with a default.
    """
    for name, place, convert in _columns(cast(Hashable, kind), row._fields):
        if name not in more:
            more[name] = convert(row[place]) if convert and row[place] is not None else row[place]
    return kind(**more)


def action_record(row: sa.Row[Any]) -> ActionRecord:
    """Return a row of ``actions``."""
    waiting = WaitingFor.from_json(row.waiting_for) if row.waiting_for else None
    return record(ActionRecord, row, waiting_for=waiting)


@cache
def _columns(kind: Any, columns: tuple[str, ...]) -> list[tuple[str, int, Convert | None]]:
    """Return the fields, each with the place of its column, and with what makes the value of the field."""
    found = []
    for name, hint in get_type_hints(kind).items():
        column = next((column for column in (name, f"{name}_id", f"{name}_name") if column in columns), None)
        found.append((name, columns.index(column) if column else len(columns), _converter(hint)))
    return found


def _converter(hint: Any) -> Convert | None:
    if get_origin(hint) is tuple:
        return tuple
    return next((kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and issubclass(kind, Enum)), None)


def intent_from(stored: Mapping[str, Any]) -> Intent:
    """Return an intent from its stored form."""
    return Intent(
        marker=Marker(stored["marker"]),
        effect=stored["effect"],
        give_up_at=datetime.fromisoformat(stored["give_up_at"]),
        intended_at=datetime.fromisoformat(stored["intended_at"]),
        attempted_at=datetime.fromisoformat(stored["attempted_at"]),
        attempts=stored["attempts"],
        repeatable=stored.get("repeatable", False),
        touches=tuple(NodeName(node) for node in stored.get("touches", ())),
    )


def intent_json(intent: Intent) -> dict[str, Any]:
    """Return the stored form of an intent."""
    stored = {
        "v": 1,
        "marker": intent.marker,
        "effect": dict(intent.effect),
        "give_up_at": intent.give_up_at.isoformat(),
        "intended_at": intent.intended_at.isoformat(),
        "attempted_at": intent.attempted_at.isoformat(),
        "attempts": intent.attempts,
        **({"touches": list(intent.touches)} if intent.touches else {}),
    }
    return stored | ({"repeatable": True} if intent.repeatable else {})
