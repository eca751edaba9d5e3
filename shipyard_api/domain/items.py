"""Work items: the durable parts that a step fans out into (product, section 10)."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NewType

from msgspec import Struct

ItemId = NewType("ItemId", str)
"""An item's name, unique within its step."""


class ItemState(Enum):
    """State of a work item. ``stopped``: ended by a stop of its action or step before it had succeeded or failed."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    STOPPED = "stopped"


ENDED_ITEM = frozenset({ItemState.SUCCESS, ItemState.FAILED, ItemState.STOPPED})


class NewItem(Struct, frozen=True):
    """An item to create; ``task`` is what it works from, as JSON. One whose id exists already is left alone."""

    id: ItemId
    task: Mapping[str, Any]


class EndedItem(Struct, frozen=True):
    """An item that has ended: outcome, one sentence, and the last stored state (None: it never began)."""

    id: ItemId
    outcome: ItemState
    detail: str
    state: Mapping[str, Any] | None
