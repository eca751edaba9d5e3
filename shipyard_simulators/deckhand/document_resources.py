"""Buckets and documents: write, read and render them."""

import falcon

from shipyard_simulators.clock import Clock
from shipyard_simulators.deckhand import documents, wire
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.renderings import Renderings
from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.rights import Rights
from shipyard_simulators.deckhand.store import Store
from shipyard_simulators.deckhand.views import View, redacted, selected, view
from shipyard_simulators.faults import PAUSE


class Bucket:
    """The documents of one writer."""

    def __init__(self, store: Store, rights: Rights, clock: Clock) -> None:
        self._store = store
        self._rights = rights
        self._clock = clock

    def on_put(self, req: falcon.Request, resp: falcon.Response, bucket: str) -> None:
        """Replace the whole content of the bucket."""
        self._rights.need("create_cleartext_documents")
        wanted = documents.checked(wire.read_stream(req))
        if any(each["metadata"]["storagePolicy"] == "encrypted" for each in wanted):
            self._rights.need("create_encrypted_documents")
        pause = float(req.env.get(PAUSE, 0))
        revision, rows = self._store.put(bucket, wanted, pause=lambda: self._clock.sleep(pause))
        if rows:
            wire.send_stream(resp, [view(row, row.data, revision=revision) for row in rows])
        elif revision:
            wire.send(resp, {"status": {"bucket": bucket, "revision": revision}})
        else:
            wire.send_stream(resp, [])


class Documents:
    """The documents of a revision as written."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_get(self, req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return the selected documents."""
        self._rights.need("list_cleartext_documents")
        clear = req.get_param_as_bool("cleartext-secrets", default=True)
        revision = _revision(self._store, revision_id)
        shown = selected([view(row, row.data) for row in revision.plain_rows()], req, rendered=False)
        shown = _allowed(shown, self._rights)
        wire.send_stream(resp, [each if clear or not _encrypted(each) else redacted(each) for each in shown])


class RenderedDocuments:
    """The documents of a revision after layering and substitution."""

    def __init__(self, store: Store, renderings: Renderings, rights: Rights) -> None:
        self._store = store
        self._renderings = renderings
        self._rights = rights

    def on_get(self, req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return the selected documents."""
        self._rights.need("list_cleartext_documents")
        clear = req.get_param_as_bool("cleartext-secrets", default=True)
        revision = _revision(self._store, revision_id)
        shown = self._renderings.documents(revision, clear=bool(clear))
        wire.send_stream(resp, selected(_allowed(shown, self._rights), req, rendered=True))


def _revision(store: Store, text: str) -> Revision:
    number = wire.revision_number(text)
    try:
        return store.revision(number)
    except DeckhandError as cause:
        # Document lists answer with the web framework's error, unlike all other routes.
        raise DeckhandError(404, "HTTPNotFound", str(cause)) from cause


def _allowed(shown: list[View], rights: Rights) -> list[View]:
    return shown if rights.has("list_encrypted_documents") else [each for each in shown if not _encrypted(each)]


def _encrypted(document: View) -> bool:
    return bool(document["metadata"]["storagePolicy"] == "encrypted")
