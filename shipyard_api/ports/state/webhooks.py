"""The last event that each webhook received, and the worker that delivers to it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebhookClaim:
    """``cursor``: the last event that the target took. ``failures``: failed attempts since then."""

    cursor: int
    failures: int


class Webhooks(Protocol):
    """Webhooks, by name. A claim is held by one worker at a time, and for so many seconds after its last sign."""

    def claim(self, name: str, holder: str, *, start: int, seconds: float) -> WebhookClaim | None:
        """Claim a target; None if it is not due or another worker holds it. A new target begins behind ``start``."""

    def advance(self, name: str, holder: str, cursor: int, *, seconds: float) -> bool:
        """Record what the target took; False if the claim is lost."""

    def release(self, name: str, holder: str) -> None:
        """Give up the claim."""

    def failed(self, name: str, holder: str, *, pause: float) -> None:
        """Record a failed attempt and give up the claim; the target is due again after so many seconds."""
