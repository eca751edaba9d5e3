"""Validation results that other services report about a revision."""

from typing import Any

import falcon

from shipyard_simulators.deckhand import wire
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.rights import Rights
from shipyard_simulators.deckhand.rows import VALIDATION_POLICY, Row
from shipyard_simulators.deckhand.store import Store

_LONGEST_STATUS = 8


class Validations:
    """The results of a revision: one line per name, or one entry per report."""

    def __init__(self, store: Store, rights: Rights, behaviour: Behaviour) -> None:
        self._store = store
        self._rights = rights
        self._crossing = behaviour.crossing_validations

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return one line per name; a failure takes precedence."""
        self._rights.need("list_validations")
        revision = self._store.revision(wire.revision_number(revision_id))
        policies = revision.policies(VALIDATION_POLICY)
        results = summary(self._store, revision, policies[0] if policies else None, crossing=self._crossing)
        wire.send(resp, {"count": len(results), "results": results})

    def on_get_detail(self, _req: falcon.Request, resp: falcon.Response, revision_id: str) -> None:
        """Return every entry with its number among those of its name."""
        self._rights.need("list_validations")
        revision = self._store.revision(wire.revision_number(revision_id))
        counts: dict[str, int] = {}
        results = []
        for name, body in revision.validations:
            counts[name] = counts.get(name, -1) + 1
            results.append({**_entry(name, body), "id": counts[name]})
        wire.send(resp, {"count": len(results), "results": results})


class OneValidation:
    """The results of one name."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self._rights = rights

    def on_post(self, req: falcon.Request, resp: falcon.Response, revision_id: str, name: str) -> None:
        """Add one."""
        self._rights.need("create_validation")
        documents = wire.read_stream(req)
        body = documents[0] if documents else None
        if not isinstance(body, dict) or "status" not in body or "validator" not in body:
            raise DeckhandError(400, "HTTPBadRequest", "A validation needs a status and a validator.")
        revision = self._store.revision(wire.revision_number(revision_id))
        if len(str(body["status"])) > _LONGEST_STATUS:
            raise DeckhandError(
                500, "DBError", "Unhandled Exception raised: value too long for type character varying."
            )
        revision.validations.append((name, body))
        wire.send(resp, {"status": body["status"], "validator": body["validator"]}, 201)

    def on_get(self, _req: falcon.Request, resp: falcon.Response, revision_id: str, name: str) -> None:
        """Return the status of each."""
        self._rights.need("list_validations")
        found = self._entries(revision_id, name)
        results = [{"id": number, "status": body["status"]} for number, body in enumerate(found)]
        wire.send(resp, {"count": len(results), "results": results})

    def on_get_entry(
        self, _req: falcon.Request, resp: falcon.Response, revision_id: str, name: str, entry: str
    ) -> None:
        """Return one of them."""
        self._rights.need("show_validation")
        if not (entry.isascii() and entry.isdigit()):
            raise DeckhandError(400, "HTTPBadRequest", f"The entry {entry!r} is not a number.")
        found = self._entries(revision_id, name)
        if int(entry) >= len(found):
            message = f"The requested validation entry {entry} was not found for {name} and revision {revision_id}."
            raise DeckhandError(404, "ValidationNotFound", message)
        wire.send(resp, _entry(name, found[int(entry)]))

    def _entries(self, revision_id: str, name: str) -> list[dict[str, Any]]:
        revision = self._store.revision(wire.revision_number(revision_id))
        return [body for posted, body in revision.validations if posted == name]


def summary(store: Store, revision: Revision, policy: Row | None, *, crossing: bool) -> list[dict[str, str]]:
    """Return name and status of every validation that was posted or that the policy requires.

    ``crossing``: results of other revisions count, too.
    """
    posted = dict.fromkeys(name for name, _ in revision.validations)
    heard = store.revisions() if crossing else [revision]
    wanted = policy.clear.get("validations", []) if policy and isinstance(policy.clear, dict) else []
    names = [str(each.get("name")) for each in wanted if isinstance(each, dict)]
    results = []
    for name in posted:
        statuses = [
            str(body["status"]) for each in heard for posted_name, body in each.validations if posted_name == name
        ]
        status = "failure" if "failure" in statuses else statuses[-1]
        results.append({"name": name, "status": status if name in names or not policy else f"ignored [{status}]"})
    return results + [{"name": name, "status": "failure"} for name in names if name not in posted]


def _entry(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "status": body["status"],
        "createdAt": None,
        "expiresAfter": None,
        "errors": body.get("errors", []),
    }
