"""Server-sent events as bytes (HTML, 9.2.5 and 9.2.6)."""

import json
from typing import Any

import falcon.asgi

from shipyard_api.ports.state.journal import ActionEntry, EventFormat
from shipyard_api.usecases.journal.follow import as_cloud_event, as_fields

RETRY_MS = 2000
_FIELDS = {EventFormat.SHIPYARD: as_fields, EventFormat.CLOUDEVENTS: as_cloud_event}


class Block(falcon.asgi.SSEvent):
    """A part of a stream that is bytes already, since many listeners get the same."""

    def __init__(self, block: bytes) -> None:
        super().__init__()
        self.block = block

    def serialize(self, handler: Any = None) -> bytes:
        """Return the bytes."""
        return self.block


def first(cursor: int) -> Block:
    """Return the beginning of a stream: the caller knows its cursor before there is an event."""
    return Block(f"retry: {RETRY_MS}\nid: {cursor}\n\n".encode())


def heartbeat(cursor: int) -> bytes:
    """Return a comment that keeps the connection alive, with the cursor: other actions may have moved it on."""
    return f": heartbeat\nid: {cursor}\n\n".encode()


def event(action_entry: ActionEntry, written: EventFormat) -> bytes:
    """Return an entry as an event, whose data has this form."""
    data = json.dumps(_FIELDS[written](action_entry), ensure_ascii=False)
    return f"id: {action_entry.entry.id}\nevent: {action_entry.entry.kind}\ndata: {data}\n\n".encode()
