"""What must hold before a node is torn down or serviced: etcd keeps a quorum, genesis stays; ``force`` overrides."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.findings import MOST_NAMED, Finding, Level, error, in_short, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.drain_plan import DrainPlan, PodClass
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, MemberId, MemberState, members_on
from shipyard_api.domain.teardown.limits import ON_BLOCKED
from shipyard_api.domain.teardown.quorum import Refused, decide_removal, majority

_BLOCKED = "EtcdRemovalBlocked"
Addresses = Mapping[NodeName, Sequence[str]]
"""The addresses of each node in Kubernetes; none for a node that it does not know."""


class Forbidden(Struct, frozen=True):
    """A removal that no waiting allows. ``name``: of its finding; ``advice``: what allows it."""

    name: str
    message: str
    advice: str


def check_teardown(
    node: NodeName, genesis: Collection[NodeName], members: Mapping[EtcdCluster, Collection[MemberId]]
) -> tuple[Finding, ...]:
    """Return an error for each reason not to tear a node down, and a warning for each cluster that may delay it.

    A removal that only slow members forbid may be allowed soon; any other refusal is known before the node is drained.
    ``members``: every managed cluster, with its members on the node. A cluster that did not answer is an error: it may
    have its last healthy member there.
    """
    findings = []
    if node in genesis:
        findings.append(
            error("GenesisNode", f"{node} is the genesis node: a teardown may take down the site. To go on, use force.")
        )
    for cluster, leaving in members.items():
        if not cluster.members:
            message = (
                f"No member of etcd cluster {cluster.name} can be reached, so {node} may hold the last healthy one."
            )
            findings.append(error("EtcdNotAccessible", f"{message} Restore the access, or use force."))
        elif forbidden := cannot_leave(node, cluster, leaving):
            findings.append(error(forbidden.name, f"{forbidden.message} {forbidden.advice}, or use force."))
        elif isinstance(removal := decide_removal(cluster, leaving), Refused):
            message = f"{_cannot_leave_now(node, cluster, removal)} The teardown waits before it clears labels."
            findings.append(warning(_BLOCKED, message))
    return tuple(findings)


def cannot_leave(node: str, cluster: EtcdCluster, leaving: Collection[MemberId]) -> Forbidden | None:
    """Return why these members on a node cannot leave a cluster that answers, however long one waits; None: they can.

    Slow members may recover at any moment, so what they forbid is only forbidden for now.
    """
    if _holds_last_healthy(cluster, leaving):
        message = f"Without {node}, etcd cluster {cluster.name} has no healthy member, and its data is lost."
        return Forbidden("LastHealthyEtcdMember", message, "Add a member first")
    removal = decide_removal(cluster, leaving)
    if isinstance(removal, Refused) and isinstance(decide_removal(_recovered(cluster), leaving), Refused):
        message = _cannot_leave_now(node, cluster, removal)
        return Forbidden(_BLOCKED, message, "Bring the other members back or add one first")
    return None


def check_batches(
    batches: Iterable[Iterable[NodeName]],
    genesis: Collection[NodeName],
    clusters: Sequence[EtcdCluster],
    addresses: Addresses,
) -> tuple[Finding, ...]:
    """Return the findings of ``check_teardown`` for every node.

    The nodes of a batch leave one by one before any comes back; by the next batch they are back.
    """
    findings: list[Finding] = []
    for batch in batches:
        staying = clusters
        for node in batch:
            members = {cluster: members_on(cluster, node, addresses[node]) for cluster in staying}
            findings += check_teardown(node, genesis, members)
            staying = [
                cluster.without(left) if cluster.without(left).members else cluster for cluster, left in members.items()
            ]
    return tuple(findings)


def check_together(
    batches: Iterable[Iterable[NodeName]], clusters: Sequence[EtcdCluster], addresses: Addresses
) -> tuple[Finding, ...]:
    """Return the findings of ``check_teardown`` for all nodes as one, which leave for good."""
    nodes = [node for batch in batches for node in batch]
    members = {
        cluster: frozenset[MemberId]().union(*(members_on(cluster, node, addresses[node]) for node in nodes))
        for cluster in clusters
    }
    return check_teardown(NodeName(", ".join(nodes)), (), members)


def check_drain(node: NodeName, plan: DrainPlan, on_blocked: OnBlocked) -> tuple[Finding, ...]:
    """Return an error if a budget keeps pods on the node for ever: its drain could only fail."""
    kept = plan.of({PodClass.BLOCKED_FOREVER})
    if not kept or on_blocked is OnBlocked.DELETE:
        return ()
    named = in_short((f"{planned.pod}: {planned.why}" for planned in kept), MOST_NAMED, "; ", "; and {} more")
    advice = f"Change the budget, delete such pods with {ON_BLOCKED}={OnBlocked.DELETE.value}, or use force."
    return (error("DrainBlockedForEver", f"{node} cannot be drained: {named}. {advice}"),)


def check_service(
    group: str, nodes: Collection[NodeName], members: Mapping[EtcdCluster, Collection[MemberId]]
) -> tuple[Finding, ...]:
    """Return an error for each etcd cluster that has no quorum while all nodes of a group are serviced at once.

    ``members``: every managed cluster, with its members on these nodes. A server that runs service steps restarts.
    """
    findings = []
    for cluster, away in members.items():
        needed = majority(len(cluster.voters))
        staying = sum(member.healthy for member in cluster.voters if member.id not in away)
        if not cluster.members:
            message = f"No member of etcd cluster {cluster.name} can be reached. Restore the access, or use force."
            findings.append(error("EtcdNotAccessible", message))
        elif away and staying < needed:
            message = (
                f"While group {group} ({', '.join(sorted(nodes))}) is serviced, etcd cluster {cluster.name} has no"
                f" quorum: {staying} healthy voters stay, {needed} are needed."
                " Name fewer of these servers, or use force."
            )
            findings.append(error("EtcdLosesQuorum", message))
    return tuple(findings)


def overridden(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings for an action with ``force``: every error is a warning."""
    return tuple(
        replace(finding, level=Level.WARNING) if finding.level is Level.ERROR else finding for finding in findings
    )


def _cannot_leave_now(node: str, cluster: EtcdCluster, removal: Refused) -> str:
    return f"The etcd member on {node} cannot leave cluster {cluster.name} now: {removal}."


def _recovered(cluster: EtcdCluster) -> EtcdCluster:
    """Return the cluster as it will be once its slow members answer again."""
    slow, healthy = MemberState.SLOW, MemberState.HEALTHY
    members = (replace(member, state=healthy if member.state is slow else member.state) for member in cluster.members)
    return replace(cluster, members=tuple(members))


def _holds_last_healthy(cluster: EtcdCluster, leaving: Collection[MemberId]) -> bool:
    """Return whether voters leave and no healthy one stays; a slow one may stay slow."""
    going = any(member.id in leaving for member in cluster.voters)
    return going and not any(member.healthy for member in cluster.voters if member.id not in leaving)
