"""What peers show of nodes: now, and when an action had left them."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct, field

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.nodes import NodeName, NodeStatus


class MachineState(Enum):
    """What a provisioner's status means for a machine that Shipyard deployed.

    ``INSTALLING`` includes an installation that failed; ``FREE``: released, or on the way to it or back from it;
    ``OTHER``: deployed, but out of service, such as in rescue mode. ``UNKNOWN`` is compared with nothing.
    """

    DEPLOYED = "deployed"
    INSTALLING = "installing"
    FREE = "free"
    OTHER = "other"
    UNKNOWN = "unknown"


class ObservedMachine(Struct, frozen=True):
    """A machine as the provisioner shows it. ``status``: its own label; ``power``: on, off or unknown.

    ``machine``: what stays when it is renamed; ``installed``: what changes when it is installed again. Empty: the
    provisioner does not show that.
    """

    name: str
    status: str
    power: str
    state: MachineState = MachineState.UNKNOWN
    machine: str = ""
    installed: str = ""


class ObservedMember(Struct, frozen=True):
    """A node in the cluster: whether it is ready, and if not, the cluster's reason. ``joined``: the cluster has it.

    ``uid``: of its Node object; ``machine``: the id of its installed system; ``labels``: all of them, but only those of
    the design for a node that was left.
    """

    ready: bool
    why: str = ""
    joined: bool = True
    cordoned: bool = False
    uid: str = ""
    machine: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


class MachineObservation(Struct, frozen=True):
    """A node as the peers showed it when its action had ended. ``member``: None if the cluster did not have it."""

    machine: str = ""
    installed: str = ""
    member: ObservedMember | None = None


class LeftNode(Struct, frozen=True):
    """A node that an action left deployed, and when. ``observation``: None if no peer could be asked since.

    ``in_cluster``: whether the cluster may be compared. It may not after a later teardown of the node.
    """

    name: NodeName
    action: ActionId
    since: datetime
    observation: MachineObservation | None = None
    in_cluster: bool = True


class DownNode(Struct, frozen=True):
    """A node of which the newest action that had it has ended and did not leave it deployed.

    ``torn_down``: that action began its teardown; ``removed``: it took the node down for good. ``in_place``: it was a
    single operation on the node, which leaves the server where it is.
    """

    name: NodeName
    action: ActionId
    action_name: ActionName
    since: datetime
    status: NodeStatus = NodeStatus.NOT_STARTED
    torn_down: bool = False
    removed: bool = False
    in_place: bool = False

    @property
    def taken_down(self) -> bool:
        """Whether the action itself left the server down: it was not merely never reached."""
        return not self.in_place and (self.torn_down or self.status is NodeStatus.FAILURE)


class TakenDownNode(Struct, frozen=True):
    """A node whose teardown began in an action, its newest, which has ended and did not bring it back."""

    name: NodeName
    action: ActionId
    action_name: ActionName
    since: datetime
