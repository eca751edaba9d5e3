"""The worlds that are explored. Together the small ones have every rule in them; each is explored to its end."""

from tests.model.states import Scope
from tests.model.turns import SNAPSHOT, STANDBY

EVERYTHING = frozenset({"stop", "pause", "hold"})
SMALL = (
    Scope("kills, freezes, lost requests and lost answers", ticks=4),
    Scope("the same at a peer that stores marks: requests may arrive at any later time", ticks=3, marks=True),
    Scope("a stop", ticks=3, operator=frozenset({"stop"})),
    Scope("a pause", ticks=2, operator=frozenset({"pause"})),
    Scope("a hold, also behind a lock", ticks=1, operator=frozenset({"hold"}), lock=1),
    Scope("locks that are waited for", ticks=1, lock=6),
    Scope("a maintenance window", ticks=3, nodes=("n1", "n2"), window=3),
    Scope("a database that goes on from a copy of its volume", ticks=1, faults=frozenset({SNAPSHOT})),
    Scope("a standby without the last writes", ticks=1, faults=frozenset({STANDBY})),
)
"""Explored by ``./dev model``."""

LARGE = (Scope("everything", ticks=10, tick=1, nodes=("n1", "n2"), operator=EVERYTHING, lock=6),)
"""Explored by ``./dev model --world large`` for as long as it is given."""
