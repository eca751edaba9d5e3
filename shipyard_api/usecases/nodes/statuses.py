"""Return the provisioner's current view of the machines."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.ports.provisioner import Provisioner


class StatusKind(Enum):
    """Kinds of machine status; the values are the words of the parameter (contract: shipyard-rest, 10)."""

    PROVISIONING = "nodes-provision-status"
    POWER = "machines-power-state"


@dataclass(frozen=True, slots=True)
class SiteStatuses:
    """The use case; changes nothing. Raises the provisioner's errors. May take minutes on a large site."""

    provisioner: Provisioner

    def __call__(self, kinds: Collection[StatusKind]) -> Mapping[StatusKind, Sequence[tuple[str, str]]]:
        """Return the status of every machine by name, for each kind, with a single call to the provisioner."""
        machines = sorted(self.provisioner.conditions(), key=lambda machine: machine.name)
        return {
            kind: [(machine.name, _status(machine, kind)) for machine in machines]
            for kind in StatusKind
            if kind in kinds
        }


def _status(condition: ObservedMachine, kind: StatusKind) -> str:
    return condition.status if kind is StatusKind.PROVISIONING else condition.power
