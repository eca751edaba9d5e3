"""A cache of rendered designs: revisions never change, and rendering takes time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime

from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.configdocs.versions import committed_revision

# Enough for the buffer, the committed revision and the last site action.
_REVISIONS = 4
_DOCUMENTS = 20_000

_CacheKey = tuple[Revision, datetime]
"""A revision and its creation time: an emptied Deckhand counts from 1 again."""


class RenderedDesigns:
    """Renders each revision once; thread-safe.

    ``remember``: seconds for which ``committed_nodes`` may repeat an answer, for a store that is a peer. ``now``: a
    clock in seconds that never goes back.
    """

    def __init__(
        self, designs: DesignStore, *, remember: float = 0.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._designs = designs
        self._remember, self._now = remember, now
        self._committed: tuple[float, tuple[Revision, Rendering] | None] | None = None
        self._cache: OrderedDict[_CacheKey, Rendering] = OrderedDict()
        self._lock = threading.Lock()
        self._in_progress: dict[_CacheKey, Future[Rendering]] = {}

    def of(self, revision: Revision) -> Rendering:
        """Return the design of a revision, secrets in clear; raises UnknownRevision and RenderingFailed.

        Callers at the same time share one rendering, and its failure.
        """
        key = revision, self._designs.revision(revision).created_at
        with self._lock:
            if (cached := self._find(key)) is not None:
                return cached
            started = self._in_progress.get(key)
            outcome = self._in_progress.setdefault(key, Future())
        if started is not None:
            return started.result()
        try:
            rendering = self._designs.rendered(revision)
        except BaseException as failed:
            self._finish(key)
            outcome.set_exception(failed)
            raise
        self._finish(key, rendering)
        outcome.set_result(rendering)
        return rendering

    def fingerprint(self, text: bytes) -> str:
        """Return the substitute of a text with secrets; see the design store."""
        return self._designs.fingerprint(text)

    def inventory(self, revision: Revision) -> Inventory:
        """Return the machines of a revision; raises UnknownRevision and RenderingFailed."""
        return self.of(revision).machines

    def committed_nodes(self) -> frozenset[NodeName] | None:
        """Return the machines of the committed design; None if there is none, or it cannot be read now."""
        committed = self.committed()
        return None if committed is None else frozenset(committed[1].machines.nodes)

    def committed(self) -> tuple[Revision, Rendering] | None:
        """Return the committed revision and its design; None if there is none, or it cannot be read now.

        The answer is at most ``remember`` seconds old, and not older than the last commit of this process.
        """
        known = self._committed
        if known is not None and self._now() < known[0]:
            return known[1]
        design = self._read_committed()
        self._committed = self._now() + self._remember, design
        return design

    def forget_committed(self) -> None:
        """Let ``committed`` ask the store again."""
        self._committed = None

    def _read_committed(self) -> tuple[Revision, Rendering] | None:
        try:
            committed = committed_revision(self._designs.heads())
            return None if committed is None else (committed, self.of(committed))
        except (RenderingFailed, UnknownRevision, PeerError):
            return None

    def _finish(self, key: _CacheKey, rendering: Rendering | None = None) -> None:
        with self._lock:
            del self._in_progress[key]
            if rendering is not None:
                self._keep(key, rendering)

    def _find(self, key: _CacheKey) -> Rendering | None:
        cached = self._cache.get(key)
        if cached is not None:
            self._cache.move_to_end(key)
        return cached

    def _keep(self, key: _CacheKey, rendering: Rendering) -> None:
        self._cache[key] = rendering
        while len(self._cache) > 1 and (
            len(self._cache) > _REVISIONS or sum(len(cached.documents) for cached in self._cache.values()) > _DOCUMENTS
        ):
            self._cache.popitem(last=False)
