"""Follow the new entries of the journal, of one action or of all, each entry once."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from msgspec import Struct

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.domain.facts.fact import JournalFact
from shipyard_api.domain.log_lines import sentence
from shipyard_api.observing import request_context
from shipyard_api.ports.state.journal import ActionEntry, Ends
from shipyard_api.storage.unit_of_work import Store

LONGEST_TEXT = 4000
"""Characters of a sentence: one that names every node of a large site would fill the buffers of each listener."""

_PAGE = 200


class Page(Struct, frozen=True):
    """Entries in order. ``until``: the cursor behind them; no later page has an entry with this id or a lower one."""

    entries: Sequence[ActionEntry]
    until: int


class FollowJournal(Struct, frozen=True):
    """The use case; changes nothing. A cursor is the id of an entry."""

    store: Store

    def check(self, action: ActionId) -> None:
        """Raise ActionNotFound if there is no such action."""
        if self.store.read(lambda tx: tx.actions.get(action)) is None:
            raise ActionNotFound(action)

    def ends(self) -> Ends:
        """Return how far the journal is written and settled."""
        return self.store.read(lambda tx: tx.journal.ends())

    def page(self, after: int, until: int, action: ActionId | None = None) -> Page:
        """Return the entries behind a cursor; ``until`` is settled."""
        read = self.store.read(lambda tx: tx.journal.following(after, until, action=action, limit=_PAGE))
        return Page(read, read[-1].entry.id if read else until)


def as_fields(action_entry: ActionEntry) -> dict[str, Any]:
    """Return an entry as an event: what happened where, in the sentence of the log."""
    entry = action_entry.entry
    text = sentence(entry)
    return {
        "action_id": action_entry.action,
        "action": action_entry.name,
        "at": entry.at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "step": entry.step,
        **_place(entry.fact),
        "kind": entry.kind,
        "text": text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…",
    }


def as_cloud_event(action_entry: ActionEntry) -> dict[str, Any]:
    """Return an entry as a CloudEvent 1.0. Its ``source`` is the address of the action at the API."""
    data, site = as_fields(action_entry), request_context.site()
    subject = {"subject": action_entry.entry.step} if action_entry.entry.step else {}
    return {
        "specversion": "1.0",
        "id": str(action_entry.entry.id),
        "source": f"{f'/sites/{site}' if site else ''}/api/v1.0/actions/{action_entry.action}",
        "type": f"shipyard.{action_entry.entry.kind}",
        **subject,
        "time": data["at"],
        "datacontenttype": "application/json",
        "data": data,
    }


def _place(fact: JournalFact) -> dict[str, str]:
    """Return the group and the node that a fact is about; none of several nodes."""
    group, node, nodes = (getattr(fact, name, None) for name in ("group", "node", "nodes"))
    if node is None and isinstance(nodes, Sequence) and len(nodes) == 1:
        node = nodes[0]
    return {name: value for name, value in (("group", group), ("node", node)) if value}
