"""Rate limits for writes per caller, over all processes and hosts."""

from typing import Protocol


class WriteLimits(Protocol):
    """Counts writes by caller."""

    def take(self, caller: str, *, interval: float, burst: float) -> float | None:
        """Count one write and return None, or return the seconds until one is allowed, without counting.

        One write is allowed every ``interval`` seconds; unused ones accumulate, up to ``burst``.
        """
