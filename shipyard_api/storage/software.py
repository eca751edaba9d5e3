"""Releases, clusters and their nodes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.exc import IntegrityError

from shipyard_api.domain.actions import ENDED, ActionName, RunState
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import ReleaseExists
from shipyard_api.domain.task_graph.layers import SITE, Cluster, ClusterId, Label, Layer, Release, ReleaseId
from shipyard_api.domain.task_graph.roles import Primaries, choose_primaries
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.ports.state.software import SoftwareSite, StoredNode
from shipyard_api.storage import site_tables as t
from shipyard_api.storage.nodes import worked_on
from shipyard_api.storage.rows import record
from shipyard_api.storage.tables import action_nodes, actions

FIRST = Release(ReleaseId(1))
"""The release that exists without a row."""

# Arbitrary; it only has to differ from other advisory locks.
_LOCK = 7_016
_DEPLOYING = (ActionName("deploy_site"), ActionName("update_site"), ActionName("update_software"))

# What the newest action that worked on a node made of it.
_STATUS = (
    sa.select(action_nodes.c.status)
    .where(action_nodes.c.name == t.cluster_nodes.c.name, worked_on(action_nodes.c))
    .order_by(action_nodes.c.action_id.desc())
    .limit(1)
    .scalar_subquery()
)


class Software:
    """Releases, clusters, and assignments of roles and tags. Release 1 and cluster 1 always exist."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def releases(self) -> Sequence[Release]:
        """Return all releases in the order of their ids."""
        rows = self._connection.execute(sa.select(t.releases).order_by(t.releases.c.id))
        releases_by_id = {row.id: _release(row) for row in rows}
        return list(({FIRST.id: FIRST} | releases_by_id).values())

    def release(self, release: ReleaseId) -> Release | None:
        """Return a release."""
        row = self._connection.execute(sa.select(t.releases).where(t.releases.c.id == release)).one_or_none()
        return _release(row) if row else FIRST if release == FIRST.id else None

    def add_release(self, name: str, version: str, operating_system: str) -> Release:
        """Store a new release that declares nothing. Raises ReleaseTaken."""
        self._make_first()
        values = {"name": name, "version": version, "operating_system": operating_system, **_layer_values(Layer())}
        query = t.releases.insert().values(**values).returning(t.releases)
        with _free(name, version):
            return _release(self._connection.execute(query).one())

    def save_release(self, release: Release) -> None:
        """Store what has become of a release, after ``lock``. Raises ReleaseTaken."""
        self._make_first()
        values = {
            "name": release.name,
            "version": release.version,
            "operating_system": release.operating_system,
            **_layer_values(release.layer),
        }
        with _free(release.name, release.version):
            self._connection.execute(t.releases.update().where(t.releases.c.id == release.id).values(**values))

    def clusters(self) -> Sequence[Cluster]:
        """Return all clusters in the order of their ids."""
        releases = {release.id: release for release in self.releases()}
        rows = self._connection.execute(sa.select(t.clusters).order_by(t.clusters.c.id))
        clusters_by_id = {row.id: _cluster(row, releases[row.release_id]) for row in rows}
        return list(({SITE: Cluster(SITE, releases[FIRST.id])} | clusters_by_id).values())

    def cluster(self, cluster: ClusterId) -> Cluster | None:
        """Return a cluster."""
        return next((candidate for candidate in self.clusters() if candidate.id == cluster), None)

    def save_cluster(self, cluster: Cluster) -> None:
        """Store what has become of a cluster, after ``lock``; its release must exist."""
        self._make_first()
        values = {
            "release_id": cluster.release.id,
            "name": cluster.name,
            "settings": dict(cluster.settings),
            **_layer_values(cluster.own_layer),
        }
        self._connection.execute(t.clusters.update().where(t.clusters.c.id == cluster.id).values(**values))

    def lock(self) -> None:
        """Keep every other writer of releases, clusters and assignments waiting until the transaction ends.

        The lock is an advisory one: writers are few, and release 1 may have no row to lock.
        """
        self._connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def nodes(self, cluster: ClusterId) -> Sequence[StoredNode]:
        """Return every node that the cluster ever had, in the order of their ids."""
        table = t.cluster_nodes
        query = sa.select(table, _STATUS.label("status")).where(table.c.cluster_id == cluster).order_by(table.c.id)
        return [record(StoredNode, row) for row in self._connection.execute(query)]

    def assigned(self, names: Collection[NodeName]) -> Mapping[NodeName, tuple[Sequence[str], Sequence[str]]]:
        """Return the roles and the tags of those of these nodes that have any."""
        table = t.cluster_nodes.c
        named = sa.and_(table.cluster_id == SITE, table.name == sa.any_(sa.cast(list(names), ARRAY(sa.Text))))
        rows = self._connection.execute(sa.select(table.name, table.roles, table.tags).where(named))
        return {NodeName(row.name): (row.roles, row.tags) for row in rows}

    def add_nodes(self, cluster: ClusterId, names: Iterable[NodeName]) -> None:
        """Give ids to nodes that have none, in order."""
        self._make_first()
        rows = [{"cluster_id": cluster, "name": name, "roles": [], "tags": [], "assigned": []} for name in names]
        if rows:
            self._connection.execute(insert(t.cluster_nodes).on_conflict_do_nothing(), rows)

    def save_node(self, node: StoredNode) -> None:
        """Store the roles and tags of a node. It is no longer the primary of what it does not have."""
        table, marks = t.cluster_nodes, t.cluster_primaries.c
        values = {"roles": list(node.roles), "tags": list(node.tags), "assigned": list(node.assigned)}
        self._connection.execute(table.update().where(table.c.id == node.id).values(**values))
        for domain, names in ((Domain.ROLES, node.roles), (Domain.TAGS, node.tags)):
            lost = marks.name != sa.all_(sa.cast(list(names), ARRAY(sa.Text)))
            self._connection.execute(
                t.cluster_primaries.delete().where(marks.node_id == node.id, marks.domain == domain.value, lost)
            )

    def primaries(self, cluster: ClusterId) -> Primaries:
        """Return the stored primaries."""
        marks = t.cluster_primaries.c
        rows = self._connection.execute(
            sa.select(marks.domain, marks.name, t.cluster_nodes.c.name.label("node"))
            .join(t.cluster_nodes, t.cluster_nodes.c.id == marks.node_id)
            .where(marks.cluster_id == cluster)
            .order_by(marks.domain, marks.name)
        )
        primaries: dict[str, dict[str, NodeName]] = {domain.value: {} for domain in Domain}
        for row in rows:
            primaries[row.domain][row.name] = NodeName(row.node)
        return Primaries(primaries[Domain.ROLES.value], primaries[Domain.TAGS.value])

    def keep_primaries(self, cluster: ClusterId, primaries: Primaries) -> None:
        """Store the primaries of a run that starts, instead of the earlier ones."""
        ids = {node.name: node.id for node in self.nodes(cluster)}
        self._connection.execute(t.cluster_primaries.delete().where(t.cluster_primaries.c.cluster_id == cluster))
        rows = [
            {"cluster_id": cluster, "domain": domain.value, "name": name, "node_id": ids[node]}
            for domain in Domain
            for name, node in primaries.of(domain).items()
        ]
        if rows:
            self._connection.execute(t.cluster_primaries.insert(), rows)

    def status(self) -> str:
        """Return the status of the site between its actions: ``new``, ``operational`` or ``error``.

        The newest ended action that deploys the site decides.
        """
        columns = actions.c
        state = self._connection.execute(
            sa.select(columns.state)
            .where(
                columns.name.in_(list(_DEPLOYING)),
                columns.state.in_([state.value for state in ENDED]),
                columns.inputs[("software", "noop")].as_boolean().is_not(True),
            )
            .order_by(columns.id.desc())
            .limit(1)
        ).scalar_one_or_none()
        return "new" if state is None else "operational" if state == RunState.SUCCESS.value else "error"

    def site(self, cluster: ClusterId, design: Iterable[NodeName]) -> SoftwareSite:
        """Return what a run depends on. ``design``: the nodes of the revision that the run is for.

        Nodes of the design without an id come last, in the order given, without roles and tags. The cluster exists.
        """
        cluster_row = self.cluster(cluster)
        if cluster_row is None:
            raise LookupError(f"there is no cluster {cluster}")
        present = dict.fromkeys(design)
        stored = self.nodes(cluster)
        known = {node.name for node in stored}
        nodes = tuple(node.in_cluster for node in stored if node.name in present)
        nodes += tuple(StoredNode(0, name).in_cluster for name in present if name not in known)
        current, layer, status = self.primaries(cluster), cluster_row.layer, self.status()
        chosen = Primaries(
            *(
                choose_primaries(
                    nodes, domain, [name for name, label in labels.items() if label.has_primary], current.of(domain)
                )
                for domain, labels in ((Domain.ROLES, layer.roles), (Domain.TAGS, layer.tags))
            )
        )
        models: Mapping[str, Mapping[str, Any]] = {
            "settings": cluster_row.settings,
            "cluster": {
                "id": cluster_row.id,
                "name": cluster_row.name,
                "status": status,
                "release_id": cluster_row.release.id,
            },
        }
        return SoftwareSite(cluster_row, nodes, chosen, status, models)

    def _make_first(self) -> None:
        """Give release 1 and cluster 1 a row."""
        first = {
            "id": FIRST.id,
            "name": FIRST.name,
            "version": FIRST.version,
            "operating_system": FIRST.operating_system,
            **_layer_values(Layer()),
        }
        self._connection.execute(insert(t.releases).values(**first).on_conflict_do_nothing())
        site = {"id": SITE, "release_id": FIRST.id, "name": Cluster(SITE, FIRST).name, "settings": {}}
        self._connection.execute(insert(t.clusters).values(**site, **_layer_values(Layer())).on_conflict_do_nothing())


