"""Simulators of hosts, each with a clock that only the test moves."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shipyard_simulators.hosts.simulator import running
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.hosts.client import Client
from shipyard_simulators.tests.waiting import VirtualClock

ADDRESSES = {"n1": ("10.0.0.1", "172.16.0.1"), "n2": ("10.0.0.2",)}
Start = Callable[..., Client]


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts hosts that play the given scenario."""

    def started(scenario: str = "", **options: Any) -> Client:
        options = {"addresses": ADDRESSES, "clock": VirtualClock(), **options}
        return Client(cleanup.enter_context(running(parse_scenario(scenario), **options)))

    with ExitStack() as cleanup:
        yield started


@pytest.fixture(scope="module")
def hosts() -> Iterator[Client]:
    """Hosts of a calm site, for all tests that change nothing of others."""
    with running(addresses=ADDRESSES, clock=VirtualClock()) as simulator:
        yield Client(simulator)
