"""The nodes of a cluster: list them, and assign roles and tags (seed 002, REST API)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.addressing import networks_of
from shipyard_api.domain.documents import BAREMETAL_NODE, HOST_PROFILE, Rendering, scrubber
from shipyard_api.domain.errors import InvalidDesign
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import AssignmentRefused, NodesNotInSite, UnknownLabels, listed
from shipyard_api.domain.task_graph.layers import SITE, Layer, Owner, OwnerKind
from shipyard_api.domain.task_graph.roles import ClusterNode, check_tags, tags_after_role_change
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.ports.assignment_plugin import AssignmentPlugin
from shipyard_api.ports.documents import DesignStore, RenderingFailed
from shipyard_api.ports.state.software import StoredNode
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.software.owners import change_kept_out, cluster_of
from shipyard_api.usecases.software.run_states import NodeRun, newest_runs


class DesignedNode(Struct, frozen=True):
    """What selectors match, what a node inherits from host profiles included, and its fixed addresses by network."""

    rack: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    addresses: Mapping[str, str]


def designed_nodes(design: Rendering) -> Mapping[NodeName, DesignedNode]:
    """Return the nodes of a design. In labels, which are free texts, those of encrypted documents are replaced.

    Texts of nodes and host profiles are not: a site may encrypt these as a whole. Racks and tags stay as they are, as
    groups are made of them: a common word in an encrypted document must not make one tag of two.
    """
    documents = [rendered.document for rendered in design.documents]
    machines = (BAREMETAL_NODE, HOST_PROFILE)
    clean = scrubber(
        document.data for document in documents if document.is_encrypted and document.schema not in machines
    )
    addresses = networks_of(documents)
    return {
        name: DesignedNode(
            rack=node.rack,
            tags=tuple(sorted(node.tags)),
            labels={key: clean(value) for key, value in sorted(node.labels)},
            addresses=addresses.get(name, {}),
        )
        for name, node in design.machines.nodes.items()
    }


Change = Callable[[StoredNode, Layer], StoredNode]
Changed = tuple[Sequence[StoredNode], Sequence[Finding]]
"""Nodes as they are now, and warnings."""


class SoftwareNodes(Struct, frozen=True):
    """The use cases. Nodes are those of the committed design, in the order of their ids. All raise InvalidDesign.

    A node is named by its id or its name.
    """

    store: Store
    designs: DesignStore
    rendered: RenderedDesigns
    plugins: Mapping[str, AssignmentPlugin] = field(default_factory=dict)

    def all(self) -> Sequence[StoredNode]:
        """Return the nodes of the site; a node that is new in the design gets an id."""
        names = self._names()
        stored = self.store.read(lambda tx: tx.software.nodes(SITE))
        if set(names) - {node.name for node in stored}:
            with self.store.begin() as tx:
                tx.software.lock()
                known = {node.name for node in tx.software.nodes(SITE)}
                tx.software.add_nodes(SITE, [name for name in names if name not in known])
                stored = tx.software.nodes(SITE)
        present = set(names)
        return [node for node in stored if node.name in present]

    def one(self, identity: str) -> StoredNode:
        """Return a node; raises NodesNotInSite."""
        return self.named([identity])[0]

    def named(self, identities: Sequence[str]) -> Sequence[StoredNode]:
        """Return nodes in the order in which they are named; raises NodesNotInSite."""
        nodes = self.all()
        by_identity = {str(node.id): node for node in nodes} | {str(node.name): node for node in nodes}
        if unknown := [identity for identity in identities if identity not in by_identity]:
            raise NodesNotInSite(unknown)
        return [by_identity[identity] for identity in identities]

    def designed(self) -> Mapping[NodeName, DesignedNode]:
        """Return the nodes as the committed design describes them; none before the first commit."""
        revision = committed_revision(self.designs.heads())
        try:
            return {} if revision is None else designed_nodes(self.rendered.of(revision))
        except RenderingFailed as failed:
            raise InvalidDesign(failed.findings) from failed

    def runs(self, nodes: Sequence[StoredNode]) -> Mapping[NodeName, NodeRun]:
        """Return how the newest tasks on these nodes went, of those that had any since they were deployed."""
        return self.store.read(lambda tx: newest_runs(tx, {node.name for node in nodes}))

    def assign_roles(self, cluster: int, roles: Mapping[str, Sequence[str]]) -> Changed:
        """Give each node exactly these roles, with their tags and those that plug-ins add.

        Raises OwnerNotFound, NodesNotInSite, UnknownLabels and AssignmentRefused.

        Tags of new roles are added; tags that only the removed roles gave are removed, unless a user assigned them.
        """
        changes = {node: partial(_with_roles, chosen) for node, chosen in roles.items()}
        return self._change(cluster, changes)

    def unassign(self, cluster: int, nodes: Sequence[str]) -> Changed:
        """Take all roles and tags from nodes. Raises OwnerNotFound and NodesNotInSite."""
        return self._change(
            cluster, dict.fromkeys(nodes, lambda node, _layer: replace(node, roles=(), tags=(), assigned=()))
        )

    def assign_tags(self, node: str, tags: Sequence[str]) -> Changed:
        """Give a node further tags; a second call changes nothing. Raises NodesNotInSite and UnknownLabels."""

        def changed(stored: StoredNode, layer: Layer) -> StoredNode:
            _check(layer, Domain.TAGS, tags)
            return replace(
                stored,
                tags=tuple(dict.fromkeys((*stored.tags, *tags))),
                assigned=tuple(dict.fromkeys((*stored.assigned, *tags))),
            )

        return self._change(SITE, {node: changed})

    def unassign_tags(self, node: str, tags: Sequence[str]) -> Changed:
        """Take tags from a node, those of its roles too. Raises NodesNotInSite.

        A tag that the node does not have counts as taken.
        """

        def changed(stored: StoredNode, _layer: Layer) -> StoredNode:
            return replace(
                stored,
                tags=tuple(tag for tag in stored.tags if tag not in tags),
                assigned=tuple(tag for tag in stored.assigned if tag not in tags),
            )

        return self._change(SITE, {node: changed})

    def check_tags(self, cluster: int) -> Sequence[Finding]:
        """Return the findings of the tag check before a deployment; it never blocks. Raises OwnerNotFound."""
        nodes = self.all()
        layer = self.store.read(lambda tx: cluster_of(tx.software, cluster)).layer
        return check_tags(layer, [node.in_cluster for node in nodes])

    def _change(self, cluster: int, changes: Mapping[str, Change]) -> Changed:
        """Store what becomes of each node, all of them or none."""
        named = dict(zip([node.id for node in self.named(list(changes))], changes.values(), strict=True))
        with self.store.begin() as tx:
            tx.software.lock()
            layer = cluster_of(tx.software, cluster).layer
            stored = {node.id: node for node in tx.software.nodes(SITE)}
            for identity, change in named.items():
                changed = change(stored[identity], layer)
                if set(changed.roles).difference(stored[identity].roles):
                    others = [other.in_cluster for other in stored.values() if other.id != identity]
                    changed = self._extended(changed, others, layer)
                stored[identity] = changed
                tx.software.save_node(changed)
            kept_out = change_kept_out(tx, Owner(OwnerKind.CLUSTER, cluster))
        return [stored[identity] for identity in named], kept_out

    def _extended(self, node: StoredNode, others: Sequence[ClusterNode], layer: Layer) -> StoredNode:
        """Return a node that got a role with the tags that plug-ins add. Each sees those of the earlier ones."""
        for name, plugin in self.plugins.items():
            try:
                added = tuple(plugin.tags(node.in_cluster, others))
            except Exception as error:  # a plug-in may raise anything
                raise AssignmentRefused(name, node.name, f"{type(error).__name__}: {error}") from error
            if unknown := [str(tag) for tag in added if not layer.knows(Domain.TAGS, str(tag))]:
                raise AssignmentRefused(name, node.name, f"it adds tags that do not exist: {listed(unknown)}.")
            node = replace(node, tags=tuple(dict.fromkeys((*node.tags, *added))))
        return node

    def _names(self) -> Sequence[NodeName]:
        revision = committed_revision(self.designs.heads())
        try:
            return () if revision is None else tuple(self.rendered.inventory(revision).nodes)
        except RenderingFailed as failed:
            raise InvalidDesign(failed.findings) from failed


def _with_roles(roles: Sequence[str], node: StoredNode, layer: Layer) -> StoredNode:
    _check(layer, Domain.ROLES, roles)
    unique = tuple(dict.fromkeys(roles))
    tags = tags_after_role_change(node.in_cluster, unique, layer.tags_by_role(), node.assigned)
    return replace(node, roles=unique, tags=tags)


def _check(layer: Layer, domain: Domain, names: Sequence[str]) -> None:
    if unknown := [name for name in names if not layer.knows(domain, name)]:
        raise UnknownLabels(domain, unknown)
