"""A cache of renderings: each revision is rendered once."""

import threading
from dataclasses import dataclass

from shipyard_simulators.deckhand import data_schemas
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.rendering import render
from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.rows import DATA_SCHEMA
from shipyard_simulators.deckhand.store import Store
from shipyard_simulators.deckhand.views import View, redacted, view


@dataclass(frozen=True, slots=True)
class _Kept:
    view: View
    readable_secret: bool


class Renderings:
    """Rendered documents by revision. With a single cache, the first reading decides what later ones show."""

    def __init__(self, store: Store, behaviour: Behaviour) -> None:
        self._store = store
        self._behaviour = behaviour
        self._kept: dict[tuple[int, int, bool], list[_Kept]] = {}
        self._lock = threading.Lock()

    def documents(self, revision: Revision, *, clear: bool) -> list[View]:
        """Return the rendered documents of the revision. Raises DeckhandError if rendering fails."""
        key = (self._store.generation, revision.number, clear or self._behaviour.one_cache)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._rendered(revision, clear=clear)
            kept = self._kept[key]
        # A redacted reading always redacts encrypted documents; all others stay as cached.
        return [redacted(each.view) if not clear and each.readable_secret else each.view for each in kept]

    def _rendered(self, revision: Revision, *, clear: bool) -> list[_Kept]:
        documents = render(revision.plain_rows(), self._store.policy(revision), self._behaviour)
        data_schemas.check(documents, self._store.newest().policies(DATA_SCHEMA))
        kept = []
        for each in documents:
            shown = view(each.row, each.data)
            hidden = not clear and (each.row.encrypted or each.tainted)
            kept.append(_Kept(redacted(shown) if hidden else shown, each.row.encrypted and not hidden))
        return kept
