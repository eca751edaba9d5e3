"""Ironic simulators, each with a clock that only the test moves."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.ironic.client import Ironic, StartIronic
from shipyard_simulators.tests.waiting import VirtualClock


@pytest.fixture
def start() -> Iterator[StartIronic]:
    """What starts an Ironic that plays the given scenario."""

    def start_ironic(scenario: str = "", **options: Any) -> Ironic:
        clock = VirtualClock()
        simulator = IronicSimulator(parse_scenario(scenario), clock=clock, **options)
        return Ironic(cleanup.enter_context(unserved(simulator)), clock)

    with ExitStack() as cleanup:
        yield start_ironic


@pytest.fixture(scope="module")
def shared() -> Iterator[Ironic]:
    """One Ironic for all tests that only read, or that use nodes of their own."""
    clock = VirtualClock()
    with unserved(IronicSimulator(clock=clock)) as simulator:
        yield Ironic(simulator, clock)


@pytest.fixture
def name() -> str:
    """An unused node name."""
    return f"n-{uuid4()}"
