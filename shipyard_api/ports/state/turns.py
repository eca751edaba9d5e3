"""The rows of the engine: claims, intents, outcomes and wake-ups."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId, StepState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.provisioner import Marker


@dataclass(frozen=True, slots=True)
class Intent:
    """An effect that was intended and whose outcome is not recorded.

    ``intended_at``: when it was written first. ``attempted_at``: when it was last tried. ``attempts``: how often.
    """

    marker: Marker
    effect: JsonObject
    give_up_at: datetime
    intended_at: datetime
    attempted_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that has begun: the action, the number that fences it, and the step it stands at (None: all ended).

    ``user`` and ``context_marker`` are the action's own.
    """

    action: ActionId
    name: ActionName
    epoch: int
    worker: str
    inputs: JsonObject
    step: StepId | None
    state: JsonObject | None
    intent: Intent | None
    remaining: Sequence[StepId]
    failed: bool
    paused: bool = False
    stopped_by: str | None = None
    user: str = ""
    context_marker: str = ""

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start. A stop outweighs a pause: it has to come to an end."""
        return self.paused and self.stopped_by is None


class Turns(Protocol):
    """The engine's own rows. Every write names the epoch of its turn and raises Fenced when that is over."""

    def claim(self, action: ActionId, *, now: datetime, worker: str) -> Claim | None:
        """Begin a turn: take the next epoch. None if the action has ended, does not exist, or is not due yet."""

    def start_step(self, claim: Claim, state: JsonObject, *, now: datetime) -> None:
        """Record that the claim's step has begun, with its first state."""

    def intend(self, claim: Claim, intent: Intent) -> None:
        """Write an intent, or a further attempt at it."""

    def record(
        self, claim: Claim, state: JsonObject, facts: Sequence[Fact], *, now: datetime, wake_at: datetime | None
    ) -> None:
        """Write the outcome of what the turn did: state, facts and the next wake-up; the intent is fulfilled."""

    def sleep(self, claim: Claim, *, until: datetime) -> None:
        """Write when the action wants to be looked at again, and nothing else."""

    def rest(self, claim: Claim) -> None:
        """Let nobody look at the action until it is told to go on."""

    def broke(self, claim: Claim, detail: str, *, now: datetime) -> int:
        """Write down that a turn of the claim's step ended in a bug; return how often in a row that has happened."""

    def end_step(
        self, claim: Claim, state: StepState, detail: str, skipped: Sequence[StepId], *, now: datetime
    ) -> None:
        """End the claim's step; ``skipped`` are later steps that will not run because of it."""

    def skip(self, claim: Claim, steps: Sequence[StepId], *, now: datetime) -> None:
        """Let later steps not run, although nothing before them failed."""

    def end_action(self, claim: Claim, state: RunState, *, now: datetime) -> None:
        """End the action; the site is free for the next one."""

    def overdue(self, *, grace: float) -> Sequence[ActionId]:
        """Return actions that wanted to be looked at more than ``grace`` seconds ago (the database's clock)."""

    def remind(self, action: ActionId) -> None:
        """Queue a turn of the action unless one is queued or runs."""
