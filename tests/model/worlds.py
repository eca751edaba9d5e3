"""The worlds that are explored. Together the small ones have every rule in them; each is explored to its end."""

from tests.model.states import BACK, CLOCK, SNAPSHOT, STANDBY, Scope

EVERYTHING = frozenset({"stop", "pause", "hold"})
TWO = ("n1", "n2")
SMALL: tuple[Scope, ...] = (
    Scope("kills, freezes, lost requests and lost answers", ticks=4),
    Scope("the same at a peer that stores marks: requests may arrive at any later time", ticks=3, marks=True),
    Scope("a peer with machines, whose listings are old", ticks=2, marks=True, machines=True),
    Scope("a stop", ticks=3, operator=frozenset({"stop"})),
    Scope("a pause", ticks=2, operator=frozenset({"pause"})),
    Scope("a hold, also behind a lock", ticks=1, operator=frozenset({"hold"}), lock=1),
    Scope("locks that are waited for", ticks=1, lock=6),
    Scope("a maintenance window", ticks=2, workers=1, nodes=TWO, window=1),
    Scope("work items, and a stop", ticks=0, nodes=TWO, items=True, operator=frozenset({"stop"})),
    Scope("a new action, and retries", ticks=1, retry=True, operator=frozenset({"stop", "again", "retry"})),
    Scope("a database that goes on from a copy of its volume", ticks=1, faults=frozenset({SNAPSHOT})),
    Scope("a standby without the last writes", ticks=1, faults=frozenset({STANDBY})),
    Scope("the same, and back to the old primary", ticks=0, faults=frozenset({STANDBY, BACK})),
    Scope("the database's clock is set", ticks=2, faults=frozenset({CLOCK}), clock=10),
)
"""Explored by ``./dev model``."""

LARGE: tuple[Scope, ...] = (Scope("everything", ticks=10, tick=1, nodes=TWO, operator=EVERYTHING, lock=6),)
"""Explored by ``./dev model --world large`` for as long as it is given."""
