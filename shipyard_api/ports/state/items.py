"""Rows of work items (product, section 10). Runs claim them; each has its own epoch, intent and wake-up."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.turns import Claim, Intent


@dataclass(frozen=True, slots=True)
class ItemClaim:
    """A turn of an item that has begun. ``task`` is what the item works from; ``stop``: why it must end, if it must.

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
    stop: str | None
    user: str
    context_marker: str
    traceparent: str
    waiting: WaitingFor | None = None
    lost: LostHistory | None = None

    @property
    def unit(self) -> tuple[str, ...]:
        """What distinguishes the item from all others."""
        return self.action, self.step, self.item

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start. A stop outweighs a pause."""
        return self.paused and self.stop is None

    @property
    def log_fields(self) -> dict[str, str | int]:
        """What identifies the turn in log lines."""
        return {"action": self.action, "step": self.step, "item": self.item, "epoch": self.epoch}


class Items(Protocol):
    """Work items. Every write of a turn names its epoch and raises Fenced after a later turn of the item has begun."""

    def gather(self, claim: Claim, *, limit: int = 500) -> tuple[tuple[EndedItem, ...], bool]:
        """Return the items of the claim's step that ended since the last call, in order, and whether any is open.

        They are not returned again once the transaction is kept.
        """

    def waiting_for(self, claim: Claim) -> WaitingFor | None:
        """Return what the open items of the claim's step wait for, together; None if none of them says."""

    def wake_resting(self, claim: Claim, *, now: datetime) -> None:
        """Make the items that rest since a pause due."""

    def stop_open(self, claim: Claim, why: str, *, now: datetime) -> bool:
        """Tell the open items of the claim's step to end; return whether there are any."""

    def start_run(self, action: ActionId, versions: Mapping[StepId, int], *, holder: str, now: datetime) -> None:
        """Release what an earlier delivery of this run held, and queue more runs if more items are due.

        ``versions``: as for ``claim``.
        """

    def continue_run(self, action: ActionId) -> None:
        """Queue a run in place of one that makes way for other work although items are due."""

    def end_run(self, action: ActionId, *, now: datetime, left_until: datetime) -> None:
        """Queue a run for the next item that will be due, if there is one and no run is queued for it.

        For an item that is due already and that the run left, the next one comes at ``left_until``.
        """

    def claim(
        self, action: ActionId, versions: Mapping[StepId, int], *, holder: str, now: datetime, worker: str
    ) -> ItemClaim | None:
        """Begin a turn of a due item that no run holds; ``versions``: the newest state version known, by step."""

    def start(self, claim: ItemClaim, state: JsonObject, *, now: datetime) -> ItemClaim:
        """Record that the item has begun, with its first state; return the claim with that state."""

    def intend(self, claim: ItemClaim, intent: Intent, *, now: datetime | None = None) -> ItemClaim:
        """Write an intent, or a further attempt at it; return the claim with it.

        ``now``: when a search begins; nothing is sent.
        """

    def held(self, claim: ItemClaim, nodes: Collection[NodeName]) -> Sequence[Hold]:
        """Return the active holds on these nodes that the action does not override, as ``Turns.held`` does."""

    def wait(self, claim: ItemClaim, waiting: WaitingFor) -> ItemClaim:
        """Do nothing: what an item waits for is shown once its answer is known to be missing."""

    def record(
        self,
        claim: ItemClaim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[NewItem] = (),
        waiting: WaitingFor | None = None,
    ) -> ItemClaim:
        """Write an outcome, as ``Turns.record`` does. An item creates no items.

        ``waiting``: what it waits for, which its action shows from now on; None: nothing worth showing.
        """

    def tell(self, claim: ItemClaim, facts: Sequence[Fact], *, now: datetime) -> None:
        """Write facts beside a ``sleep`` of the same transaction."""

    def sleep(self, claim: ItemClaim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        """Write when the next turn is due, and what the item waits for (None: as before), and let it go."""

    def rest(self, claim: ItemClaim, *, waiting: WaitingFor | None = None) -> None:
        """Let the item go, without a next turn, until the action is resumed or stopped."""

    def broke(self, claim: ItemClaim, *, now: datetime, until: datetime) -> int:
        """Record that a turn ended in a bug, and let the item go until then; return how often in a row."""

    def end(self, claim: ItemClaim, outcome: ItemState, detail: str, facts: Sequence[Fact], *, now: datetime) -> None:
        """End the item, and wake the action that waits for it."""

    def succeeded(self, action: ActionId) -> Mapping[StepId, Sequence[ItemId]]:
        """Return the items of an action that succeeded, by step: what a retry keeps."""

    def task(self, action: ActionId, item: ItemId) -> JsonObject | None:
        """Return what an item of an action works from."""

    def counts(self, action: ActionId) -> Mapping[StepId, Mapping[ItemState, int]]:
        """Return how many items each step has in each state."""

    def remind_overdue(self, *, grace: float) -> int:
        """Free items whose run is gone, and queue runs for actions with items that are overdue; return how many."""
