"""The steps and operations that take nodes out of their cluster, from the configured systems (product, section 6)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import SiteChecks
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.actions.steps.checks import Check
from shipyard_api.actions.steps.hardware import FAIL
from shipyard_api.actions.steps.taking_down import TakesDown
from shipyard_api.actions.steps.teardown.destroy import Destroy
from shipyard_api.actions.steps.teardown.drain import Drain
from shipyard_api.actions.steps.teardown.etcd import AwaitEtcd, EtcdGuard, RemoveEtcd
from shipyard_api.actions.steps.teardown.kubelet import ShutDownKubelet
from shipyard_api.actions.steps.teardown.labels import ClearLabels
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.actions.steps.teardown.part import Pace, Part
from shipyard_api.actions.steps.teardown.removal import RemoveFromCluster
from shipyard_api.actions.steps.teardown.service import ServiceOperation
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown, TeardownNodes
from shipyard_api.actions.steps.teardown.uncordon import Uncordon
from shipyard_api.domain.actions import ActionId, RunState, StepId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Finding, error, errors, info
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, MemberId, members_on
from shipyard_api.domain.teardown.guards import check_batches, check_drain, check_service, check_together, overridden
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import DECOMMISSION, DESTROY, DRAIN, LEAVE, TEARDOWN, WHOLE, Operation
from shipyard_api.ports.provisioner import Wipe

_DRAIN = PhaseOfTeardown(DRAIN, (Operation.DRAIN,))
# One node at a time: two that leave an etcd cluster at once could each believe that the other stays.
_LEAVE = PhaseOfTeardown(
    LEAVE, tuple(operation for operation in DECOMMISSION if operation is not Operation.DRAIN), one_by_one=True
)
_DESTROY = PhaseOfTeardown(DESTROY, (Operation.DESTROY_NODE, Operation.REMOVE_FROM_CLUSTER))
_WHOLE = PhaseOfTeardown(WHOLE, TEARDOWN)
_DESTROY_ONLY = PhaseOfTeardown(DESTROY, (Operation.DESTROY_NODE,))


def _kept(phase: PhaseOfTeardown) -> PhaseOfTeardown:
    """Return the phase without the destruction of the host."""
    return replace(
        phase, operations=tuple(operation for operation in phase.operations if operation is not Operation.DESTROY_NODE)
    )


class TeardownSteps(Struct, frozen=True):
    """The operations of a teardown, as they are configured. ``pace``: of waits, for simulated sites."""

    checks: SiteChecks
    retry: RetryPolicy
    pace: Pace = Pace()  # immutable

    @property
    def protection(self) -> ReadProtection:
        """The reader of what protects running things."""
        return ReadProtection(self.checks.designs, self.checks.rules)

    @property
    def drains(self) -> bool:
        """Whether nodes can be taken out of Kubernetes at all; otherwise they are only destroyed, with ``force``."""
        systems = self.checks.systems
        return systems.service is not None or (systems.nodes is not None and systems.etcd is not None)

    def check(self, step: StepId, batches: Sequence[tuple[NodeName, ...]], inputs: ActionInputs) -> Check:
        """Return the step that checks whether the nodes of these batches may be torn down; kept ones are left alone.

        A server with wrong hardware may not, where the design says that it fails: it would not be deployed again.
        """
        kept = frozenset(inputs.kept or ())

        def ask(revision: int) -> Sequence[Finding]:
            nodes = [tuple(node for node in batch if node not in kept) for batch in batches]
            if not any(nodes):
                return [info("NothingToTearDown", "every server of the batch was redeployed before")]
            findings = [*self._findings(revision, nodes, inputs.teardown.on_blocked)]
            if inputs.of_site.hardware == FAIL and not inputs.rebuild:
                # The gate of the deployment that follows comes too late: the server runs until it is destroyed.
                installed = [node for batch in nodes for node in batch]
                findings += self.checks.hardware.findings(Revision(revision), installed, fails=True)
            return overridden(findings) if inputs.force else findings

        return Check(step, ask, self.retry.give_up_after, self.retry.pause)

    def check_removal(self, step: StepId, nodes: tuple[NodeName, ...], inputs: ActionInputs) -> Check:
        """Return the step that checks whether these nodes may be torn down for good, each of them and all together."""

        def ask(revision: int) -> Sequence[Finding]:
            findings = [*self._findings(revision, [nodes], inputs.teardown.on_blocked)]
            if self.drains and len(nodes) > 1 and not errors(findings):
                addresses, clusters = self._clusters(self.protection(revision), nodes)
                findings += check_together([nodes], clusters, addresses)
            return overridden(findings) if inputs.force else findings

        return Check(step, ask, self.retry.give_up_after, self.retry.pause)

    def _findings(
        self, revision: int, batches: Sequence[Sequence[NodeName]], on_blocked: OnBlocked
    ) -> Sequence[Finding]:
        """Return what forbids the teardown of these nodes, or delays it. Asks etcd and Kubernetes; changes nothing."""
        if not self.drains:
            message = (
                "No Kubernetes is configured, so nothing can be drained. To destroy servers as they are, use force."
            )
            return [error("ClusterNotConfigured", message)]
        protection = self.protection(revision)
        if protection.faults:
            return protection.faults
        nodes = [node for batch in batches for node in batch]
        addresses, clusters = self._clusters(protection, nodes)
        findings = list(check_batches(batches, protection.genesis, clusters, addresses))
        findings += [finding for node in nodes for finding in self._kept_pods(node, on_blocked)]
        return findings or [info("TeardownAllowed", f"nothing forbids the teardown of {', '.join(nodes)}")]

    def _kept_pods(self, node: NodeName, on_blocked: OnBlocked) -> Sequence[Finding]:
        """Return an error if budgets keep pods on the node for ever; a Promenade that drains by itself is not asked."""
        systems = self.checks.systems
        look = systems.nodes.look(node) if systems.nodes is not None and systems.service is None else None
        if look is None:
            return ()
        return check_drain(node, look.drain_plan(look.kubelet), on_blocked)

    def check_interrupted(self, step: StepId, ways: Ways, inputs: ActionInputs) -> Check:
        """Return the step that checks whether each of these servers may be away by itself."""
        on_blocked = inputs.teardown.on_blocked

        def ask(revision: int) -> Sequence[Finding]:
            protection, alone = self.protection(revision), [(node,) for node in ways.reinstalled]
            findings = list(self._findings(revision, alone, on_blocked) if alone else protection.faults)
            for node in ways.stays if self.drains else ():
                findings += check_service(node, [node], self._members(protection, [node]))
                findings += self._kept_pods(node, on_blocked) if node in ways.drained else ()
            return overridden(findings) if inputs.force else findings

        return Check(step, ask, self.retry.give_up_after, self.retry.pause)

    def check_service(self, step: StepId, inputs: ActionInputs) -> Check:
        """Return the step that checks whether the groups of the action may be serviced, each at once.

        Kept nodes are not drained again, so their pods do not matter.
        """
        kept, on_blocked = frozenset(inputs.kept or ()), inputs.teardown.on_blocked

        def ask(revision: int) -> Sequence[Finding]:
            protection = self.protection(revision)
            findings = list(protection.faults)
            for group in inputs.of_site.strategy.groups if not findings else ():
                nodes = sorted(frozenset[NodeName]().union(*(selector.node_names for selector in group.selectors)))
                findings += check_service(group.name, nodes, self._members(protection, nodes))
                drained = (node for node in nodes if node not in kept)
                findings += [finding for node in drained for finding in self._kept_pods(node, on_blocked)]
            message = "every etcd cluster keeps its quorum, and no budget keeps a pod for ever"
            findings = findings or [info("ServiceAllowed", message)]
            return overridden(findings) if inputs.force else findings

        return Check(step, ask, self.retry.give_up_after, self.retry.pause)

    def nodes(
        self,
        step: StepId,
        nodes: tuple[NodeName, ...],
        inputs: ActionInputs,
        *,
        leaves: bool = False,
        revision: int | None = None,
    ) -> TeardownNodes:
        """Return the step that takes these nodes out, and destroys them. ``leaves``: the provisioner forgets them.

        ``revision``: one that has the nodes, if they have left that of the action.
        """
        phases = self._phases(single=len(nodes) == 1)
        if self.drains and inputs.rebuild:
            phases = tuple(map(_kept, phases))
        return self.step(step, nodes, phases, inputs, leaves=leaves, revision=revision)

    def taking_down(self, inputs: ActionInputs) -> TakesDown:
        """Return how a rollout takes servers down before it prepares them again."""
        return TakesDown(self._phases(single=False), self._task(inputs), self._kind(), self._etcd_members)

    def _phases(self, *, single: bool) -> tuple[PhaseOfTeardown, ...]:
        if not self.drains:
            return (_DESTROY_ONLY,)
        return (_WHOLE,) if single else (_DRAIN, _LEAVE, _DESTROY)

    def _etcd_members(self, revision: int, nodes: Sequence[NodeName]) -> Mapping[str, tuple[NodeName, ...]]:
        """Return which of the nodes have members of each etcd cluster; all of them of a cluster that does not answer.

        Asks etcd and Kubernetes.
        """
        if not self.drains or self.checks.systems.etcd is None:
            return {}
        addresses, clusters = self._clusters(self.protection(revision), nodes)
        return {
            cluster.name: tuple(
                node for node in nodes if not cluster.members or members_on(cluster, node, addresses[node])
            )
            for cluster in clusters
        }

    def step(
        self,
        step: StepId,
        nodes: tuple[NodeName, ...],
        phases: tuple[PhaseOfTeardown, ...],
        inputs: ActionInputs,
        *,
        leaves: bool = False,
        revision: int | None = None,
    ) -> TeardownNodes:
        """Return a step that takes these nodes through the phases."""
        policy = inputs.policy
        task = self._task(inputs, policy.of_servers if policy else None, leaves=leaves, revision=revision)
        return TeardownNodes(step, nodes, phases, task, self._kind())

    def _task(
        self,
        inputs: ActionInputs,
        windows: ServerWindows | None = None,
        *,
        leaves: bool = False,
        revision: int | None = None,
    ) -> Callable[[NodeName, tuple[Operation, ...]], TeardownTask]:
        """Return what the item of a node works from. ``windows``: those in which a node may begin."""
        configuration = inputs.configuration

        def task(node: NodeName, operations: tuple[Operation, ...]) -> TeardownTask:
            return TeardownTask(
                node,
                inputs.action,
                revision or inputs.revision,
                operations,
                inputs.teardown,
                inputs.wipe or Wipe.ALL,
                force=bool(inputs.force),
                must_exist=inputs.must_exist,
                destroy=configuration.destroy_nodes,
                queue_limit=configuration.queue_limit,
                leaves=leaves,
                windows=windows,
            )

        return task

    def _kind(self) -> NodeTeardown:
        return NodeTeardown(self._operations(), self._history, self._limits, self._faults, self.pace)

    def _operations(self) -> Mapping[Operation, Part[Any]]:
        """Return the part of each operation: by Promenade if it does them, else by Kubernetes and etcd themselves."""
        checks, systems, pace = self.checks, self.checks.systems, self.pace
        parts: dict[Operation, Part[Any]] = {
            Operation.DESTROY_NODE: Destroy(checks.store, systems.provisioner, systems.nodes, self._design_of, pace)
        }
        if systems.service is not None:
            for operation in (*DECOMMISSION, Operation.REMOVE_FROM_CLUSTER):
                parts[operation] = ServiceOperation(
                    operation, systems.service, self._protecting_design, self._is_wanted, pace
                )
        elif systems.nodes is not None and systems.etcd is not None:
            nodes = systems.nodes
            guard = EtcdGuard(nodes, systems.etcd, self.protection, pace)
            parts |= {
                Operation.DRAIN: Drain(nodes, pace),
                Operation.CLEAR_LABELS: ClearLabels(nodes, guard, pace),
                Operation.REMOVE_ETCD: RemoveEtcd(guard, pace),
                Operation.AWAIT_ETCD: AwaitEtcd(guard, pace),
                Operation.SHUT_DOWN_KUBELET: ShutDownKubelet(nodes, pace),
                Operation.REMOVE_FROM_CLUSTER: RemoveFromCluster(nodes, pace),
                Operation.UNCORDON: Uncordon(nodes, self._cordon_label_cleared, pace),
            }
        return parts

    def _design_of(self, revision: int) -> str:
        return self.checks.systems.provisioner.design_reference(revision)

    def _protecting_design(self, revision: int) -> str:
        """Return the address of the design from which Promenade reads the etcd clusters."""
        return self.checks.systems.design_of(self.protection.revision(revision) or revision)

    def _members(self, protection: Protection, nodes: Sequence[NodeName]) -> Mapping[EtcdCluster, frozenset[MemberId]]:
        """Return every cluster, with its members on these nodes. Asks etcd and Kubernetes."""
        addresses, clusters = self._clusters(protection, nodes)
        return {
            cluster: frozenset[MemberId]().union(*(members_on(cluster, node, addresses[node]) for node in nodes))
            for cluster in clusters
        }

    def _clusters(
        self, protection: Protection, nodes: Sequence[NodeName]
    ) -> tuple[Mapping[NodeName, Sequence[str]], Sequence[EtcdCluster]]:
        """Return the addresses of the nodes, and every cluster. Asks etcd and Kubernetes."""
        systems = self.checks.systems
        known = {node: systems.nodes.node(node) if systems.nodes else None for node in nodes}
        addresses = {node: known_node.addresses if known_node else () for node, known_node in known.items()}
        alone = nodes[0] if len(nodes) == 1 else None
        asked_last = addresses[alone] if alone else ()
        etcd = systems.etcd
        clusters = [etcd.look(each, node=alone, addresses=asked_last) for each in protection.clusters] if etcd else []
        return addresses, clusters

    def _faults(self, revision: int) -> Sequence[Finding]:
        return () if self.checks.systems.service is not None else self.protection(revision).faults

    def _history(self, node: NodeName) -> tuple[bool, bool]:
        with self.checks.store.begin() as tx:
            return tx.nodes.etcd_removal_began(node), node in tx.nodes.deployed([node])

    def _cordon_label_cleared(self, node: NodeName) -> bool:
        with self.checks.store.begin() as tx:
            cordon = tx.nodes.left_cordons([node]).get(node)
        return cordon is not None and cordon.labels_cleared

    def _limits(self, action: ActionId) -> TeardownLimits:
        with self.checks.store.begin() as tx:
            return tx.actions.limits(action)

    def _is_wanted(self, action: ActionId) -> bool:
        with self.checks.store.begin() as tx:
            record = tx.actions.get(action)
        return record is not None and record.state in (RunState.RUNNING, RunState.PAUSED)
