"""Show how the provisioner sees the machines of the site at this moment."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shipyard_api.ports.provisioner import NodeCondition, Provisioner


class StatusKind(Enum):
    """What can be asked of a machine; the values are the words of the parameter (contract: shipyard-rest, 10)."""

    PROVISIONING = "nodes-provision-status"
    POWER = "machines-power-state"


@dataclass(frozen=True, slots=True)
class SiteStatuses:
    """The use case; changes nothing. Raises what the provisioner raises. May take minutes on a large site."""

    provisioner: Provisioner

    def __call__(self, kinds: Collection[StatusKind]) -> Mapping[StatusKind, Sequence[tuple[str, str]]]:
        """Return the status of every machine by name, for each kind; the provisioner is asked once for all of them."""
        found = sorted(self.provisioner.conditions(), key=lambda one: one.name)
        return {kind: [(one.name, _word(one, kind)) for one in found] for kind in StatusKind if kind in kinds}


def _word(condition: NodeCondition, kind: StatusKind) -> str:
    return condition.status if kind is StatusKind.PROVISIONING else condition.power
