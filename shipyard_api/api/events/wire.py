"""Server-sent events as bytes (HTML, 9.2.5 and 9.2.6)."""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

import falcon.asgi

from shipyard_api.domain.facts.fact import JournalFact
from shipyard_api.domain.log_lines import sentence
from shipyard_api.ports.state.journal import ActionEntry

# Characters of a sentence: one that names every node of a large site would fill the buffers of each listener.
LONGEST_TEXT = 4000
RETRY_MS = 2000


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


def event(found: ActionEntry) -> bytes:
    """Return an entry as an event."""
    entry = found.entry
    text = sentence(entry)
    data = {
        "action_id": found.action,
        "action": found.name,
        "at": entry.at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "step": entry.step,
        **_place(entry.fact),
        "kind": entry.kind,
        "text": text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…",
    }
    return f"id: {entry.id}\nevent: {entry.kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _place(fact: JournalFact) -> dict[str, str]:
    """Return the group and the node that a fact is about; none of several nodes."""
    group, node, nodes = (getattr(fact, name, None) for name in ("group", "node", "nodes"))
    if node is None and isinstance(nodes, Sequence) and len(nodes) == 1:
        node = nodes[0]
    return {name: value for name, value in (("group", group), ("node", node)) if value}
