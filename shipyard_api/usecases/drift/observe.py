"""Observe the nodes of ended actions: the peers' state right after an action is the state that the action left."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.observations import LeftNode, MachineObservation
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.state.nodes import Unobserved
from shipyard_api.storage.unit_of_work import Store

LOG = logging.getLogger(__name__)

PATIENCE = timedelta(hours=1)
"""How long after its action a node may take to become ready in its cluster, and still be observed there."""


class ObserveNodes(Struct, frozen=True):
    """The use case. ``inventory``: the machines of a revision; ``pause``: seconds between two attempts at an action.

    One listing of each peer serves all nodes. A node keeps its first observation, until a later action works on it;
    only its part in the cluster is renewed until the node is ready.
    """

    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    inventory: Callable[[Revision], Inventory]
    now: Callable[[], datetime]
    pause: float

    def __call__(self) -> int:
        """Observe the nodes of ended actions; return how many nodes."""
        now = self.now()
        with self.store.begin() as tx:
            unobserved = {entry.action: entry for entry in tx.observations.to_observe(now=now, pause=self.pause)}
            if not unobserved:
                return 0
            relabelled = _relabelled(unobserved.values())
            nodes = tx.observations.left_nodes(ActionId("") if relabelled else min(unobserved))
        wanted = [
            node
            for node in nodes
            if node.name in relabelled or (node.action in unobserved and not self._is_complete(node))
        ]
        try:
            observed = self._observations(
                wanted, {node.name: relabelled.get(node.name) or unobserved[node.action] for node in wanted}
            )
        except PeerError as error:
            LOG.warning("peer in trouble", extra={"trouble": str(error)})
            return 0
        waiting = {
            action
            for action, observation in observed.values()
            if self.cluster and action in unobserved and not (observation.member and observation.member.ready)
            if now - unobserved[action].ended_at < PATIENCE
        }
        with self.store.begin() as tx:
            tx.observations.record(observed, unobserved.keys() - waiting, now=now)
        return len(observed)

    def _is_complete(self, node: LeftNode) -> bool:
        member = node.observation.member if node.observation else None
        return node.observation is not None and (self.cluster is None or (member is not None and member.ready))

    def _observations(
        self, nodes: Sequence[LeftNode], actions: Mapping[NodeName, Unobserved]
    ) -> Mapping[NodeName, tuple[ActionId, MachineObservation]]:
        """Return the observation of each node; ``actions``: the action whose design labels the node."""
        machines = {}
        if any(node.observation is None for node in nodes):
            machines = {machine.name.lower(): machine for machine in self.provisioner.conditions()}
        members = self.cluster.readiness([node.name for node in nodes]) if nodes and self.cluster else {}
        revisions = {entry.revision for entry in actions.values()} if members else ()
        labels = {revision: self._labels(revision) for revision in revisions}
        observed = {}
        for node in nodes:
            machine = machines.get(node.name.lower())
            observation = node.observation or (
                MachineObservation(machine.machine, machine.installed) if machine else MachineObservation()
            )
            member = members.get(node.name)
            if member and member.joined:
                node_labels = labels[actions[node.name].revision].get(node.name, ())
                chosen = {key: member.labels[key] for key in node_labels if key in member.labels}
                was = observation.member
                observation = replace(observation, member=replace(was if was and was.ready else member, labels=chosen))
            observed[node.name] = (node.action, observation)
        return observed

    def _labels(self, revision: Revision | None) -> Mapping[NodeName, Collection[str]]:
        """Return the keys of the labels that a design gives its nodes; none if it cannot be read."""
        if revision is None:
            return {}
        try:
            nodes = self.inventory(revision).nodes
        except (UnreadableDesign, PeerError):
            return {}
        return {name: [key for key, _ in node.labels] for name, node in nodes.items()}


def _relabelled(unobserved: Iterable[Unobserved]) -> Mapping[NodeName, Unobserved]:
    """Return the nodes that were only given labels, which leaves their newest record as it is."""
    relabels = [entry for entry in unobserved if ACTIONS[entry.name].relabels]
    return {node: entry for entry in relabels for node in ACTIONS.targets(entry.name, entry.parameters)}
