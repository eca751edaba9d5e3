"""What must hold before a node is torn down or serviced: etcd keeps a quorum, genesis stays; ``force`` overrides."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from shipyard_api.domain.findings import Finding, Level, error, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.drain_plan import DrainPlan, PodClass
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, MemberId, MemberState
from shipyard_api.domain.teardown.limits import ON_BLOCKED
from shipyard_api.domain.teardown.quorum import Refused, decide_removal, majority

_NAMED = 10


def check_teardown(
    node: NodeName, genesis: Collection[NodeName], members: Mapping[EtcdCluster, Collection[MemberId]]
) -> tuple[Finding, ...]:
    """Return an error for each reason not to tear a node down, and a warning for each cluster that may delay it.

    A removal that only slow members forbid may be allowed soon; any other refusal is known before the node is drained.
    ``members``: every managed cluster, with its members on the node. A cluster that did not answer is an error: it may
    have its last healthy member there.
    """
    found = []
    if node in genesis:
        found.append(
            error("GenesisNode", f"{node} is the genesis node: a teardown may take down the site. To go on, use force.")
        )
    for cluster, leaving in members.items():
        removal = decide_removal(cluster, leaving)
        if not cluster.members:
            message = (
                f"No member of etcd cluster {cluster.name} can be reached, so {node} may hold the last healthy one."
            )
            found.append(error("EtcdNotAccessible", f"{message} Restore the access, or use force."))
        elif _holds_last_healthy(cluster, leaving):
            message = f"Without {node}, etcd cluster {cluster.name} has no healthy member, and its data is lost."
            found.append(error("LastHealthyEtcdMember", f"{message} Add a member first, or use force."))
        elif isinstance(removal, Refused):
            message = f"The etcd member on {node} cannot leave cluster {cluster.name} now: {removal}."
            if isinstance(decide_removal(_recovered(cluster), leaving), Refused):
                message = f"{message} Bring the other members back or add one first, or use force."
                found.append(error("EtcdRemovalBlocked", message))
            else:
                found.append(warning("EtcdRemovalBlocked", f"{message} The teardown waits before it clears labels."))
    return tuple(found)


def check_drain(node: NodeName, plan: DrainPlan, on_blocked: OnBlocked) -> tuple[Finding, ...]:
    """Return an error if a budget keeps pods on the node for ever: its drain could only fail."""
    kept = plan.of({PodClass.BLOCKED_FOREVER})
    if not kept or on_blocked is OnBlocked.DELETE:
        return ()
    named = "; ".join(f"{one.pod}: {one.why}" for one in kept[:_NAMED])
    more = f"; and {len(kept) - _NAMED} more" if len(kept) > _NAMED else ""
    advice = f"Change the budget, delete such pods with {ON_BLOCKED}={OnBlocked.DELETE.value}, or use force."
    return (error("DrainBlockedForEver", f"{node} cannot be drained: {named}{more}. {advice}"),)


def check_service(
    group: str, nodes: Collection[NodeName], members: Mapping[EtcdCluster, Collection[MemberId]]
) -> tuple[Finding, ...]:
    """Return an error for each etcd cluster that has no quorum while all nodes of a group are serviced at once.

    ``members``: every managed cluster, with its members on these nodes. A server that runs service steps restarts.
    """
    found = []
    for cluster, away in members.items():
        needed = majority(len(cluster.voters))
        staying = sum(member.healthy for member in cluster.voters if member.id not in away)
        if not cluster.members:
            message = f"No member of etcd cluster {cluster.name} can be reached. Restore the access, or use force."
            found.append(error("EtcdNotAccessible", message))
        elif away and staying < needed:
            message = (
                f"While group {group} ({', '.join(sorted(nodes))}) is serviced, etcd cluster {cluster.name} has no"
                f" quorum: {staying} healthy voters stay, {needed} are needed."
                " Name fewer of these servers, or use force."
            )
            found.append(error("EtcdLosesQuorum", message))
    return tuple(found)


def overridden(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings for an action with ``force``: every error is a warning."""
    return tuple(
        replace(finding, level=Level.WARNING) if finding.level is Level.ERROR else finding for finding in findings
    )


def _recovered(cluster: EtcdCluster) -> EtcdCluster:
    """Return the cluster as it will be once its slow members answer again."""
    slow, healthy = MemberState.SLOW, MemberState.HEALTHY
    members = (replace(one, state=healthy if one.state is slow else one.state) for one in cluster.members)
    return replace(cluster, members=tuple(members))


def _holds_last_healthy(cluster: EtcdCluster, leaving: Collection[MemberId]) -> bool:
    """Return whether voters leave and no healthy one stays; a slow one may stay slow."""
    going = any(member.id in leaving for member in cluster.voters)
    return going and not any(member.healthy for member in cluster.voters if member.id not in leaving)
