"""Holds on nodes."""

from typing import Annotated

from msgspec import field

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import Ulid, Zulu, one_of
from shipyard_api.domain import holds

HoldClass = Annotated[
    str,
    one_of(
        holds.HoldClass,
        "HoldClass",
        description=(
            "What the hold keeps from its node. `all` (the default): no action touches it. `no_deployment`: it is not "
            "prepared, deployed, rebuilt or serviced. `no_teardown`: it is not drained, destroyed or taken out of its "
            "cluster, nor prepared where the provisioner undeploys it for that, as Ironic and MAAS do with a node that "
            "has failed. `no_alerts`: nothing is kept from it; it does not count in `shipyard_failed_nodes` and "
            "`shipyard_late_nodes`. `no_criteria`: nothing is kept from it; it is neither a success nor a failure when "
            "success criteria, thresholds of waves and budgets are judged, also in actions that run."
        ),
        default=holds.HoldClass.ALL.value,
    ),
]


class Hold(Entity, kw_only=True):
    """A hold on a node.

    ``kind``: failed: placed after failed deployments; late: by the rollout policy; health: by a health source.
    """

    id: Ulid
    node: str
    kind: Annotated[str, one_of(holds.HoldKind)]
    hold_class: HoldClass = field(name="class", default=holds.HoldClass.ALL.value)
    reason: str
    placed_by: str
    placed_at: Zulu
    until: Zulu | None
    released_by: str | None
    released_at: Zulu | None


class PlacedHold(Hold, kw_only=True):
    """A new hold.

    ``under_way``: Actions whose work on the node was submitted before and goes on.
    """

    under_way: list[Ulid]


class HoldList(Entity):
    """Holds on nodes."""

    holds: list[Hold]
