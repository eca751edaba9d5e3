"""The etcd members of a node: may they go, remove them, and wait until the clusters are well (promenade, 4.3, 4.4)."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, Removal, moved, waiting
from shipyard_api.domain.facts.teardown import EtcdMemberRemoved
from shipyard_api.domain.findings import errors
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.domain.teardown.etcd_health import Health, Readiness, health, readiness
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, MemberId, members_on
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.quorum import Gone, Refused, Remove, decide_removal
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.etcd import Etcd, EtcdAccess
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded, Look

GUARD_SECONDS = 10.0
READY_SECONDS = 30.0
BACK_SECONDS = 30.0
"""After this time a member that something adds again is back in the list."""


class EtcdReport(Struct, frozen=True):
    """One look at all clusters. ``leaving``: the members of the node, by cluster. ``faults``: of the document.

    ``removed``: the member that this effect removed, or that turned out to have gone.
    """

    clusters: tuple[EtcdCluster, ...] = ()
    leaving: Mapping[str, frozenset[MemberId]] = msgspec.field(default_factory=dict)
    faults: tuple[str, ...] = ()
    removed: MemberId | None = None


class EtcdGuard(Struct, frozen=True):
    """Looks at the etcd clusters of the site, and lets an operation begin only while the members of a node may go.

    ``protection``: returns what protects running things; before the first commit by the revision that it is given.
    """

    nodes: ClusterNodes
    etcd: Etcd
    protection: Callable[[int], Protection]
    pace: Pace = Pace()  # immutable

    def look(self, request: Request) -> EtcdReport:
        """Return how all clusters are, each member asked at its own address."""
        protection = self.protection(request.revision)
        if faults := errors(protection.faults):
            return EtcdReport(faults=tuple(fault.message for fault in faults))
        if not protection.clusters:
            return EtcdReport()
        node = self.nodes.node(request.node)
        addresses = node.addresses if node else ()
        listed = request.more["addresses"]
        known = [access.with_addresses(listed.get(access.name, ())) for access in protection.clusters]
        clusters = tuple(self.etcd.look(access, node=request.node, addresses=addresses) for access in known)
        leaving = {cluster.name: members_on(cluster, request.node, addresses) for cluster in clusters}
        return EtcdReport(clusters, leaving)

    @staticmethod
    def request(part: Part[Any], state: NodeState, now: datetime, what: str, **details: Any) -> Request:
        """Return a request of a part that looks at etcd."""
        addresses = {name: list(urls) for name, urls in state.addresses.items()}
        return part.request(state, now, what, addresses=addresses, **details)

    @staticmethod
    def learn(state: NodeState, report: EtcdReport) -> NodeState:
        """Return the state with the addresses that members listed."""
        listed = {cluster.name: cluster.addresses for cluster in report.clusters if cluster.addresses}
        return replace(state, addresses={**state.addresses, **listed})

    def access(self, request: Request, cluster: str) -> EtcdAccess | None:
        """Return how to reach a cluster; None if the design does not have it any more."""
        return next((access for access in self.protection(request.revision).clusters if access.name == cluster), None)

    def judge(self, part: Part[Any], state: NodeState, report: EtcdReport, now: datetime) -> Folded[NodeState]:
        """Begin the operation if every cluster can do without the members of the node, else wait until its deadline."""
        state = self.learn(state, report)
        if report.faults:
            return part.failed(state, "; ".join(report.faults), now)
        held = any(report.leaving.values())
        order = replace(state.teardown, holds_etcd=held or any(not cluster.members for cluster in report.clusters))
        refused = self.refusals(state, report)
        given_up = [name for name, refusal in refused.items() if refusal.can_be_forced and state.task.force]
        reasons = tuple(f"etcd cluster {name}: {refusal}" for name, refusal in refused.items() if name not in given_up)
        if not reasons:
            state = replace(state, given_up=(*state.given_up, *given_up), waits=())
            return moved(state, order.begin(part.operation), now)
        if now >= state.deadline(part.seconds(state)):
            return part.failed(state, "; ".join(reasons), now)
        return waiting(state, part.operation, self.pace.after(now, GUARD_SECONDS), reasons)

    def refusals(self, state: NodeState, report: EtcdReport) -> Mapping[str, Refused]:
        """Return why members cannot leave, by cluster; clusters that were given up are left out."""
        decided = {
            cluster.name: decide_removal(cluster, report.leaving[cluster.name])
            for cluster in report.clusters
            if cluster.name not in state.given_up
        }
        return {name: decision for name, decision in decided.items() if isinstance(decision, Refused)}


@dataclass(frozen=True, slots=True)
class RemoveEtcd(Part[EtcdReport]):
    """Removes the members of the node, one at a time; between two the clusters must be well again."""

    guard: EtcdGuard
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.REMOVE_ETCD

    def seconds(self, state: NodeState) -> float:
        """Return the time limit of the removals."""
        return state.limits.remove_etcd

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Look, then remove what the look allowed."""
        if state.removal is None or not state.begun(self.operation):
            return Look(self.guard.request(self, state, now, "look"))
        details = {"cluster": state.removal.cluster, "remove": state.removal.remove.to_json()}
        return Act(self.guard.request(self, state, now, "remove", **details), state.deadline(self.seconds(state)))

    def ask(self, request: Request) -> EtcdReport:
        """Look at the clusters."""
        return self.guard.look(request)

    def perform(self, request: Request, marker: Marker) -> EtcdReport:
        """Remove the member, if a fresh look still allows exactly that."""
        report, remove = self.guard.look(request), Remove.from_json(request.more["remove"])
        name = request.more["cluster"]
        cluster = next((candidate for candidate in report.clusters if candidate.name == name), None)
        access = self.guard.access(request, name)
        if cluster is None or access is None:
            return report
        decided = decide_removal(cluster, report.leaving[name])
        if not isinstance(decided, Remove) or decided.member != remove.member or decided.waived != remove.waived:
            return report
        if decided.transfer_to is not None:
            # A failure is no obstacle (contract, 4.3, step 5): the members that stay elect a leader by themselves.
            with suppress(PeerError):
                self.guard.etcd.transfer_leadership(access, cluster, decided.transfer_to)
        self.guard.etcd.remove(access, cluster, decided.member, report.leaving[name])
        return replace(report, removed=decided.member)

    def find(self, request: Request, marker: Marker, since: datetime, answers: JobAnswers) -> EtcdReport | None:
        """Return that the member has gone, if the list of its cluster lacks it now."""
        report, remove = self.guard.look(request), Remove.from_json(request.more["remove"])
        cluster = next((candidate for candidate in report.clusters if candidate.name == request.more["cluster"]), None)
        if cluster is None or not cluster.members or any(member.id == remove.member for member in cluster.members):
            return None
        return replace(report, removed=remove.member)

    def fold(self, state: NodeState, asked: Request, report: EtcdReport, now: datetime) -> Folded[NodeState]:
        """Record a removal, or decide on the next from a look."""
        state = self.guard.learn(state, report)
        if report.removed is not None and state.removal is not None:
            removal = state.removal
            waived = removal.remove.waived
            fact = EtcdMemberRemoved(state.node, removal.cluster, report.removed, tuple(map(str, waived)))
            state = replace(state, removal=None, calm_since=now, waits=())
            return Folded(state, (fact,))
        if asked.what == "remove":
            # What was decided does not hold any more: look again.
            return Folded(replace(state, removal=None), wait_until=self.pace.after(now, 1.0))
        if not state.begun(self.operation):
            return self.guard.judge(self, state, report, now)
        if report.faults:
            return self.failed(state, "; ".join(report.faults), now)
        return self._next(state, report, now)

    def _next(self, state: NodeState, report: EtcdReport, now: datetime) -> Folded[NodeState]:
        members = sorted(set().union(*report.leaving.values()) if report.leaving else set())
        if state.calm_since is None:
            state = replace(state, members=tuple(members))
        elif set(members) - set(state.members):
            return self.failed(state, _is_back(state, report, state.members), now)
        reasons = []
        for cluster in report.clusters:
            if cluster.name in state.given_up:
                continue
            leaving = report.leaving[cluster.name]
            decided = decide_removal(cluster, leaving)
            if isinstance(decided, Gone):
                continue
            if isinstance(decided, Remove) and not self._must_recover(state, cluster, leaving):
                waived = {**state.waived, **({cluster.name: decided.waived} if decided.waived else {})}
                return Folded(replace(state, removal=Removal(cluster.name, decided), waived=waived))
            why = str(decided) if isinstance(decided, Refused) else "it has to recover from the last removal"
            reasons.append(f"etcd cluster {cluster.name}: {why}")
        if reasons and now >= state.deadline(self.seconds(state)):
            return self.failed(state, "; ".join(reasons), now)
        if reasons:
            return waiting(state, self.operation, self.pace.after(now, GUARD_SECONDS), tuple(reasons))
        since = state.calm_since
        if since is not None and not self.pace.lasted(since, now, BACK_SECONDS):
            return waiting(state, self.operation, self.pace.after(since, BACK_SECONDS))
        return _well(self, state, report, now)

    def _must_recover(self, state: NodeState, cluster: EtcdCluster, leaving: frozenset[MemberId]) -> bool:
        """Return whether the rest of the cluster is not well after an earlier removal of this operation."""
        return state.calm_since is not None and health(cluster, leaving) is not Health.HEALTHY


