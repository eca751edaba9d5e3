"""Facts about an action as a whole."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class ActionEnded:
    """The action has ended."""

    kind: ClassVar[str] = "action_ended"
    version: ClassVar[int] = 1

    state: RunState

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"state": self.state.value}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.choice(RunState, stored, "state"))


ACKNOWLEDGED = "Acknowledged"
"""The topic of the note that an operator has seen the failures of an action."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that readers of the action should know; ``topic`` is a word or two on what it is about."""

    kind: ClassVar[str] = "noted"
    version: ClassVar[int] = 1

    topic: str
    text: str

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"kind": self.topic, "text": self.text}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.text(stored, "kind"), reading.text(stored, "text"))


FACTS: tuple[type[Fact], ...] = (ActionEnded, Noted)