@contextmanager
def _free(name: str, version: str) -> Iterator[None]:
    """Raise ReleaseExists if another release has this name and version."""
    try:
        yield
    except IntegrityError as error:
        constraint = error.orig.diag.constraint_name if error.orig else ""  # type: ignore[attr-defined]  # psycopg2's own error
        if constraint == t.ONE_RELEASE_FOR_EACH_VERSION:
            raise ReleaseExists(name, version) from error
        raise


def _layer_values(layer: Layer) -> dict[str, Any]:
    return {
        "tasks": list(layer.tasks),
        "roles": {name: _label_values(label) for name, label in layer.roles.items()},
        "tags": {name: _label_values(label) for name, label in layer.tags.items()},
    }


def _label_values(label: Label) -> dict[str, Any]:
    return {"meta": dict(label.meta), "predefined": label.predefined}


def _labels(stored: Mapping[str, JsonObject]) -> dict[str, Label]:
    return {name: Label(entry["meta"], entry["predefined"]) for name, entry in stored.items()}


def _layer(row: sa.Row[Any]) -> Layer:
    return Layer(tuple(row.tasks), _labels(row.roles), _labels(row.tags))


def _release(row: sa.Row[Any]) -> Release:
    return Release(ReleaseId(row.id), row.name, row.version, row.operating_system, _layer(row))


def _cluster(row: sa.Row[Any], release: Release) -> Cluster:
    return Cluster(ClusterId(row.id), release, row.name, _layer(row), row.settings)
