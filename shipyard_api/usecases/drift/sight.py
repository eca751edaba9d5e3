"""Sight the nodes of ended actions: what their peers show right after an action is what it left."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.sightings import LeftNode, SeenMember, Sighting
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.state.sightings import Unsighted
from shipyard_api.ports.state.store import Store

LOG = logging.getLogger(__name__)

PATIENCE = timedelta(hours=1)
"""How long after its action a node may take to become ready in its cluster, and still be sighted there."""


@dataclass(frozen=True, slots=True)
class SightNodes:
    """The use case. ``inventory``: the machines of a revision; ``pause``: seconds between two attempts at an action.

    One listing of each peer serves all nodes. A node keeps its first sighting, until a later action works on it; only
    its part in the cluster is renewed until the node is ready.
    """

    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    inventory: Callable[[Revision], Inventory]
    now: Callable[[], datetime]
    pause: float

    def __call__(self) -> int:
        """Sight the nodes of actions that are due; return how many nodes."""
        now = self.now()
        with self.store.begin() as tx:
            due = tx.sightings.due(now=now, pause=self.pause)
            nodes = tx.sightings.left(min(one.action for one in due)) if due else ()
        actions = {one.action: one for one in due}
        wanted = [node for node in nodes if node.action in actions and not self._is_complete(node)]
        try:
            found = self._sightings(wanted, actions) if wanted else {}
        except PeerError as error:
            LOG.warning("peer in trouble", extra={"trouble": str(error)})
            return 0
        waiting = {
            action
            for action, one in found.values()
            if self.cluster and not (one.member and one.member.ready) and now - actions[action].ended_at < PATIENCE
        }
        with self.store.begin() as tx:
            tx.sightings.record(found, [one for one in actions if one not in waiting], now=now)
        return len(found)

    def _is_complete(self, node: LeftNode) -> bool:
        member = node.sighting.member if node.sighting else None
        return node.sighting is not None and (self.cluster is None or (member is not None and member.ready))

    def _sightings(
        self, nodes: Sequence[LeftNode], actions: Mapping[ActionId, Unsighted]
    ) -> Mapping[NodeName, tuple[ActionId, Sighting]]:
        machines = {}
        if any(node.sighting is None for node in nodes):
            machines = {one.name.lower(): one for one in self.provisioner.conditions()}
        members = self.cluster.readiness([node.name for node in nodes]) if self.cluster else {}
        labels = {action: self._labels(one.revision) for action, one in actions.items()} if members else {}
        found = {}
        for node in nodes:
            machine = machines.get(node.name.lower())
            sighting = node.sighting or Sighting(
                machine.machine if machine else "", machine.installed if machine else ""
            )
            member = members.get(node.name)
            if member and member.joined:
                own = labels[node.action].get(node.name, ())
                sighting = replace(sighting, member=_with_labels(member, own))
            found[node.name] = (node.action, sighting)
        return found

    def _labels(self, revision: Revision | None) -> Mapping[NodeName, Collection[str]]:
        """Return the keys of the labels that a design gives its nodes; none if it cannot be read."""
        if revision is None:
            return {}
        try:
            nodes = self.inventory(revision).nodes
        except (UnreadableDesign, PeerError):
            return {}
        return {name: [key for key, _ in node.labels] for name, node in nodes.items()}


def _with_labels(member: SeenMember, keys: Collection[str]) -> SeenMember:
    return replace(member, labels={key: member.labels[key] for key in keys if key in member.labels})
