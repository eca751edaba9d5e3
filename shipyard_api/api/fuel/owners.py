"""Releases and clusters (contract: fuel-task-graph, 2.3 and 12)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.fuel.graphs import READ, WRITE, set_warnings
from shipyard_api.api.fuel.unserved import NO_CLUSTERS
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.task_graph.layers import Cluster, OwnerKind, Release
from shipyard_api.usecases.software.graphs import ManageGraphs, WrittenRelease

_RELEASE = {"name": str, "version": str, "operating_system": str, "roles_metadata": dict, "tags_metadata": dict}
_CLUSTER = {"name": str, "release_id": int}


class _OfGraphs:
    """``limit``: the largest body, in bytes."""

    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, graphs: ManageGraphs, limit: int) -> None:
        self._graphs = graphs
        self.limit = limit


class Releases(_OfGraphs):
    """All releases."""

    policy: ClassVar[Policy] = {"GET": READ, "POST": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all releases."""
        resp.media = [_release(release) for release in self._graphs.releases()]

    @reading.threaded_body
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        """Create a release without tasks and answer with it."""
        release = self._graphs.add_release(_written(req, sent))
        resp.status = falcon.HTTP_201
        resp.location = f"{req.prefix}/api/v1/releases/{release.id}/"
        resp.media = _release(release)


class OneRelease(_OfGraphs):
    """One release."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the release, its roles and its predefined tags."""
        resp.media = _release(self._graphs.release(reading.owner(OwnerKind.RELEASE, owner_id).id))

    @reading.threaded_body
    def on_put(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str) -> None:
        """Change the name, the version, or the predefined roles and tags."""
        release = reading.owner(OwnerKind.RELEASE, owner_id)
        resp.media = _release(self._graphs.change_release(release.id, _written(req, sent)))


class Clusters:
    """All clusters: the site."""

    policy: ClassVar[Policy] = {"GET": READ, "POST": WRITE}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, graphs: ManageGraphs) -> None:
        self._graphs = graphs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all clusters."""
        clusters, status = self._graphs.clusters()
        resp.media = [_cluster(cluster, status) for cluster in clusters]

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Refuse: there is one cluster, the site."""
        raise Fault(NO_CLUSTERS, falcon.HTTP_405)


class OneCluster(_OfGraphs):
    """One cluster."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the cluster."""
        resp.media = _cluster(*self._graphs.cluster(reading.owner(OwnerKind.CLUSTER, owner_id).id))

    @reading.threaded_body
    def on_put(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str) -> None:
        """Change the name or the release of the cluster."""
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        wanted = reading.mapping(reading.value(req, sent), _CLUSTER, _CLUSTER_ANSWER)
        changed, status, warnings = self._graphs.change_cluster(
            cluster.id, name=wanted["name"] or None, release=wanted["release_id"], settings=None
        )
        resp.media = _cluster(changed, status)
        set_warnings(resp, warnings)


class Attributes(_OfGraphs):
    """The settings of a cluster, which conditions of tasks read as ``settings:``."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the settings."""
        cluster, _ = self._graphs.cluster(reading.owner(OwnerKind.CLUSTER, owner_id).id)
        resp.media = {"editable": cluster.settings}

    @reading.threaded_body
    def on_put(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str) -> None:
        """Replace the settings."""
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        wanted = reading.mapping(reading.value(req, sent), {"editable": dict}, ("generated",))
        settings = wanted["editable"] or {}
        changed, _, warnings = self._graphs.change_cluster(cluster.id, name=None, release=None, settings=settings)
        resp.media = {"editable": changed.settings}
        set_warnings(resp, warnings)


def _release(release: Release) -> dict[str, Any]:
    layer = release.layer
    return {
        "id": release.id,
        "name": release.name,
        "version": release.version,
        "operating_system": release.operating_system,
        "state": "available",
        "is_deployable": True,
        "roles": list(layer.roles),
        "roles_metadata": {name: role.meta for name, role in layer.roles.items()},
        "tags_metadata": {name: tag.meta for name, tag in layer.tags.items() if tag.predefined},
    }


_RELEASE_ANSWER = ("id", "state", "is_deployable", "roles")


def _cluster(cluster: Cluster, status: str) -> dict[str, Any]:
    return {
        "id": cluster.id,
        "name": cluster.name,
        "status": status,
        "release_id": cluster.release.id,
        "fuel_version": cluster.release.version,
        "mode": "ha_compact",
        "is_customized": bool(cluster.own_layer.tasks),
        "changes": [],
    }


_CLUSTER_ANSWER = ("id", "status", "fuel_version", "mode", "is_customized", "changes")


def _written(req: falcon.Request, sent: bytes) -> WrittenRelease:
    wanted: Mapping[str, Any] = reading.mapping(reading.value(req, sent), _RELEASE, _RELEASE_ANSWER)
    return WrittenRelease(**wanted)
