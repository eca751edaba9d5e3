"""Holds: while a node is held, no action touches it (product, section 6)."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import NewType

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName

HoldId = NewType("HoldId", str)
"""A ULID."""

OVERRIDDEN = "overridden_holds"
"""The input of an action that lists the ids of the holds that its creator overrode with ``force``."""

SHIPYARD = "shipyard"
"""Who has placed a hold that Shipyard placed by itself."""


class HoldKind(Enum):
    """Why a node is held, as a word on the wire.

    Only Shipyard places ``failed``, after failures, and ``late``; only reports of health sources place ``health``.
    """

    OPERATOR = "operator"
    MAINTENANCE = "maintenance"
    HARDWARE = "hardware"
    FAILED = "failed"
    LATE = "late"
    HEALTH = "health"


class NodeWork(Enum):
    """What an effect or an action does to a node. ``OTHER``: tasks and labels.

    ``PREPARATION``: one that undeploys a node that has failed. It is part of a deployment, and a teardown as well.
    """

    DEPLOYMENT = "deployment"
    PREPARATION = "preparation"
    TEARDOWN = "teardown"
    OTHER = "other"


class HoldClass(Enum):
    """What a hold keeps from its node, as a word on the wire.

    Two classes protect no node: ``NO_ALERTS`` mutes it, and ``NO_CRITERIA`` lets it count in no success criteria and in
    no budget.
    """

    ALL = "all"
    NO_DEPLOYMENT = "no_deployment"
    NO_TEARDOWN = "no_teardown"
    NO_ALERTS = "no_alerts"
    NO_CRITERIA = "no_criteria"

    def forbids(self, works: Collection[NodeWork]) -> bool:
        """Return whether work of which this is a part may not begin."""
        if self is HoldClass.ALL:
            return True
        return not _FORBIDS.get(self, frozenset()).isdisjoint(works)

    @property
    def forbids_nothing(self) -> bool:
        """Whether all work goes on as without the hold."""
        return not self.forbids(list(NodeWork))


_FORBIDS = {
    HoldClass.NO_DEPLOYMENT: frozenset({NodeWork.DEPLOYMENT, NodeWork.PREPARATION}),
    HoldClass.NO_TEARDOWN: frozenset({NodeWork.TEARDOWN, NodeWork.PREPARATION}),
}


def work_on(work: NodeWork, *, has_failed: bool) -> NodeWork:
    """Return what this work does to one of its nodes: a preparation undeploys only a node that has failed."""
    return NodeWork.DEPLOYMENT if work is NodeWork.PREPARATION and not has_failed else work


class Hold(Struct, frozen=True):
    """A hold on a node. ``until``: when it ends by itself, None for never. Both ``released`` are set, or none."""

    id: HoldId
    node: NodeName
    kind: HoldKind
    reason: str
    placed_by: str
    placed_at: datetime
    until: datetime | None = None
    released_by: str | None = None
    released_at: datetime | None = None
    hold_class: HoldClass = HoldClass.ALL

    def forbids(self, works: Collection[NodeWork]) -> bool:
        """Return whether work of which this is a part may not begin."""
        return self.hold_class.forbids(works)

    def __str__(self) -> str:
        """Return the hold as part of a sentence about its node."""
        until = f" until {self.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if self.until else ""
        limits = "" if self.hold_class is HoldClass.ALL else f", {self.hold_class.value.replace('_', ' ')}"
        return f"held ({self.kind.value}{limits}) by {self.placed_by}{until}: {self.reason}"


def by_node(holds: Iterable[Hold]) -> Mapping[NodeName, str]:
    """Return why each held node is held; several holds on one node are joined."""
    reasons: dict[NodeName, str] = {}
    for hold in holds:
        reasons[hold.node] = f"{reasons[hold.node]}; {hold}" if hold.node in reasons else str(hold)
    return reasons
