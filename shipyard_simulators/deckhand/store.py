"""The store: revisions in memory, and the calls that create or delete them."""

import json
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError, unknown_revision
from shipyard_simulators.deckhand.revisions import Revision, in_order
from shipyard_simulators.deckhand.rows import POLICY, Identity, Row, is_kind

_LONGEST_BUCKET, _LONGEST_WORD = 36, 64
_SECRETS = "http://barbican/v1/secrets"


class Store:
    """All revisions of all buckets. Thread-safe, as far as the behaviour asks for it."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._lock = threading.RLock()
        self._writers = nullcontext() if behaviour.racing_writers else threading.Lock()
        self._revisions: dict[int, Revision] = {}
        self._buckets: set[str] = set()
        self._next_revision = self._next_row = 1
        self.generation = 0
        """Incremented when everything is deleted, so that a new revision 1 is not taken for the old one."""

    def revisions(self) -> list[Revision]:
        """Return all revisions, oldest first."""
        with self._lock:
            return list(self._revisions.values())

    def revision(self, number: int) -> Revision:
        """Return the revision. Raises DeckhandError."""
        with self._lock:
            if number not in self._revisions:
                raise unknown_revision(number)
            return self._revisions[number]

    def newest(self) -> Revision:
        """Return the newest revision; before the first, an empty one with the number 0."""
        with self._lock:
            return next(reversed(self._revisions.values()), None) or Revision(0, _now(), [], {}, {}, {})

    def policy(self, revision: Revision) -> Row | None:
        """Return the layering policy of a revision: its own, else the newest ever written."""
        own = revision.policies()
        if own:
            return own[0]
        ever = [row for each in self.revisions() for row in each.policies()]
        return max(ever, key=lambda row: row.number, default=None)

    def put(
        self, bucket: str, documents: list[dict[str, Any]], *, pause: Callable[[], None] = lambda: None
    ) -> tuple[int, list[Row]]:
        """Replace the content of the bucket. Return the new revision, or 0, and the rows written.

        ``pause``: called between the conflict check and the write, for tests of racing writers.
        """
        with self._writers:
            with self._lock:
                new_bucket = bucket not in self._buckets
                try:
                    self._refuse_conflicts(bucket, documents)
                    self._refuse_long_words(bucket, documents)
                except DeckhandError:
                    # The number was taken from the sequence before the transaction was rolled back.
                    self._next_revision += 1
                    raise
            pause()
            with self._lock:
                if new_bucket and bucket in self._buckets:
                    self._next_revision += 1
                    raise DeckhandError(500, "DBDuplicateEntry", "Unhandled Exception raised: the bucket exists.")
                return self._store(bucket, documents)

    def _store(self, bucket: str, documents: list[dict[str, Any]]) -> tuple[int, list[Row]]:
        rows = self.newest().rows
        wanted = {_identity(document) for document in documents}
        gone = {key: row for key, row in rows.items() if row.bucket == bucket and key not in wanted}
        if not documents and not gone:
            return 0, []
        self._buckets.add(bucket)
        written = [self._row(bucket, document, rows.get(_identity(document))) for document in documents]
        kept = {key: row for key, row in rows.items() if key not in gone}
        return self._make([bucket], kept, written, gone).number, written

    def _row(self, bucket: str, document: dict[str, Any], before: Row | None) -> Row:
        # The database stores JSON: keys that are not text become text.
        metadata, clear = json.loads(json.dumps([document["metadata"], document["data"]], default=str))
        data = clear
        row = Row(0, bucket, 0, 0, document["schema"], metadata, data, clear)
        unchanged = before is not None and before.bucket == bucket and before.content() == row.content()
        if row.encrypted:
            data = before.data if unchanged and before is not None else f"{_SECRETS}/{uuid.uuid4()}"
        return replace(row, data=data, since=before.since if unchanged and before is not None else 0)

    def _make(
        self, buckets: list[str], kept: dict[Identity, Row], new: list[Row], gone: dict[Identity, Row]
    ) -> Revision:
        """Add a revision with the kept rows and the new ones, which are numbered here."""
        number, self._next_revision = self._next_revision, self._next_revision + 1
        for position, row in enumerate(new):
            new[position] = replace(row, number=self._next_row, revision=number, since=row.since or number)
            self._next_row += 1
        written = {row.identity: row for row in new}
        revision = Revision(number, _now(), sorted(buckets), kept | written, written, gone)
        self._revisions[number] = revision
        return revision

    def roll_back(self, target: int) -> Revision:
        """Create a revision with the contents of the target, or with those that the real Deckhand takes for them."""
        with self._writers, self._lock:
            rows = self.newest().rows
            wanted = self._remembered(self.revision(target)) if target else {}
            new = []
            for old in in_order(wanted.values()):
                current = rows.get(old.identity)
                kept = current is not None and (current.bucket, current.content()) == (old.bucket, old.content())
                new.append(replace(old, since=current.since if kept and current is not None else 0))
            gone = {key: row for key, row in rows.items() if key not in wanted}
            buckets = {row.bucket for row in (*new, *gone.values())}
            return self._make(list(buckets), {}, new, gone)

    def _remembered(self, target: Revision) -> dict[Identity, Row]:
        if not self._behaviour.guessing_rollback:
            return dict(target.rows)
        found = dict(target.written)
        for revision in self._revisions.values():
            if revision.number >= target.number:
                break
            for key, row in revision.written.items():
                if key not in target.deleted:
                    found.setdefault(key, row)
        return found

    def delete_all(self) -> None:
        """Delete everything and number from 1 again."""
        with self._writers, self._lock:
            self._revisions, self._buckets = {}, set()
            self._next_revision = self._next_row = 1
            self.generation += 1

    def _refuse_conflicts(self, bucket: str, documents: list[dict[str, Any]]) -> None:
        seen = set()
        newest = self.newest()
        known = newest.written if self._behaviour.blind_to_owners else newest.rows
        for document in documents:
            key = _identity(document)
            title = f"[{key[0]}, {key[1]}] {key[2]}"
            if key in seen:
                raise DeckhandError(409, "DuplicateDocumentExists", f"Document {title} occurs twice in the body.")
            seen.add(key)
            owner = known[key].bucket if key in known else bucket
            if owner != bucket:
                raise DeckhandError(
                    409, "DuplicateDocumentExists", f"Document {title} already exists in bucket: {owner}."
                )
        policies = {row.identity for row in known.values() if is_kind(row.schema, POLICY)}
        ours = {_identity(document) for document in documents if is_kind(document["schema"], POLICY)}
        if not self._behaviour.blind_to_owners and len(ours) > 1:
            policies |= ours
        if policies and any(policies - {key} for key in ours):
            raise DeckhandError(409, "SingletonDocumentConflict", "A layering policy already exists in the system.")

    def _refuse_long_words(self, bucket: str, documents: Iterable[dict[str, Any]]) -> None:
        words = [word for document in documents for word in _identity(document)]
        if len(bucket) > _LONGEST_BUCKET or any(len(word) > _LONGEST_WORD for word in words):
            raise DeckhandError(
                500, "DBError", "Unhandled Exception raised: value too long for type character varying."
            )


def _identity(document: dict[str, Any]) -> Identity:
    metadata = document["metadata"]
    return document["schema"], str(metadata["layeringDefinition"].get("layer") or ""), metadata["name"]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
