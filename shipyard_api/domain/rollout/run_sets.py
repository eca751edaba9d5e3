"""Sets of simulated runs, one bit a run: drawn by chance, and counted in all runs at once.

A set is an integer, so one operation works on thousands of runs. Counts are bit-sliced: the n-th integer of a count has
the n-th binary digit of every run's number.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

RunSet = int
"""A set of runs; bit ``n`` is set if it contains run ``n``."""

# A chance is drawn to 2^-24, which is far below what any number of runs can tell apart.
_DIGITS = 24


class Dice(Protocol):
    """A seeded source of chance; ``random.Random`` is one."""

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of ``k`` random bits."""

    def random(self) -> float:
        """Return a number from 0 up to, and without, 1."""

    def betavariate(self, alpha: float, beta: float) -> float:
        """Return a number with the beta distribution."""


class Chance(Struct, frozen=True):
    """The chance of an event in each run, as the binary digits of 2^24 times the chance, least significant first.

    ``always``: the runs in which the event is certain, which these digits cannot write.
    """

    digits: Sequence[RunSet]
    always: RunSet

    @classmethod
    def of(cls, chances: Sequence[float]) -> "Chance":
        """Return the chance of each run, each from 0 to 1."""
        scaled = [round(chance * 2**_DIGITS) for chance in chances]
        digits = [_where(number >> place & 1 for number in scaled) for place in range(_DIGITS)]
        return cls(digits, _where(number >> _DIGITS for number in scaled))

    def draw(self, dice: Dice, runs: int) -> RunSet:
        """Return the runs in which the event happens. A greater chance adds runs to those of the same dice."""
        happens = 0
        for digit in self.digits:
            drawn = dice.getrandbits(runs)
            happens = (drawn & happens) | (digit & (drawn ^ happens))
        return happens | self.always


class NodeCount:
    """How many nodes are in a state, in every run."""

    def __init__(self, nodes: Iterable[RunSet]) -> None:
        """Count the nodes; each is given as the runs in which it is in the state."""
        self._digits: list[RunSet] = []
        for carry in nodes:
            for place, digit in enumerate(self._digits):
                self._digits[place], carry = digit ^ carry, digit & carry  # of this node
                if not carry:
                    break
            else:
                if carry:
                    self._digits.append(carry)

    def at_least(self, number: int, every: RunSet) -> RunSet:
        """Return the runs with at least this many nodes; ``every``: all runs."""
        if number <= 0:
            return every
        if number.bit_length() > len(self._digits):
            return 0
        reached = every
        for place, digit in enumerate(self._digits):
            reached = digit & reached if number >> place & 1 else digit | reached
        return reached


def _where(flags: Iterable[int]) -> RunSet:
    """Return the set of the runs whose flag is 1."""
    written = "".join("1" if flag else "0" for flag in flags)
    return int(written[::-1] or "0", 2)
