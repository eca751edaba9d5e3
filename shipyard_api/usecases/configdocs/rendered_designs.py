"""A cache of rendered designs: revisions never change, and rendering takes time."""

import threading
from collections import OrderedDict
from datetime import datetime

from shipyard_api.domain.documents import Rendering, Revision, inventory
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.documents import DesignStore

# Enough for the buffer, the committed revision and the last site action.
_REVISIONS = 4
_DOCUMENTS = 20_000

_CacheKey = tuple[Revision, datetime]
"""A revision and its creation time: an emptied Deckhand counts from 1 again."""


class RenderedDesigns:
    """Renders each revision once; thread-safe."""

    def __init__(self, designs: DesignStore) -> None:
        self._designs = designs
        self._cache: OrderedDict[_CacheKey, Rendering] = OrderedDict()
        self._lock = threading.Lock()
        self._in_progress: dict[_CacheKey, threading.Lock] = {}

    def of(self, revision: Revision) -> Rendering:
        """Return the design of a revision, secrets in clear; raises UnknownRevision and RenderingFailed."""
        key = revision, self._designs.revision(revision).created_at
        with self._lock:
            if (cached := self._find(key)) is not None:
                return cached
            in_progress = self._in_progress.setdefault(key, threading.Lock())
        with in_progress:
            with self._lock:
                if (cached := self._find(key)) is not None:
                    return cached
            try:
                rendering = self._designs.rendered(revision)
                with self._lock:
                    self._keep(key, rendering)
                return rendering
            finally:
                with self._lock:
                    self._in_progress.pop(key, None)

    def inventory(self, revision: Revision) -> Inventory:
        """Return the machines of a revision; raises UnknownRevision and RenderingFailed."""
        return inventory(one.document for one in self.of(revision).documents)

    def _find(self, key: _CacheKey) -> Rendering | None:
        cached = self._cache.get(key)
        if cached is not None:
            self._cache.move_to_end(key)
        return cached

    def _keep(self, key: _CacheKey, rendering: Rendering) -> None:
        self._cache[key] = rendering
        while len(self._cache) > 1 and (
            len(self._cache) > _REVISIONS or sum(len(one.documents) for one in self._cache.values()) > _DOCUMENTS
        ):
            self._cache.popitem(last=False)
