"""Roles and tags of releases and clusters (seed 002, REST API; contract: fuel-task-graph, 5.4)."""

from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.fuel.graphs import READ, set_warnings
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.policy import SOFTWARE_PREFIX
from shipyard_api.domain.task_graph.layers import Label, OwnerKind
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.usecases.software.labels import ManageLabels

WRITE = f"{SOFTWARE_PREFIX}update_labels"
_MEMBERS = {"name": str, "meta": dict, "volumes_roles_mapping": list}
_ANSWER = ("owner", "predefined")


class _OfLabels:
    """``limit``: the largest body, in bytes."""

    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, labels: ManageLabels, kind: OwnerKind, domain: Domain, limit: int) -> None:
        self._labels = labels
        self._kind = kind
        self._domain = domain
        self.limit = limit


class Labels(_OfLabels):
    """All roles or tags of a release or cluster."""

    policy: ClassVar[Policy] = {"GET": READ, "POST": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with all of them, those of a cluster's release included."""
        labels = self._labels.all(reading.owner(self._kind, owner_id), self._domain)
        words = {True: self._kind.word, False: OwnerKind.RELEASE.word}
        resp.media = [
            {
                **_entity(self._domain, owned.name, owned.label),
                "owner": words[owned.owned],
                "predefined": owned.label.predefined,
            }
            for owned in labels
        ]

    @reading.threaded_body
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str) -> None:
        """Create one and answer with it."""
        owner = reading.owner(self._kind, owner_id)
        wanted = reading.mapping(reading.value(req, sent), _MEMBERS, _ANSWER)
        label = self._labels.create(owner, self._domain, wanted["name"], wanted["meta"])
        resp.status = falcon.HTTP_201
        resp.location = f"{req.prefix}/api/v1/{owner.kind.value}/{owner.id}/{self._domain.value}/{wanted['name']}/"
        resp.media = _entity(self._domain, wanted["name"], label)


class OneLabel(_OfLabels):
    """One role or tag that the release or cluster itself declares."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE, "DELETE": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str, name: str) -> None:
        """Answer with it."""
        label = self._labels.one(reading.owner(self._kind, owner_id), self._domain, name)
        resp.media = _entity(self._domain, name, label)

    @reading.threaded_body
    def on_put(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str, name: str) -> None:
        """Change its properties."""
        wanted = reading.mapping(reading.value(req, sent), _MEMBERS, _ANSWER)
        if wanted["name"] not in (None, name):
            raise Fault(f"'{name}' cannot get another name: create another one.")
        owner = reading.owner(self._kind, owner_id)
        label, warnings = self._labels.change(owner, self._domain, name, wanted["meta"])
        resp.media = _entity(self._domain, name, label)
        set_warnings(resp, warnings)

    @threaded
    def on_delete(self, req: falcon.Request, resp: falcon.Response, owner_id: str, name: str) -> None:
        """Delete it, unless nodes have it."""
        self._labels.delete(reading.owner(self._kind, owner_id), self._domain, name)
        resp.status = falcon.HTTP_204


def _entity(domain: Domain, name: str, label: Label) -> dict[str, Any]:
    further: dict[str, Any] = {"volumes_roles_mapping": []} if domain is Domain.ROLES else {}
    return {"name": name, "meta": label.meta, **further}
