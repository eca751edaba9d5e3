"""What a worker that delivers to a webhook reads of its row."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebhookClaim:
    """``cursor``: the last event that the target took. ``failures``: failed attempts since then."""

    cursor: int
    failures: int
