"""The journal: what happened to actions, in the order in which it was written."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.facts.entry import JournalEntry
from shipyard_api.ports.provisioner import JobId


@dataclass(frozen=True, slots=True)
class StepRun:
    """The worker that began a step, and the journal entries that end its failed attempts, in order.

    A failed attempt has the entries up to and including its own; the latest attempt has those after the last of them.
    """

    worker: str
    failed: Sequence[int]


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """A journal entry with its action and the action's name."""

    action: ActionId
    name: str
    entry: JournalEntry


@dataclass(frozen=True, slots=True)
class Ends:
    """``last``: the highest id of an entry. ``settled``: no entry with this id or a lower one can still appear."""

    last: int
    settled: int


class Journal(Protocol):
    """What happened to actions. The engine writes it; this is how it is read."""

    def entries(self, action: ActionId, kinds: Collection[str] = ()) -> Sequence[JournalEntry]:
        """Return the entries of an action, in order; only those of the given kinds, if any are given."""

    def entry(self, entry: int) -> tuple[ActionId, JournalEntry] | None:
        """Return one entry by its id, and the action that it belongs to."""

    def step_entries(
        self, action: ActionId, step: StepId, *, after: int, until: int | None, limit: int
    ) -> Sequence[JournalEntry]:
        """Return the entries about a step with ids above ``after`` and up to ``until``, in order.

        Returns at most ``limit`` entries, and fewer if they are large; none only if there are no more.
        """

    def extent(self, action: ActionId, steps: Collection[StepId]) -> tuple[int, int]:
        """Return how many entries there are about these steps, and the last id: entries are only ever added."""

    def step_runs(self, action: ActionId) -> Mapping[StepId, StepRun]:
        """Return how each step ran that has begun."""

    def action_notes(self, actions: Collection[ActionId] | None = None) -> Sequence[tuple[ActionId, JournalEntry]]:
        """Return the notes on these actions (None: on all) that belong to no step, in order."""

    def owner(self, job: JobId) -> str:
        """Return which group and action started a job, as part of a sentence; empty if none did."""

    def jobs_since(self, moment: datetime) -> frozenset[JobId]:
        """Return every job of the provisioner that an action has recorded since then."""

    def ends(self) -> Ends:
        """Return how far the journal is written, and how far it can be read without missing a later commit."""

    def following(self, after: int, until: int, *, action: ActionId | None, limit: int) -> Sequence[ActionEntry]:
        """Return entries, of one action or (None) of all, with ids above ``after`` and up to ``until``, in order.

        ``until`` must be settled, by an earlier query. Returns at most ``limit`` entries, and fewer if they are large;
        none only if there are no more.
        """
