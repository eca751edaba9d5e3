"""The inputs and the progress of the teardown of one node."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.actions.steps.job_watch import Job
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deployment_configuration import PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import TeardownChanged, TeardownWaits
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.pace import Blocked
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.stored import ByFields, Number
from shipyard_api.domain.teardown.etcd_members import MemberId
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import GUARDED, Operation, Outcome, Teardown, UnknownNode
from shipyard_api.domain.teardown.quorum import Obstacle, Remove
from shipyard_api.ports.provisioner import Wipe
from shipyard_api.workflow.step import Folded


class TeardownTask(ByFields, Struct, frozen=True):
    """What an item works from. ``force``: a node that Kubernetes lacks is passed over, a lost etcd cluster given up.

    ``must_exist``: a node that Kubernetes lacks is a fault, although it was never deployed.
    ``limits``: those that hold until they are changed. ``destroy``: interval and limit of the provisioner's job,
    ``queue_limit`` that of its wait in a queue. ``leaves``: whether the provisioner is to forget the node.
    ``windows``: those in which the node may begin; None if no policy binds the action, or the node has begun.
    """

    OPTIONAL: ClassVar = frozenset({"leaves", "windows"})

    node: NodeName
    action: ActionId
    revision: int
    operations: tuple[Operation, ...]
    limits: TeardownLimits = TeardownLimits()  # immutable
    wipe: Wipe = Wipe.ALL
    force: bool = False
    must_exist: bool = False
    destroy: PhaseLimits = PhaseLimits(30, 86_400)  # immutable
    queue_limit: Number = 86_400
    leaves: bool = False
    windows: ServerWindows | None = None


class Removal(NamedTuple):
    """The next member to remove from a cluster. It is stored before anything is sent, with what it waives."""

    cluster: str
    remove: Remove


class NodeState(ByFields, Struct, frozen=True):
    """How far the teardown of a node is. ``order`` is None until its history is known.

    Of the current operation: ``since``: when its turn came; ``waits``: what it was last said to wait for;
    ``calm_since``: since when its goal has been reached, where that must last; ``members``: the etcd members that it
    found on the node; ``removal``: see there; ``uid``: the node to delete; ``job``: the provisioner's; ``checked``:
    nothing forbids it.

    ``cordon``: whether the cordon was taken back after a failure. ``started``: the first effect may have been sent, so
    that no window is asked any more.

    ``lost``: what the database may lack of the action's history, None before the first turn; ``asked``: the occasion on
    which the provisioner was asked for it.

    ``lease``: the kubelet's lease, and when (our clock) it was last seen to change. ``never_joined``: Kubernetes need
    not know the node. ``waived``: by etcd cluster, what removals were allowed to miss
    of the site's minimum. ``given_up``: clusters that keep their lost member. ``addresses``: those that members of a
    cluster listed, since the endpoints of the design may all be on this node. ``limits``: the latest known.
    """

    version: ClassVar[int] = 1
    STORED_VERSION: ClassVar = version
    FIRST: ClassVar = ("task", "limits")

    task: TeardownTask
    order: Teardown | None = None
    never_joined: bool = False
    limits: TeardownLimits = TeardownLimits()  # immutable
    waived: Mapping[str, tuple[Obstacle, ...]] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: datetime | None = None
    waits: tuple[str, ...] = ()
    calm_since: datetime | None = None
    members: tuple[MemberId, ...] = ()
    removal: Removal | None = None
    lease: tuple[str, datetime] | None = None
    uid: str = ""
    job: Job | None = None
    checked: bool = False
    cordon: str = ""
    lost: LostHistory | None = None
    asked: str = ""
    started: bool = False

    @property
    def node(self) -> NodeName:
        """The node's name."""
        return self.task.node

    @property
    def teardown(self) -> Teardown:
        """The order, once it is known."""
        if self.order is None:
            raise ValueError("the history of the node is not known yet")
        return self.order

    @property
    def expected(self) -> UnknownNode:
        """What it means that Kubernetes does not know the node."""
        return UnknownNode.NEVER_JOINED if self.never_joined else UnknownNode.IS_A_FAULT

    def blocked(self, now: datetime) -> Blocked | None:
        """Return the rule by which the node may not begin now, None if it may or has begun."""
        windows = self.task.windows
        return None if windows is None or self.started else windows.blocked(now)

    def begun(self, operation: Operation) -> bool:
        """Return whether the operation runs."""
        return self.teardown.outcomes.get(operation) is Outcome.RUNNING

    def deadline(self, seconds: float) -> datetime:
        """Return when the current operation's time is up, with this limit."""
        if self.since is None:
            raise ValueError("no operation is at work")
        return self.since + timedelta(seconds=seconds)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form, without what is empty; of the loss without its answers, which are read anew."""
        stored = {name: value for name, value in super().to_json().items() if value}
        lost = stored.pop("lost", None)
        return stored if lost is None or lost[1] is None else stored | {"lost": lost[:2]}


def moved(state: NodeState, order: Teardown, now: datetime, facts: tuple[Fact, ...] = ()) -> Folded[NodeState]:
    """Return the state after ``order`` has changed; the next operation begins, unless it is guarded or one failed."""
    following = order.next_operation()
    while following is not None and following not in GUARDED and following not in order.outcomes:
        order = order.begin(following)
        following = order.next_operation()
    before = state.order.outcomes if state.order else {}
    changed = tuple(
        TeardownChanged(state.node, operation, outcome, order.messages.get(operation, ""), order.etcd_removal_has_begun)
        for operation, outcome in order.outcomes.items()
        if before.get(operation) is not outcome
    )
    current = state.order.next_operation() if state.order else None
    state = replace(state, order=order)
    if order.next_operation() is not current:
        fresh = NodeState(state.task)
        state = replace(
            fresh,
            order=order,
            never_joined=state.never_joined,
            limits=state.limits,
            waived=state.waived,
            given_up=state.given_up,
            addresses=state.addresses,
            lease=state.lease,
            since=now,
            lost=state.lost,
            asked=state.asked,
            started=state.started,
        )
    return Folded(state, (*facts, *changed))


def waiting(
    state: NodeState,
    operation: Operation,
    until: datetime,
    reasons: tuple[str, ...] = (),
    facts: tuple[Fact, ...] = (),
) -> Folded[NodeState]:
    """Return the state while an operation waits; what it waits for is a fact when it changes."""
    if reasons != state.waits:
        facts = (*facts, TeardownWaits(state.node, operation, reasons))
    return Folded(replace(state, waits=reasons), facts, wait_until=until, watch_at=until)
