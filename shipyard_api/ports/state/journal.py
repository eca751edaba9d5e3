"""The journal: what happened to actions, in the order in which it was written; and how far a webhook has read it."""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.fact import JournalEntry


class StepRun(Struct, frozen=True):
    """The worker that began a step, and the journal entries that end its failed attempts, in order.

    A failed attempt has the entries up to and including its own; the latest attempt has those after the last of them.
    """

    worker: str
    failed: Sequence[int]


class ActionEntry(Struct, frozen=True):
    """A journal entry with its action and the action's name."""

    action: ActionId
    name: str
    entry: JournalEntry


class EventFormat(Enum):
    """The form in which a receiver gets entries: ours, or CloudEvents 1.0 in structured mode."""

    SHIPYARD = "shipyard"
    CLOUDEVENTS = "cloudevents"


class Ends(Struct, frozen=True):
    """``last``: the highest id of an entry. ``settled``: no entry with this id or a lower one can still appear."""

    last: int
    settled: int


class WebhookClaim(Struct, frozen=True):
    """``cursor``: the last event that the target took. ``failures``: failed attempts since then."""

    cursor: int
    failures: int
