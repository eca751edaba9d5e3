"""Facts about the steps of an action, written by the engine."""

from typing import Any, ClassVar

from shipyard_api.domain.actions import StepId, StepState
from shipyard_api.domain.facts.fact import Fact, Number
from shipyard_api.domain.json_types import JsonObject


class StepStarted(Fact, frozen=True):
    """The step has begun."""

    kind: ClassVar[str] = "step_started"


class Intended(Fact, frozen=True):
    """An effect of the step is about to be tried, for the ``attempt``-th time, under its marker.

    ``design``, the address of the design, may hold a password, so the journal does not keep it.
    """

    kind: ClassVar[str] = "intended"

    marker: str
    attempt: int
    effect: JsonObject

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        effect = {name: value for name, value in self.effect.items() if name != "design"}
        return {"marker": self.marker, "attempt": self.attempt, "effect": effect}


class Waiting(Fact, frozen=True):
    """The action waits for something else than before; further polls of the same are no facts.

    It waits for ``who``, about ``what``, until ``deadline`` (ISO 8601; empty: without a limit).
    """

    kind: ClassVar[str] = "waiting"

    who: str
    what: str
    deadline: str = ""


class AttemptFailed(Fact, frozen=True):
    """A peer has given no answer, ``attempt`` times by now; the step asks again after ``pause`` seconds."""

    kind: ClassVar[str] = "attempt_failed"

    attempt: int
    why: str
    pause: Number


class Broke(Fact, frozen=True):
    """A turn of the step ended in a bug of ours; ``in_a_row`` counts such turns without progress between them."""

    kind: ClassVar[str] = "broke"

    detail: str
    in_a_row: int


class StepEnded(Fact, frozen=True):
    """The step has ended; ``skipped`` are later steps that will not run because of it."""

    kind: ClassVar[str] = "step_ended"

    state: StepState
    detail: str = ""
    skipped: tuple[StepId, ...] = ()


class StepsSkipped(Fact, frozen=True):
    """Later steps will not run, although nothing failed."""

    kind: ClassVar[str] = "steps_skipped"

    steps: tuple[StepId, ...]


FACTS: tuple[type[Fact], ...] = (StepStarted, Intended, Waiting, AttemptFailed, Broke, StepEnded, StepsSkipped)
