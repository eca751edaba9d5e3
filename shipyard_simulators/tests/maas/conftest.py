"""MAAS simulators, each with a clock that only the test moves."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.maas.client import Maas, StartMaas, simulator


@pytest.fixture
def start() -> Iterator[StartMaas]:
    """What starts a MAAS that plays the given scenario."""

    def start_maas(scenario: str = "", **options: Any) -> Maas:
        made, clock = simulator(scenario, **options)
        return Maas(cleanup.enter_context(unserved(made)).url, clock=clock)

    with ExitStack() as cleanup:
        yield start_maas


@pytest.fixture(scope="module")
def maas() -> Iterator[Maas]:
    """One MAAS for all tests that use machines of their own. Its clock stands still."""
    made, clock = simulator()
    with unserved(made):
        yield Maas(made.url, clock=clock)
