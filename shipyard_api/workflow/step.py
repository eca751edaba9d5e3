"""What a step of an action is: decisions and folds that are pure, and one place where the world is touched.

A step never sleeps and never loops. It is asked what to do (``decide``), what it asked for is brought about
(``perform``, ``look``; ``find`` when the outcome is unknown), and what came back is folded into its state (``fold``).
State is JSON with a version, so that a step goes on after a crash, on another host, in the next release.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.provisioner import Marker

Json = Mapping[str, Any]
"""What is stored: a JSON object with its version under ``v``.

A text under ``fixed`` is written when it changes, and not with every other change of the state.
"""


@dataclass(frozen=True, slots=True)
class Act:
    """Change the world. The intent is written first, under a marker, so that a crash neither loses nor repeats it.

    After ``give_up_at`` an effect whose outcome stays unknown is folded as trouble instead of being tried again.
    """

    effect: Json
    give_up_at: datetime


@dataclass(frozen=True, slots=True)
class Look:
    """Ask a peer or our own store something. It changes nothing, so nothing is written before it.

    ``effect`` is the step's own value for its question; unlike that of an ``Act`` it is never stored.
    """

    effect: object


@dataclass(frozen=True, slots=True)
class Done:
    """The step has succeeded; ``summary`` is one sentence for the operator, ``skips`` are later steps not to be run."""

    summary: str = ""
    skips: tuple[StepId, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The step has failed; ``reason`` says what happened and what to look at."""

    reason: str


Decision = Act | Look | Done | Failed


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is folded when a peer gave no report. ``refused``: it said no; otherwise it could not be reached."""

    detail: str
    refused: bool

    @classmethod
    def of(cls, error: PeerError) -> "Trouble":
        """Return the trouble that an error of a peer makes."""
        return cls(str(error), isinstance(error, Refused))


@dataclass(frozen=True, slots=True)
class Folded:
    """The state after a report, the facts that are worth a line in the journal, and when to look again.

    Without ``wait_until`` the step is asked again at once, since something can begin; while nothing new may, what is
    under way is to be looked at at ``watch_at``.
    """

    state: Json
    facts: tuple[Fact, ...] = ()
    wait_until: datetime | None = None
    watch_at: datetime | None = None


class Step(Protocol):
    """A durable unit of an action. One that only asks questions is complete with these."""

    @property
    def id(self) -> StepId:
        """The step's name on the wire."""

    @property
    def always(self) -> bool:
        """Whether the step also runs when a step before it has failed (upstream: ``all_done``)."""

    def begin(self, inputs: Json) -> Json:
        """Return the first state, from the inputs that were frozen when the action was created."""

    def decide(self, state: Json, now: datetime) -> Decision:
        """Return what to do next. Pure."""

    def look(self, effect: object) -> object:
        """Answer a ``Look``; raises ports.errors."""

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Return the state after the report, or after the ``Trouble`` that came instead of one. Pure."""


@runtime_checkable
class LeavingStep(Step, Protocol):
    """A step that knows what it leaves behind when it is stopped in the middle."""

    def leave(self, state: Json, why: str) -> tuple[Fact, ...]:
        """Return the facts about work that goes on without us. Pure."""


@runtime_checkable
class ActingStep(Step, Protocol):
    """A step that changes the world: one whose decisions can be an ``Act``."""

    def perform(self, effect: Json, marker: Marker) -> object:
        """Bring the effect of an ``Act`` about and return the report; raises ports.errors."""

    def find(self, effect: Json, marker: Marker, intended_at: datetime) -> object | None:
        """Return the report of an effect whose outcome is unknown, None if it never happened. Changes nothing."""


@runtime_checkable
class WatchingStep(ActingStep, Protocol):
    """A step that can have something under way while it would begin something else."""

    def watch(self, state: Json, now: datetime) -> Look | None:
        """Return how to look at what is under way while nothing new may begin; None if nothing is. Pure."""