@dataclass(frozen=True, slots=True)
class AwaitEtcd(Part[EtcdReport]):
    """Waits until every cluster is well without the node."""

    guard: EtcdGuard
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.AWAIT_ETCD

    def seconds(self, state: NodeState) -> float:
        """Return the time that the clusters have to become well."""
        return state.limits.etcd_ready

    def decide(self, state: NodeState, now: datetime) -> Look[Request]:
        """Look at the clusters."""
        return Look(self.guard.request(self, state, now, "look"))

    def ask(self, request: Request) -> EtcdReport:
        """Look at the clusters."""
        return self.guard.look(request)

    def fold(self, state: NodeState, asked: Request, report: EtcdReport, now: datetime) -> Folded[NodeState]:
        """End when all are ready, or when a member is back."""
        state = self.guard.learn(state, report)
        if report.faults:
            return self.failed(state, "; ".join(report.faults), now)
        reasons = []
        for cluster in report.clusters:
            if cluster.name in state.given_up:
                continue
            leaving = report.leaving[cluster.name]
            match readiness(cluster, leaving, state.waived.get(cluster.name, ())):
                case Readiness.MEMBER_IS_BACK:
                    return self.failed(state, _is_back(state, report, ()), now)
                case Readiness.NOT_YET:
                    reasons.append(f"etcd cluster {cluster.name} is {health(cluster, leaving).value}")
                case Readiness.READY:
                    pass
        if not reasons:
            return _well(self, state, report, now)
        deadline = state.deadline(self.seconds(state))
        if now >= deadline:
            return self.failed(state, "; ".join(reasons), now)
        until = min(self.pace.after(now, READY_SECONDS), max(deadline, now + timedelta(seconds=0.1)))
        return waiting(state, self.operation, until, tuple(reasons))


def _is_back(state: NodeState, report: EtcdReport, known: Collection[MemberId]) -> str:
    names = [name for name, leaving in report.leaving.items() if leaving - set(known) and name not in state.given_up]
    clusters = ", ".join(names)
    return f"etcd cluster {clusters} has a member on {state.node} again: something adds it, such as Promenade's anchor"


def _well(part: Part[EtcdReport], state: NodeState, report: EtcdReport, now: datetime) -> Folded[NodeState]:
    given_up, note = "", "" if report.clusters else "the design names no etcd cluster"
    if state.given_up:
        given_up = f"left in place in etcd cluster {', '.join(state.given_up)}, which has no other member alive"
    return part.succeeded(state, now, given_up, note)
