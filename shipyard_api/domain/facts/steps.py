"""Facts about the steps of an action, written by the engine."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.actions import StepId, StepState
from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The step has begun."""

    kind: ClassVar[str] = "step_started"
    version: ClassVar[int] = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {}

    @classmethod
    def from_json(cls, _stored: JsonObject) -> Self:
        """Return the fact."""
        return cls()


@dataclass(frozen=True, slots=True)
class Intended:
    """An effect of the step is about to be tried, for the ``attempt``-th time, under its marker.

    ``design``, the address of the design, may hold a password, so the journal does not keep it.
    """

    kind: ClassVar[str] = "intended"
    version: ClassVar[int] = 1

    marker: str
    attempt: int
    effect: JsonObject

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        effect = {name: value for name, value in self.effect.items() if name != "design"}
        return {"marker": self.marker, "attempt": self.attempt, "effect": effect}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.text(stored, "marker"), reading.number(stored, "attempt"), reading.mapping(stored, "effect"))


@dataclass(frozen=True, slots=True)
class Waiting:
    """The action waits for something else than before; further polls of the same are no facts.

    It waits for ``who``, about ``what``, until ``deadline`` (ISO 8601; empty: without a limit).
    """

    kind: ClassVar[str] = "waiting"
    version: ClassVar[int] = 1

    who: str
    what: str
    deadline: str = ""

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"who": self.who, "what": self.what, "deadline": self.deadline}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(*(reading.text(stored, key) for key in ("who", "what", "deadline")))


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """A peer has given no answer, ``attempt`` times by now; the step asks again after ``pause`` seconds."""

    kind: ClassVar[str] = "attempt_failed"
    version: ClassVar[int] = 1

    attempt: int
    why: str
    pause: float

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"attempt": self.attempt, "why": self.why, "pause": self.pause}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.number(stored, "attempt"), reading.text(stored, "why"), reading.seconds(stored, "pause"))


@dataclass(frozen=True, slots=True)
class Broke:
    """A turn of the step ended in a bug of ours; ``in_a_row`` counts such turns without progress between them."""

    kind: ClassVar[str] = "broke"
    version: ClassVar[int] = 1

    detail: str
    in_a_row: int

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"detail": self.detail, "in_a_row": self.in_a_row}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.text(stored, "detail"), reading.number(stored, "in_a_row"))


@dataclass(frozen=True, slots=True)
class StepEnded:
    """The step has ended; ``skipped`` are later steps that will not run because of it."""

    kind: ClassVar[str] = "step_ended"
    version: ClassVar[int] = 1

    state: StepState
    detail: str = ""
    skipped: tuple[StepId, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"state": self.state.value, "detail": self.detail, "skipped": list(self.skipped)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            reading.choice(StepState, stored, "state"),
            reading.text(stored, "detail"),
            tuple(map(StepId, reading.texts(stored, "skipped"))),
        )


@dataclass(frozen=True, slots=True)
class StepsSkipped:
    """Later steps will not run, although nothing failed."""

    kind: ClassVar[str] = "steps_skipped"
    version: ClassVar[int] = 1

    steps: tuple[StepId, ...]

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"steps": list(self.steps)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(tuple(map(StepId, reading.texts(stored, "steps"))))


FACTS: tuple[type[Fact], ...] = (StepStarted, Intended, Waiting, AttemptFailed, Broke, StepEnded, StepsSkipped)
