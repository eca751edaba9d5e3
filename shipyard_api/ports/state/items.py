"""Rows of work items (product, section 10). Runs claim them; each has its own epoch, intent and wake-up."""

from dataclasses import dataclass

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.items import ItemId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.turns import Intent


@dataclass(frozen=True, slots=True)
class ItemClaim:
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
