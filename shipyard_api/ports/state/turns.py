"""What the engine reads of its rows: claims, intents, steps that have not ended, and work items with epochs."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.items import ItemId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import Marker


def stopped_by(user: str) -> str:
    """Return why the units of an action that this user stopped must end."""
    return f"stopped by {user}"


class Intent(Struct, frozen=True):
    """An effect that was intended and whose outcome is not recorded.

    ``intended_at``: when it was written first. ``attempted_at``: when it was last sent. ``attempts``: how often.
    ``repeatable``: its outcome need not be known before it is repeated or left.
    ``touches``: the nodes that it changes.
    """

    marker: Marker
    effect: JsonObject
    give_up_at: datetime
    intended_at: datetime
    attempted_at: datetime
    attempts: int
    repeatable: bool = False
    touches: tuple[NodeName, ...] = ()


class Claim(Struct, frozen=True):
    """A turn that has begun: the action, the epoch that fences it, and its current step (None: all ended).

    ``name`` is the action's as stored, since this release may not know it. ``user``, ``context_marker``
    and ``traceparent`` are those of the action. ``lost``: what the database may lack of the action's history.
    """

    action: ActionId
    name: ActionName
    epoch: int
    worker: str
    step: StepId | None
    state: JsonObject | None
    intent: Intent | None
    remaining: Sequence[StepId]
    failed: bool
    paused: bool
    stopped_by: str | None
    user: str
    context_marker: str
    traceparent: str
    waiting: WaitingFor | None
    lost: LostHistory

    @property
    def unit(self) -> tuple[str, ...]:
        """What distinguishes the step from all others."""
        return self.action, self.step or ""

    @property
    def stopped(self) -> str | None:
        """Why the action must end, None if it need not."""
        return None if self.stopped_by is None else stopped_by(self.stopped_by)

    @property
    def version(self) -> int:
        """The version of the stored state, 1 before the step has begun."""
        return 1 if self.state is None else int(self.state["v"])

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start. A stop outweighs a pause: the action has to end."""
        return self.paused and self.stopped_by is None

    @property
    def log_fields(self) -> dict[str, str | int]:
        """What identifies the turn in log lines."""
        return {"action": self.action, "step": self.step or "", "epoch": self.epoch}


class Unfinished(Struct, frozen=True):
    """The rest of an action: its name as stored, and the steps that have not ended, in order.

    ``version`` is that of the stored state of the first of them, 1 before it has begun.
    """

    action: ActionId
    name: ActionName
    open_steps: Sequence[StepId]
    version: int


class ItemClaim(Struct, frozen=True):
    """A turn of an item that has begun. ``task`` is what the item works from; ``stopped``: why it must end, if it must.

    ``lost``: what the database may lack of the action's history. ``waiting``: what its last turn waited for.
    """

    action: ActionId
    step: StepId
    item: ItemId
    epoch: int
    worker: str
    task: JsonObject
    state: JsonObject | None
    intent: Intent | None
    paused: bool
    stopped: str | None
    user: str
    context_marker: str
    traceparent: str
    lost: LostHistory
    waiting: WaitingFor | None = None

    @property
    def unit(self) -> tuple[str, ...]:
        """What distinguishes the item from all others."""
        return self.action, self.step, self.item

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start. A stop outweighs a pause."""
        return self.paused and self.stopped is None

    @property
    def log_fields(self) -> dict[str, str | int]:
        """What identifies the turn in log lines."""
        return {"action": self.action, "step": self.step, "item": self.item, "epoch": self.epoch}
