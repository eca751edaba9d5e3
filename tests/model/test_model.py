"""The smallest worlds have no violation; broken rules are found. ``./dev model`` explores larger ones."""

import gc
import logging
from collections.abc import Iterator

import pytest

from tests.model import worlds
from tests.model.explore import explore
from tests.model.mutations import MUTATIONS, Mutation, applied
from tests.model.states import SNAPSHOT, Scope
from tests.model.turns import Turns

QUICK = ("before the request has settled", "holds are read before", "ignores the attempt", "the look before")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Formatting a line for each warning of each state would take longer than everything else."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "scope",
    [
        Scope("kills and lost requests", ticks=1),
        Scope("marks", ticks=1, marks=True),
        Scope("a stop", ticks=1, operator=frozenset({"stop"})),
        Scope("a copied volume", ticks=0, faults=frozenset({SNAPSHOT})),
    ],
    ids=lambda scope: scope.name,
)
def test_every_state_of_a_small_world_keeps_every_promise(scope: Scope) -> None:
    explored = explore(Turns(scope), settle_every=50)

    assert explored.violation is None
    assert explored.complete
    assert explored.states > 100
    assert explored.settled > 0


@pytest.mark.parametrize(
    "mutation",
    [mutation for mutation in MUTATIONS if any(name in mutation.name for name in QUICK)],
    ids=lambda mutation: mutation.name,
)
def test_a_broken_rule_is_found_with_its_story(mutation: Mutation) -> None:
    with applied(mutation):
        violation = explore(Turns(mutation.scope)).violation

    assert violation is not None
    assert violation.name == mutation.property
    assert violation.story
    assert explore(Turns(mutation.scope), most=len(violation.story) * 20).violation is None


def test_every_mutation_changes_code_that_is_there() -> None:
    for mutation in MUTATIONS:
        with applied(mutation):
            pass


@pytest.mark.crash
def test_three_million_states_of_the_large_world_keep_every_promise() -> None:
    gc.disable()  # values only: nothing of a world refers to itself
    try:
        for scope in worlds.LARGE:
            explored = explore(Turns(scope), settle_every=50, most=3_000_000)
            assert explored.violation is None
            assert explored.states == 3_000_000
    finally:
        gc.enable()
