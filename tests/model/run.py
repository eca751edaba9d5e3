"""``./dev model``: explore the protocol, or show that each named mutation of it is found."""

import argparse
import gc
import logging
import sys
import time
from collections.abc import Sequence

from tests.model import worlds
from tests.model.explore import Explored, explore
from tests.model.mutations import MUTATIONS, Mutation, applied
from tests.model.properties import PROPERTIES, may_violate
from tests.model.states import Scope, State
from tests.model.turns import Turns

SETTLED_OF = 50  # of so many states, one must come to its end


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 1 if a property is violated, or if a mutation is not found."""
    parser = argparse.ArgumentParser(prog="./dev model", description=__doc__)
    parser.add_argument("--world", choices=["small", "large"], default="small")
    parser.add_argument("--seconds", type=float, default=3600, help="seconds of one core for a large world")
    parser.add_argument("--mutations", nargs="?", const="", help="find each named mutation, or those named like this")
    parser.add_argument("--property", choices=list(PROPERTIES), help="the only property that counts")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    gc.disable()  # values only: nothing of a world refers to itself, and millions of them would be looked through
    if given.mutations is not None:
        named = [mutation for mutation in MUTATIONS if given.mutations in mutation.name]
        found = [_mutation(mutation) for mutation in named if given.property in (None, mutation.property)]
        print(f"{sum(found)} of {len(found)} mutations found")
        return 0 if all(found) else 1
    scopes = worlds.SMALL if given.world == "small" else worlds.LARGE
    if given.property:
        print(f"{given.property}: {PROPERTIES[given.property]}")
        scopes = tuple(scope for scope in scopes if may_violate(given.property, scope))
    sound = [_world(scope, given.seconds, given.property) for scope in scopes]
    return 0 if all(sound) else 1


def _world(scope: Scope, seconds: float, only: str | None) -> bool:
    explored, took = _explored(scope, settle_every=SETTLED_OF, seconds=seconds, only=only)
    whole = "explored to its end" if explored.complete else "stopped before its end"
    print(
        f"{scope.name}: {explored.states:,} states, {explored.steps:,} steps, at most {explored.depth} deep, "
        f"{explored.ends:,} in which the action has ended, {explored.settled:,} let go on to their end; "
        f"{whole}, {took:.0f} s",
        flush=True,
    )
    if explored.violation:
        print(f"  VIOLATED: {explored.violation.what}")
        _print_story(explored.violation.story)
    return explored.violation is None


def _mutation(mutation: Mutation) -> bool:
    with applied(mutation):
        explored, took = _explored(mutation.scope, settle_every=20)
    violation = explored.violation
    found = violation is not None and mutation.property == violation.name
    what = (
        f"{violation.name}: {violation.what}, after {len(violation.story)} steps"
        if violation
        else "nothing is violated"
    )
    print(f"{mutation.name}: {what}; {explored.states:,} states, {took:.1f} s", flush=True)
    if violation:
        print(f"  The rule that is broken: {mutation.broken}.")
        _print_story(violation.story)
    return found


def _print_story(story: Sequence[str]) -> None:
    for number, label in enumerate(story, 1):
        print(f"  {number:>3}. {label}")


def _explored(
    scope: Scope, *, settle_every: int, seconds: float = 3600, only: str | None = None
) -> tuple[Explored[State], float]:
    began = time.process_time()

    def is_over() -> bool:
        return time.process_time() - began > seconds

    explored = explore(Turns(scope), settle_every=settle_every, only=only, until=is_over, progress=_progress)
    return explored, time.process_time() - began


def _progress(explored: Explored[State]) -> None:
    if explored.states % 500_000 == 0:
        print(f"  {explored.states:,} states, {explored.steps:,} steps, {explored.depth} deep", flush=True)


if __name__ == "__main__":
    sys.exit(main())
