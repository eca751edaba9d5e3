"""Facts about an action as a whole."""

from typing import ClassVar

from msgspec import field

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.facts.fact import Fact


class ActionEnded(Fact, frozen=True):
    """The action has ended."""

    kind: ClassVar[str] = "action_ended"

    state: RunState


ACKNOWLEDGED = "Acknowledged"
"""The topic of the note that an operator has seen the failures of an action."""


class Noted(Fact, frozen=True):
    """Something that readers of the action should know; ``topic`` is a word or two on what it is about."""

    kind: ClassVar[str] = "noted"

    topic: str = field(name="kind")
    text: str


FACTS: tuple[type[Fact], ...] = (ActionEnded, Noted)
