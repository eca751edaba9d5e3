"""Rate limits for writes per caller, over all processes and hosts."""

from typing import Protocol


class WriteLimits(Protocol):
    """Counts writes by caller."""

    def take(self, caller: str, *, interval: float, burst: int) -> float | None:
        """Count one write and return None, or return the seconds until one is allowed, without counting.

        One write is allowed every ``interval`` seconds; unused ones accumulate, up to ``burst``.
        """
