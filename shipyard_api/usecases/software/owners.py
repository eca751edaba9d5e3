"""Releases and clusters by their ids, and what each declares."""

from collections.abc import Sequence

from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.task_graph.errors import LabelInUse, OwnerNotFound
from shipyard_api.domain.task_graph.layers import Cluster, ClusterId, Layer, Owner, OwnerKind, Release, ReleaseId
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.storage.software import Software
from shipyard_api.storage.unit_of_work import Transaction


def release_of(software: Software, release: int) -> Release:
    """Return a release; raises OwnerNotFound."""
    stored = software.release(ReleaseId(release))
    if stored is None:
        raise OwnerNotFound(Owner(OwnerKind.RELEASE, release))
    return stored


def cluster_of(software: Software, cluster: int) -> Cluster:
    """Return a cluster; raises OwnerNotFound."""
    stored = software.cluster(ClusterId(cluster))
    if stored is None:
        raise OwnerNotFound(Owner(OwnerKind.CLUSTER, cluster))
    return stored


def own_layer(software: Software, owner: Owner) -> Layer:
    """Return the owner's own declarations; raises OwnerNotFound."""
    if owner.kind is OwnerKind.RELEASE:
        return release_of(software, owner.id).layer
    return cluster_of(software, owner.id).own_layer


def below(software: Software, owner: Owner) -> Layer:
    """Return what the owner's declarations lie over: those of its release for a cluster. Raises OwnerNotFound."""
    if owner.kind is OwnerKind.RELEASE:
        return Layer()
    return cluster_of(software, owner.id).release.layer


def affected(software: Software, owner: Owner) -> Sequence[Cluster]:
    """Return the clusters for which the declarations of the owner count."""
    return [cluster for cluster in software.clusters() if owner in (cluster.owner, cluster.release.owner)]


def change_kept_out(tx: Transaction, owner: Owner) -> Sequence[Finding]:
    """Return the warning that an action runs that a change of the owner, or of nodes of the site, does not reach."""
    running = tx.actions.running_site_action() if affected(tx.software, owner) else None
    if running is None:
        return ()
    text = f"{running.name} {running.action} keeps the tasks that it was created with; this is for the next action."
    return (warning("TasksKept", text),)


def save_layer(software: Software, owner: Owner, layer: Layer) -> None:
    """Store what an existing owner declares, under the lock. Raises LabelInUse."""
    for cluster in affected(software, owner):
        check_in_use(software, cluster, cluster.with_layer(owner, layer).layer)
    if owner.kind is OwnerKind.RELEASE:
        software.save_release(replace(release_of(software, owner.id), layer=layer))
    else:
        software.save_cluster(replace(cluster_of(software, owner.id), own_layer=layer))


def check_in_use(software: Software, cluster: Cluster, after: Layer) -> None:
    """Raise LabelInUse if a node has a role or tag that the cluster would no longer have."""
    before = cluster.layer
    lost = {domain: {name for name in before.labels(domain) if name not in after.labels(domain)} for domain in Domain}
    if not any(lost.values()):
        return
    nodes = software.nodes(cluster.id)
    for domain in Domain:
        for name in sorted(lost[domain]):
            using = [
                str(node.name)
                for node in nodes
                if any(
                    label == name or (label.partition(":")[0] == name and not after.knows(domain, label))
                    for label in node.in_cluster.names(domain)
                )
            ]
            if using:
                raise LabelInUse(domain, name, using)
