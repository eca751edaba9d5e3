"""The rows of the engine: claims, intents, outcomes and wake-ups."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.items import NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import Marker


@dataclass(frozen=True, slots=True)
class Intent:
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


@dataclass(frozen=True, slots=True)
class Claim:
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
    lost: LostHistory | None = None

    @property
    def unit(self) -> tuple[str, ...]:
        """What distinguishes the step from all others."""
        return self.action, self.step or ""

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


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The rest of an action: its name as stored, and the steps that have not ended, in order.

    ``version`` is that of the stored state of the first of them, 1 before it has begun.
    """

    action: ActionId
    name: ActionName
    open_steps: Sequence[StepId]
    version: int


class Turns(Protocol):
    """The engine's own rows. Every write names the epoch of its turn and raises Fenced after a later turn has begun."""

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        """Begin a turn: take the next epoch. None if the action has ended, does not exist, or is not due yet."""

    def pass_on(self, action: ActionId, *, at: datetime) -> None:
        """Queue a turn for another worker, since this one's release lacks a part of the action. Writes nothing else."""

    def name(self, action: ActionId) -> ActionName:
        """Return the action's name as stored; empty for no action."""

    def unfinished(self) -> Sequence[Unfinished]:
        """Return the remaining steps of every action that has not ended."""

    def start_step(self, claim: Claim, state: JsonObject, *, now: datetime) -> Claim:
        """Record that the claim's step has begun, with its first state; return the claim with that state."""

    def intend(self, claim: Claim, intent: Intent, *, now: datetime | None = None) -> Claim:
        """Write an intent, or a further attempt at it; return the claim with it.

        ``now``: when a search begins; nothing is sent.
        """

    def held(self, claim: Claim, nodes: Collection[NodeName]) -> Sequence[Hold]:
        """Return the active holds on these nodes that the action does not override.

        No further hold is placed until the transaction has ended.
        """

    def record(
        self,
        claim: Claim,
        state: JsonObject,
        facts: Sequence[Fact],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: Sequence[NewItem] = (),
        waiting: WaitingFor | None = None,
    ) -> Claim:
        """Write an outcome: state, facts, new items and the next wake-up; the intent is fulfilled.

        ``waiting``: what the action waits for from now on; None: as before.

        Return the claim with that state, and with the pause or stop that was asked for meanwhile.
        """

    def wait(self, claim: Claim, waiting: WaitingFor) -> Claim:
        """Write what the action waits for while a request is on its way; return the claim with it."""

    def tell(self, claim: Claim, facts: Sequence[Fact], *, now: datetime) -> None:
        """Write facts beside a ``sleep`` of the same transaction."""

    def sleep(self, claim: Claim, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        """Write when the next turn is due, and nothing else but what the action waits for (None: as before)."""

    def rest(self, claim: Claim, *, waiting: WaitingFor | None = None) -> None:
        """Schedule no further turn until a control verb or the end of an item wakes the action."""

    def broke(self, claim: Claim, detail: str, *, now: datetime) -> int:
        """Record that a turn of the claim's step ended in a bug; return how often in a row that has happened."""

    def end_step(
        self,
        claim: Claim,
        state: StepState,
        detail: str,
        skipped: Sequence[StepId] = (),
        given_up: Sequence[Fact] = (),
        *,
        now: datetime,
    ) -> None:
        """End the claim's step; ``skipped`` are later steps that will not run because of it.

        ``given_up``: facts about what will not be done therefore.
        """

    def skip(self, claim: Claim, steps: Sequence[StepId], *, now: datetime) -> None:
        """Skip later steps, although nothing before them failed."""

    def end_action(self, claim: Claim, state: RunState, *, now: datetime) -> None:
        """End the action; the site is free for the next one."""

    def overdue(self, *, grace: float) -> Sequence[ActionId]:
        """Return actions whose turn was due more than ``grace`` seconds ago (the database's clock)."""

    def remind(self, action: ActionId) -> None:
        """Queue a turn of the action unless one is queued or runs."""
