"""Whether the kubelet of a node still runs (contract: promenade, 4.1 and 4.5)."""

from datetime import datetime, timedelta
from enum import Enum

SILENCE = timedelta(seconds=60)
"""A living kubelet renews its lease every 10 s."""


class Ready(Enum):
    """Status of a node's condition ``Ready``; the values are Kubernetes' words. A missing condition is unknown."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Kubelet(Enum):
    """Whether a kubelet can confirm that pods have ended."""

    ALIVE = "alive"
    DEAD = "dead"


def is_silent(renewed_at: datetime | None, now: datetime) -> bool:
    """Return whether the node's lease has not been renewed for a minute; there may be no lease any more."""
    return renewed_at is None or now - renewed_at > SILENCE


def state_of(ready: Ready, renewed_at: datetime | None, now: datetime) -> Kubelet:
    """Return the kubelet's state for a drain: it is dead only if condition and lease agree."""
    return Kubelet.DEAD if ready is not Ready.TRUE and is_silent(renewed_at, now) else Kubelet.ALIVE


def is_shut_down(ready: Ready, renewed_at: datetime | None, now: datetime) -> bool:
    """Return whether a kubelet that was asked to stop has stopped: either sign is enough."""
    return ready is Ready.UNKNOWN or is_silent(renewed_at, now)
