"""How often each caller has written of late, over all processes and hosts."""

from typing import Protocol


class WriteLimits(Protocol):
    """Counts writes by caller."""

    def take(self, caller: str, *, interval: float, burst: int) -> float | None:
        """Count one write; None if it is allowed, else in how many seconds one would be, and this one does not count.

        One write is allowed every ``interval`` seconds; those not made may be made later, up to ``burst`` at once.
        """
