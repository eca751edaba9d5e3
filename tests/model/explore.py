"""Explore every state of a world, breadth first: the first violation found has the shortest story.

A world is a value. States are compared by a key without what makes no difference, such as the number of an epoch.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tests.model.states import Violated

S = TypeVar("S")


class World(Protocol[S]):
    """What can be explored. A label says in plain words what happens in a step."""

    def initial(self) -> S:
        """Return the state at the beginning."""

    def steps(self, state: S) -> Iterable[tuple[str, S]]:
        """Return everything that can happen next, with the state after it."""

    def key(self, state: S) -> Hashable:
        """Return what distinguishes the state from all that it is not equal to."""

    def violated(self, state: S) -> Violated | None:
        """Return which property a state violates, and how."""

    def ended(self, state: S) -> bool:
        """Return whether all that was accepted has come to its end."""

    def settled(self, state: S) -> S | None:
        """Return the state after everything has gone well for long enough, None if it does not come to its end."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold, and the steps to the state that shows it, from the beginning."""

    name: str
    what: str
    story: tuple[str, ...]


@dataclass(slots=True)
class Explored(Generic[S]):
    """What was explored. ``complete``: every reachable state was."""

    states: int = 0
    steps: int = 0
    depth: int = 0
    complete: bool = False
    ends: int = 0
    settled: int = 0
    violation: Violation | None = None
    came_from: dict[Hashable, tuple[Hashable, str] | None] = field(default_factory=dict, repr=False)

    def story(self, key: Hashable) -> tuple[str, ...]:
        """Return the labels of the shortest way to a state."""
        labels: list[str] = []
        while (before := self.came_from[key]) is not None:
            key, label = before
            labels.append(label)
        return tuple(reversed(labels))


def explore(
    world: World[S],
    *,
    most: int | None = None,
    settle_every: int = 0,
    only: str | None = None,
    until: Callable[[], bool] = lambda: False,
    progress: Callable[[Explored[S]], None] | None = None,
) -> Explored[S]:
    """Explore until everything is known, a property is violated, there are ``most`` states, or ``until`` says so.

    ``only``: the only property that counts, by its name. ``settle_every``: from each of so many states, one is let go
    on without faults, and must come to its end.
    """
    explored: Explored[S] = Explored()
    first = world.initial()
    explored.came_from[hash_of(world.key(first))] = None
    ahead: deque[tuple[S, Hashable, int]] = deque([(first, hash_of(world.key(first)), 0)])
    labels: dict[str, str] = {}
    while ahead:
        state, key, depth = ahead.popleft()
        explored.states += 1
        explored.depth = max(explored.depth, depth)
        violated = world.violated(state)
        if violated is not None and only in (None, violated.name):
            explored.violation = Violation(*violated, explored.story(key))
            return explored
        if world.ended(state):
            explored.ends += 1
        elif settle_every and explored.states % settle_every == 0:
            explored.settled += 1
            if only in (None, "end") and world.settled(state) is None:
                what = "after the last fault the action does not come to its end"
                explored.violation = Violation("end", what, explored.story(key))
                return explored
        if progress is not None and explored.states % 10_000 == 0:
            progress(explored)
        if (most is not None and explored.states >= most) or until():
            return explored
        for label, after in world.steps(state):
            explored.steps += 1
            found = hash_of(world.key(after))
            if found not in explored.came_from:
                explored.came_from[found] = (key, labels.setdefault(label, label))
                ahead.append((after, found, depth + 1))
    explored.complete = True
    return explored


def hash_of(key: Hashable) -> int:
    """Return 64 bits that stand for the key: keeping whole keys of a million states would take gigabytes.

    Two of 10**6 keys share them with a probability of 3 in 10**8.
    """
    return hash(key)
