"""The worlds that are explored. Together the small ones have every rule in them; each is explored to its end."""

from tests.model.states import Scope

SMALL = (
    Scope("kills, freezes, lost requests and lost answers", ticks=4),
    Scope("the same at a peer that stores marks: requests may arrive at any later time", ticks=3, marks=True),
    Scope("a stop", ticks=4, operator=frozenset({"stop"})),
    Scope("a pause", ticks=3, operator=frozenset({"pause"})),
    Scope("locks that are waited for", ticks=3, lock=6),
    Scope("a hold, also behind a lock", ticks=3, operator=frozenset({"hold"}), lock=1),
)
"""Explored by ``./dev model``."""

LARGE = (
    Scope("everything", ticks=10, tick=1, nodes=("n1", "n2"), operator=frozenset({"stop", "pause", "hold"}), lock=6),
)
"""Explored by ``./dev model --world large`` for as long as it is given."""

TINY = (Scope("tiny", ticks=2), Scope("tiny, with marks", ticks=1, marks=True))
"""Explored by the tests."""
