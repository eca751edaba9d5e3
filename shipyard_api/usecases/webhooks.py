"""Deliver the events of the journal to a webhook: in order, at least once, each known by its number."""

import json
import logging
import time
from collections.abc import Callable
from typing import NoReturn

from shipyard_api.ports.errors import Busy, PeerError
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.journal import ActionEntry, EventFormat
from shipyard_api.ports.webhooks import Receiver
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.journal.follow import FollowJournal, as_cloud_event, as_fields

LOG = logging.getLogger(__name__)

PAUSE = 3.0
"""Seconds between two looks for news."""

LONGEST_PAUSE = 300.0
"""Seconds between two attempts at a target that does not answer, once it has not for some time."""

HELD_SECONDS = 60.0
"""The time until the claim of a silent worker expires; longer than an attempt takes."""


class DeliverEvents:
    """The use case, for one target and one worker. A failing target delays no other target."""

    def __init__(self, store: Store, receiver: Receiver, worker: str) -> None:
        self._store = store
        self._follow = FollowJournal(store)
        self._receiver = receiver
        self._worker = worker
        self._seen = -1

    def __call__(self) -> float:
        """Deliver new entries, if the target is due and no other worker does; return the seconds to pause."""
        settled = self._follow.ends().settled
        if settled == self._seen:
            return PAUSE
        with self._store.begin() as tx:
            claim = tx.webhooks.claim(self._receiver.name, self._worker, start=settled, seconds=HELD_SECONDS)
        if claim is None:
            return PAUSE
        failures = claim.failures
        # A cursor beyond the end is of entries that a fail-over has lost.
        cursor = min(claim.cursor, settled)
        while cursor < settled:
            page = self._follow.page(cursor, settled)
            for action_entry in page.entries:
                if self._receiver.kinds and action_entry.entry.kind not in self._receiver.kinds:
                    continue
                try:
                    self._receiver.deliver(
                        action_entry.entry.id, action_entry.entry.kind, body(action_entry, self._receiver.format)
                    )
                except PeerError as error:
                    return self._failed(error, action_entry.entry.id, failures)
                if not self._advance(action_entry.entry.id):
                    return PAUSE
                failures = 0
            cursor = page.until
            if not self._advance(cursor):
                return PAUSE
        with self._store.begin() as tx:
            tx.webhooks.release(self._receiver.name, self._worker)
        self._seen = settled
        return PAUSE

    def _advance(self, cursor: int) -> bool:
        with self._store.begin() as tx:
            return tx.webhooks.advance(self._receiver.name, self._worker, cursor, seconds=HELD_SECONDS)

    def _failed(self, error: PeerError, event: int, failures: int) -> float:
        """Record a failed attempt. The log names no address: some have a secret in them."""
        pause = min(2.0 ** min(failures, 20), LONGEST_PAUSE)
        if isinstance(error, Busy) and error.retry_after:
            pause = min(max(pause, error.retry_after), LONGEST_PAUSE)
        fields = {"webhook": self._receiver.name, "event": event, "attempts": failures + 1, "pause": pause}
        LOG.warning("webhook failed", extra={**fields, "trouble": error.detail})
        with self._store.begin() as tx:
            tx.webhooks.failed(self._receiver.name, self._worker, pause=pause)
        return min(pause, PAUSE)


def body(action_entry: ActionEntry, written: EventFormat) -> bytes:
    """Return an event as it is sent to a webhook that wants this form."""
    is_cloud_event = written is EventFormat.CLOUDEVENTS
    fields = (
        as_cloud_event(action_entry) if is_cloud_event else {"id": action_entry.entry.id, **as_fields(action_entry)}
    )
    return json.dumps(fields, ensure_ascii=False).encode()


def deliver_for_ever(deliver: Callable[[], float], sleep: Callable[[float], None] = time.sleep) -> NoReturn:
    """Deliver again and again; an outage of the database is waited for."""
    while True:
        try:
            pause = deliver()
        except StoreUnavailable:
            pause = PAUSE
        except Exception:
            LOG.exception("webhook broke")
            pause = LONGEST_PAUSE
        sleep(pause)
