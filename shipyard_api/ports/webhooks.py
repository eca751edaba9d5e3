"""Webhooks: programs of the operator that are sent events of the journal."""

from collections.abc import Collection
from typing import Protocol

from shipyard_api.ports.state.journal import EventFormat


class Receiver(Protocol):
    """One target. ``kinds``: the kinds of events it wants; empty: all. ``format``: the form of their bodies."""

    @property
    def name(self) -> str:
        """The name of the target in the settings."""

    @property
    def kinds(self) -> Collection[str]:
        """The kinds of events that the target wants."""

    @property
    def format(self) -> EventFormat:
        """The form of a body."""

    def deliver(self, event: int, kind: str, body: bytes) -> None:
        """Send one event; may be repeated: the receiver knows it by its id. Raises PeerError unless it was taken."""
