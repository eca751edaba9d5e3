"""The crash suite refuses every change of state that ``domain.transitions`` does not declare."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests import transitions
from tests.crash.calm import PLANS, Calm, Plan
from tests.databases import empty
from tests.two_histories import dropped
from tests.world import World


@pytest.fixture
def database_url(database_url: str) -> Iterator[str]:
    """A database whose changes of state are compared with the declared ones at the end of the test."""
    with transitions.recorded(database_url) as changes:
        yield database_url
    assert changes <= transitions.declared()


@pytest.fixture(scope="module")
def module_database_url(module_database_url: str) -> Iterator[str]:
    """The same for the tests of a module that share one."""
    with transitions.recorded(module_database_url) as changes:
        yield module_database_url
    assert changes <= transitions.declared()


@pytest.fixture(
    scope="module",
    params=[name if not at else pytest.param(name, marks=pytest.mark.crash) for at, name in enumerate(PLANS)],
)
def plan(request: pytest.FixtureRequest) -> Plan:
    """Each plan; all but the first belong to the long tests."""
    return PLANS[request.param]


@pytest.fixture(scope="module")
def calm(module_database_url: str, plan: Plan) -> Iterator[Calm]:
    """The calm run of a plan; tests go on from copies of what it was at."""
    empty(module_database_url)
    run = Calm.of(partial(World, module_database_url), plan)
    yield run
    run.world.close()


@pytest.fixture
def copies() -> Iterator[list[str]]:
    """The addresses of copies of the database, which are dropped at the end."""
    made: list[str] = []
    yield made
    for copy in made:
        dropped(copy)
