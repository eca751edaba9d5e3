"""A claim on a unit, and its rows: what attempts need of the store, for actions and for work items alike."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.items import NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.turns import Intent
from shipyard_api.workflow.step import Json


class UnitClaim(Protocol):
    """What a turn of a step and one of a work item have in common."""

    @property
    def state(self) -> Json | None:
        """The stored state, None before the unit has begun."""

    @property
    def intent(self) -> Intent | None:
        """The effect whose outcome is not recorded."""

    @property
    def waiting(self) -> WaitingFor | None:
        """What the unit waits for, as it is stored; None if that is not stored."""

    @property
    def on_hold(self) -> bool:
        """Whether nothing new may start."""

    @property
    def stopped(self) -> str | None:
        """Why the unit must end, None if it need not."""

    @property
    def unit(self) -> tuple[str, ...]:
        """The action, and what distinguishes the unit in it."""

    @property
    def lost(self) -> LostHistory:
        """What the database may lack of the action's history."""

    @property
    def log_fields(self) -> dict[str, str | int]:
        """What identifies the unit in log lines."""


C = TypeVar("C", bound=UnitClaim)


class Rows(Protocol[C]):
    """The rows of the units of one sort. A write with the epoch of an earlier turn raises Fenced.

    ``waiting``: what the unit waits for from now on; None: as before.
    """

    def intend(self, claim: C, intent: Intent, *, now: datetime | None = None) -> C:
        """Write an intent, or a further attempt at it; return the claim with it.

        ``now``: when a search begins; nothing is sent.
        """

    def renew(self, claim: C) -> C:
        """Return the claim with what control verbs have asked for meanwhile."""

    def held(self, claim: C, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
        """Return the active holds on these nodes that forbid the work, and that the action does not override.

        No further hold is placed until the transaction has ended.
        """

    def wait(self, claim: C, waiting: WaitingFor) -> C:
        """Write what the unit waits for while it asks or acts; return the claim with it."""

    def record(
        self,
        claim: C,
        state: Json,
        facts: tuple[Fact, ...],
        *,
        now: datetime,
        wake_at: datetime | None,
        items: tuple[NewItem, ...] = (),
        waiting: WaitingFor | None = None,
    ) -> C:
        """Write an outcome: state, facts, new items and the next wake-up; the intent is fulfilled.

        Return the claim with that state, and with what control verbs asked for meanwhile.
        """

    def tell(self, claim: C, facts: tuple[Fact, ...], *, now: datetime) -> None:
        """Write facts beside a ``sleep`` of the same transaction."""

    def sleep(self, claim: C, *, until: datetime, waiting: WaitingFor | None = None) -> None:
        """Write when the next turn is due, and nothing else."""

    def rest(self, claim: C, *, waiting: WaitingFor | None = None) -> None:
        """Schedule no further turn until a control verb or an event wakes the unit."""
