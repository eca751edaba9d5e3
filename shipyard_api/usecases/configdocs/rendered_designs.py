"""Rendered designs, kept for a while: what a revision holds never changes, and rendering it costs time."""

import threading
from collections import OrderedDict
from datetime import datetime

from shipyard_api.domain.documents import Rendering, Revision, inventory
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.documents import DesignStore

# Nobody works with more revisions at a time than the buffer, the committed one and the last site action.
_REVISIONS = 4
_DOCUMENTS = 20_000

_Known = tuple[Revision, datetime]
"""A revision and when it was made: a Deckhand that was emptied counts from 1 again."""


class RenderedDesigns:
    """Renders each revision once; may be asked by several threads."""

    def __init__(self, designs: DesignStore) -> None:
        self._designs = designs
        self._kept: OrderedDict[_Known, Rendering] = OrderedDict()
        self._lock = threading.Lock()
        self._at_work: dict[_Known, threading.Lock] = {}

    def of(self, revision: Revision) -> Rendering:
        """Return the design of a revision, secrets in clear; raises UnknownRevision and RenderingFailed."""
        known = revision, self._designs.revision(revision).created_at
        with self._lock:
            if (kept := self._find(known)) is not None:
                return kept
            turn = self._at_work.setdefault(known, threading.Lock())
        with turn:
            with self._lock:
                if (kept := self._find(known)) is not None:
                    return kept
            try:
                rendering = self._designs.rendered(revision)
                with self._lock:
                    self._keep(known, rendering)
                return rendering
            finally:
                with self._lock:
                    self._at_work.pop(known, None)

    def inventory(self, revision: Revision) -> Inventory:
        """Return the machines of a revision; raises UnknownRevision and RenderingFailed."""
        return inventory(one.document for one in self.of(revision).documents)

    def _find(self, known: _Known) -> Rendering | None:
        kept = self._kept.get(known)
        if kept is not None:
            self._kept.move_to_end(known)
        return kept

    def _keep(self, known: _Known, rendering: Rendering) -> None:
        self._kept[known] = rendering
        while len(self._kept) > 1 and (
            len(self._kept) > _REVISIONS or sum(len(one.documents) for one in self._kept.values()) > _DOCUMENTS
        ):
            self._kept.popitem(last=False)
