"""Revisions: list, show, compare, roll back and delete them."""

from collections.abc import Mapping
from typing import Any

import falcon

from shipyard_simulators.deckhand import diffs, wire
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.renderings import Renderings
from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.rights import Rights
from shipyard_simulators.deckhand.rows import VALIDATION_POLICY
from shipyard_simulators.deckhand.store import Store

_URL = f"https://deckhand{wire.API}/revisions"


class Revisions:
    """All revisions."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return those with one of the requested tags. Of all other query options, only sorting by id has an effect."""
        self._rights.need("list_revisions")
        tags = set(req.get_param_as_list("tag") or [])
        results = [
            {
                "id": revision.number,
                "createdAt": revision.created_at,
                "buckets": revision.buckets,
                "tags": sorted(revision.tag_data()),
            }
            for revision in self._store.revisions()
            if not tags or tags & set(revision.tag_data())
        ]
        if req.get_param_as_list("sort") == ["id"] and req.get_param("order") == "desc":
            results.reverse()
        wire.send(resp, {"count": len(results), "results": results})

    def on_delete(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Delete everything."""
        self._rights.need("delete_revisions")
        self._store.delete_all()
        resp.status = falcon.HTTP_204


class OneRevision:
    """One revision."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return it."""
        self._rights.need("show_revision")
        revision = self._store.revision(wire.revision_number(revision_id))
        wire.send(resp, shown(revision))


class Rollback:
    """A rollback to a revision."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_post(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Create a new revision with the contents of an old one."""
        self._rights.need("create_cleartext_documents")
        revision = self._store.roll_back(wire.revision_number(revision_id))
        # The real Deckhand answers before it knows which buckets it wrote.
        wire.send(resp, {**shown(revision), "buckets": []}, 201)


class Diff:
    """The differences between the buckets of two revisions, in either order."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str, other: str) -> None:
        """Return the change of every bucket."""
        self._rights.need("show_revision_diff")
        pair = _pair(self._store, revision_id, other)
        old, new = sorted(pair, key=lambda revision: (revision.number > 0, revision.created))
        wire.send(resp, diffs.bucket_changes(old, new))


class DeepDiff:
    """The differences between the rendered documents of two revisions, from the first to the second."""

    def __init__(self, store: Store, renderings: Renderings, rights: Rights) -> None:
        self._store = store
        self._renderings = renderings
        self._rights = rights

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str, other: str) -> None:
        """Return the change of every bucket, and the changes inside modified ones."""
        self._rights.need("show_revision_deepdiff")
        pair = _pair(self._store, revision_id, other)
        empty = [revision for revision in pair if revision.number == 0]
        old, new = (*empty, *(revision for revision in pair if revision.number)) if empty else pair
        rendered = [self._renderings.documents(each, clear=True) if each.number else [] for each in (old, new)]
        changes: dict[str, Any] = {}
        for bucket, change in diffs.bucket_changes(old, new).items():
            changes[bucket] = change
            if change == "modified":
                ours = ([each for each in side if each["status"]["bucket"] == bucket] for side in rendered)
                changes[f"{bucket} diff"] = diffs.document_changes(*ours)
        wire.send(resp, changes)


def shown(revision: Revision) -> Mapping[str, Any]:
    """Return the representation of a single revision."""
    address = f"{_URL}/{revision.number}"
    policies = revision.policies(VALIDATION_POLICY)
    state = "failed" if policies else "success"
    return {
        "id": revision.number,
        "url": address,
        "createdAt": revision.created_at,
        "status": state,
        "buckets": revision.buckets,
        "tags": revision.tag_data(),
        "validationPolicies": [
            {
                "name": policy.name,
                "status": state,
                "url": f"{address}/documents?schema={policy.schema}&metadata.name={policy.name}",
            }
            for policy in policies
        ],
    }


def _pair(store: Store, *texts: str) -> list[Revision]:
    for text in texts:
        if not (text.isascii() and text.isdigit()):
            raise DeckhandError(400, "InvalidInputException", f"The revision {text!r} is not a number.")
    # Revision 0 is never stored; it is always empty.
    empty = Revision(0, store.newest().created, [], {}, {}, {})
    return [store.revision(int(text)) if int(text) else empty for text in texts]
