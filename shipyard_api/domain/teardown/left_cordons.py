"""Servers that a teardown left cordoned, and the commands that bring them back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionId, ActionName, is_listed
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import bring_back, uncordon


@dataclass(frozen=True, slots=True)
class LeftCordon:
    """The drain of an ended action that cordoned a node, which nothing has uncordoned or deployed since.

    That is what Shipyard did; the cluster is not asked. ``labels_cleared``: the node has lost its labels since, so that
    its cordon alone brings nothing back.
    """

    node: NodeName
    action: ActionId
    name: ActionName
    since: datetime
    labels_cleared: bool

    @property
    def commands(self) -> Sequence[str]:
        """The commands that bring the node back, one of which is enough, the usual one first."""
        if self.labels_cleared:
            return [bring_back(self.node, self.action, self.name)]
        retry = [bring_back(self.node, self.action, self.name)] if is_listed(self.name) else []
        return [*retry, uncordon(self.node)]
