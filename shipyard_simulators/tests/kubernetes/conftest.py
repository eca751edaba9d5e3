"""Kubernetes simulators, each with a clock that only the test moves."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.kubernetes.client import BY_CONTROL, Cluster, Start
from shipyard_simulators.tests.waiting import VirtualClock


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts a cluster that plays the given scenario."""

    def start_cluster(scenario: str = BY_CONTROL, **options: Any) -> Cluster:
        clock = VirtualClock()
        simulator = KubernetesSimulator(parse_scenario(scenario), clock=clock, **options)
        return Cluster(cleanup.enter_context(unserved(simulator)), clock)

    with ExitStack() as cleanup:
        yield start_cluster


@pytest.fixture
def cluster(start: Start) -> Cluster:
    """A cluster that nodes join only by the control routes."""
    return start()
