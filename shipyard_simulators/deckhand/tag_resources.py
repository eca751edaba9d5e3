"""Tags of revisions."""

from collections.abc import Callable
from typing import Any

import falcon

from shipyard_simulators.deckhand import wire
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.rights import Rights
from shipyard_simulators.deckhand.store import Store

_LONGEST_TAG = 64


class Tags:
    """All tags of a revision."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return them with their data."""
        self._rights.need("list_tags")
        wire.send(resp, self._store.revision(wire.revision_number(revision_id)).tag_data())

    def on_delete(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Delete all of them."""
        self._rights.need("delete_tags")
        self._store.revision(wire.revision_number(revision_id)).tags.clear()
        resp.status = falcon.HTTP_204


class OneTag:
    """One tag of a revision."""

    def __init__(self, store: Store, rights: Rights, behaviour: Behaviour) -> None:
        self._store = store
        self._rights = rights
        self._piling = behaviour.piling_tags

    def on_post(self, req: falcon.Request, resp: falcon.Response, revision_id: str, tag: str) -> None:
        """Set it."""
        self._rights.need("create_tag")
        body = wire.read_stream(req)
        data = body[0] if body else {}
        number = wire.revision_number(revision_id)
        revision = self._broken_on(404, lambda: self._store.revision(number))
        if not isinstance(data, dict):
            self._broken_on(400, _refuse_data)
        if len(tag) > _LONGEST_TAG:
            raise DeckhandError(
                500, "DBError", "Unhandled Exception raised: value too long for type character varying."
            )
        if not self._piling:
            revision.tags[:] = [each for each in revision.tags if each[0] != tag]
        revision.tags.append((tag, data))
        wire.send(resp, {tag: data}, 201)

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str, tag: str) -> None:
        """Return its data; a tag that was set twice can no longer be shown."""
        self._rights.need("show_tag")
        found = self._found(revision_id, tag)
        if len(found) > 1:
            raise DeckhandError(
                500, "MultipleResultsFound", "Unhandled Exception raised: Multiple rows were found for one()."
            )
        wire.send(resp, {tag: found[0]})

    def on_delete(self, _req: falcon.Request, resp: falcon.Response, revision_id: str, tag: str) -> None:
        """Delete it, however often it was set."""
        self._rights.need("delete_tag")
        self._found(revision_id, tag)
        revision = self._store.revision(wire.revision_number(revision_id))
        revision.tags[:] = [each for each in revision.tags if each[0] != tag]
        resp.status = falcon.HTTP_204

    def _found(self, revision_id: str, tag: str) -> list[dict[str, Any]]:
        revision = self._store.revision(wire.revision_number(revision_id))
        found = [data for name, data in revision.tags if name == tag]
        if not found:
            message = f"The requested tag {tag} for revision {revision_id} was not found."
            raise DeckhandError(404, "RevisionTagNotFound", message)
        return found

    def _broken_on(self, status: int, look: Callable[[], Revision]) -> Revision:
        """Return the result; where a correct service rejects with the status, the real one breaks."""
        try:
            return look()
        except DeckhandError as cause:
            if self._piling and cause.status == status:
                message = "Unhandled Exception raised: 'NoneType' object has no attribute."
                raise DeckhandError(500, "AttributeError", message) from cause
            raise


def _refuse_data() -> Revision:
    raise DeckhandError(400, "HTTPBadRequest", "The data of a tag has to be a mapping.")
