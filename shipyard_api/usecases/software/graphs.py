"""Releases, clusters and their task graphs: show, select, check, replace, draw (seed 001, REST API impact)."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, Level, errors
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.dot import Drawing, check_drawing, dot
from shipyard_api.domain.task_graph.errors import (
    InvalidDeclaration,
    InvalidTaskGraph,
    InvalidTaskQuery,
)
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.layers import SITE, Cluster, Label, Layer, Owner, OwnerKind, Release, merge_tasks
from shipyard_api.domain.task_graph.selection import EVERYTHING, Selection, check_selection, select
from shipyard_api.domain.task_graph.site_plan import graph_warnings
from shipyard_api.domain.task_graph.tasks import SCHEMA, Domain, parse_tasks
from shipyard_api.ports.schemas import Schemas
from shipyard_api.storage.software import Software
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.software.labels import check_label, check_role_tags
from shipyard_api.usecases.software.owners import (
    affected,
    change_kept_out,
    check_in_use,
    cluster_of,
    own_layer,
    release_of,
    save_layer,
)

_LONGEST = 255
_SHOWN = 60


class Part(Enum):
    """Layers of the graph of a cluster; the values are the words in addresses."""

    ALL = ""
    OWN = "own"
    RELEASE = "release"
    PLUGINS = "plugins"


class WrittenRelease(Struct, frozen=True):
    """What a caller writes of a release; None: as it was. Metadata: by name of the role or tag, its properties."""

    name: str | None = None
    version: str | None = None
    operating_system: str | None = None
    roles_metadata: Mapping[str, Any] | None = None
    tags_metadata: Mapping[str, Any] | None = None


class ManageGraphs(Struct, frozen=True):
    """The use cases."""

    store: Store
    schemas: Schemas

    def releases(self) -> Sequence[Release]:
        """Return all releases."""
        return self.store.read(lambda tx: tx.software.releases())

    def release(self, release: int) -> Release:
        """Return a release; raises OwnerNotFound."""
        return self.store.read(lambda tx: release_of(tx.software, release))

    def clusters(self) -> tuple[Sequence[Cluster], str]:
        """Return all clusters, and the status of the site."""
        return self.store.read(lambda tx: (tx.software.clusters(), tx.software.status()))

    def cluster(self, cluster: int) -> tuple[Cluster, str]:
        """Return a cluster and its status; raises OwnerNotFound."""
        return self.store.read(lambda tx: (cluster_of(tx.software, cluster), tx.software.status()))

    def add_release(self, written: WrittenRelease) -> Release:
        """Store a new release. Raises InvalidDeclaration and ReleaseExists."""
        if not written.name or not written.version:
            raise InvalidDeclaration("A release has a name and a version.")
        _check_lengths(written.name, written.version, written.operating_system)
        with self.store.begin() as tx:
            tx.software.lock()
            release = tx.software.add_release(written.name, written.version, written.operating_system or "Linux")
            changed = _with(release, written)
            tx.software.save_release(changed)
            return changed

    def change_release(self, release: int, written: WrittenRelease) -> Release:
        """Store what a caller writes of a release. Metadata replaces all predefined roles and tags, and no others.

        Raises OwnerNotFound, InvalidDeclaration, ReleaseExists and LabelInUse.
        """
        _check_lengths(written.name, written.version, written.operating_system)
        with self.store.begin() as tx:
            tx.software.lock()
            stored = release_of(tx.software, release)
            changed = _with(stored, written)
            save_layer(tx.software, changed.owner, changed.layer)
            tx.software.save_release(changed)
            return changed

    def change_cluster(
        self, cluster: int, *, name: str | None, release: int | None, settings: JsonObject | None
    ) -> tuple[Cluster, str, Sequence[Finding]]:
        """Store another name, release or settings of a cluster; None: as it was. Return it, its status, and warnings.

        Raises OwnerNotFound, InvalidDeclaration, InvalidTaskGraph if its own tasks do not fit the release, and
        LabelInUse if a node has a role or tag that the release lacks.
        """
        _check_lengths(name)
        with self.store.begin() as tx:
            tx.software.lock()
            stored = cluster_of(tx.software, cluster)
            changed = replace(
                stored,
                name=stored.name if name is None else name,
                release=stored.release if release is None else release_of(tx.software, release),
                settings=stored.settings if settings is None else settings,
            )
            if changed.release != stored.release:
                check_in_use(tx.software, stored, changed.layer)
                if wrong := _merged(changed):
                    raise InvalidTaskGraph(wrong)
            tx.software.save_cluster(changed)
            kept_out = change_kept_out(tx, changed.owner) if replace(changed, name=stored.name) != stored else ()
            return changed, tx.software.status(), kept_out

    def tasks(self, owner: Owner, part: Part = Part.ALL, selection: Selection = EVERYTHING) -> Sequence[JsonObject]:
        """Return the tasks of a release or the effective tasks of a cluster, or a part of them, as written.

        ``selection``: only what lies between its start and end, groups and stages included. Raises OwnerNotFound and
        InvalidTaskQuery.
        """
        tasks = self.store.read(lambda tx: _tasks(tx.software, owner, part))
        if selection == EVERYTHING:
            return tasks
        graph = TaskGraph.of(parse_tasks(tasks))
        if findings := check_selection(graph, selection):
            raise InvalidTaskQuery(findings)
        kept = select(graph, selection)
        return [task for task in tasks if task["id"] in kept]

    def replace_tasks(self, owner: Owner, data: object) -> tuple[Sequence[JsonObject], Sequence[Finding]]:
        """Store all tasks of a release, or a cluster's own; return them, and the warnings about them.

        The own tasks of a cluster may refer to tasks of its release; both together make a complete graph. Raises
        OwnerNotFound, and InvalidTaskGraph with every finding.
        """
        self.store.read(lambda tx: own_layer(tx.software, owner))
        if malformed := self.schemas.check(SCHEMA, data):
            raise InvalidTaskGraph((*malformed, *errors(check_tasks(data, complete=False))))
        tasks: tuple[JsonObject, ...] = tuple(data) if isinstance(data, list) else ()
        checked = check_tasks(data, complete=owner.kind is OwnerKind.RELEASE)
        findings = list(errors(checked))
        with self.store.begin() as tx:
            tx.software.lock()
            layer = replace(own_layer(tx.software, owner), tasks=tasks)
            for cluster in affected(tx.software, owner):
                if cluster.own_layer.tasks or cluster.owner == owner:
                    known = {finding.message for finding in findings}
                    findings += _merged(cluster.with_layer(owner, layer), known)
            if findings:
                raise InvalidTaskGraph(findings)
            save_layer(tx.software, owner, layer)
            site = tx.software.site(SITE, ()) if affected(tx.software, owner) else None
            kept_out = change_kept_out(tx, owner)
        if site is not None:
            return tasks, [*kept_out, *graph_warnings(site.tasks, site.status, site.models)]
        return tasks, [finding for finding in checked if finding.level is Level.WARNING]

    def dot(self, cluster: int, drawing: Drawing) -> str:
        """Return the graph of a cluster as DOT. Raises OwnerNotFound and InvalidTaskQuery."""
        graph = TaskGraph.of(parse_tasks(self.tasks(Owner(OwnerKind.CLUSTER, cluster))))
        if findings := check_drawing(graph, drawing):
            raise InvalidTaskQuery(findings)
        return dot(graph, drawing)


def _tasks(software: Software, owner: Owner, part: Part) -> Sequence[JsonObject]:
    if owner.kind is OwnerKind.RELEASE:
        return own_layer(software, owner).tasks
    cluster = cluster_of(software, owner.id)
    cluster_tasks, release = cluster.own_layer.tasks, cluster.release.layer.tasks
    return {
        Part.ALL: merge_tasks(release, cluster_tasks),
        Part.OWN: cluster_tasks,
        Part.RELEASE: release,
        Part.PLUGINS: (),
    }[part]


def _merged(cluster: Cluster, known: Collection[str] = ()) -> Sequence[Finding]:
    """Return the faults of the tasks of a cluster and its release together. ``known``: messages to leave out."""
    where = f"In the graph of {cluster.owner}: "
    fresh = [finding for finding in errors(check_tasks(list(cluster.layer.tasks))) if finding.message not in known]
    return [replace(finding, message=where + finding.message, path="") for finding in fresh]


def _check_lengths(*texts: str | None) -> None:
    for text in texts:
        if text is not None and len(text) > _LONGEST:
            raise InvalidDeclaration(f"'{text[:_SHOWN]}…' has {len(text)} characters; at most {_LONGEST} are kept.")


def _with(release: Release, written: WrittenRelease) -> Release:
    roles, tags = dict(release.layer.roles), dict(release.layer.tags)
    if written.tags_metadata is not None:
        tags = _declared(Domain.TAGS, tags, written.tags_metadata)
    if written.roles_metadata is not None:
        roles = _declared(Domain.ROLES, roles, written.roles_metadata)
    for name, role in roles.items():
        check_role_tags(name, role, tags)
    return replace(
        release,
        name=written.name or release.name,
        version=written.version or release.version,
        operating_system=written.operating_system or release.operating_system,
        layer=Layer(release.layer.tasks, roles, tags),
    )


def _declared(domain: Domain, before: Mapping[str, Label], metadata: Mapping[str, Any]) -> dict[str, Label]:
    """Return the user's labels that the metadata does not name, after those that it declares."""
    declared = {name: Label(check_label(domain, name, meta), predefined=True) for name, meta in metadata.items()}
    return declared | {name: label for name, label in before.items() if not label.predefined and name not in declared}
