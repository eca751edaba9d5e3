"""Drydock simulators."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.scenario import Scenario, parse_scenario
from shipyard_simulators.tests.drydock.client import Drydock, StartDrydock, write_design
from shipyard_simulators.tests.in_process import unserved


@pytest.fixture(scope="session")
def designs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for designs."""
    return tmp_path_factory.mktemp("designs")


@pytest.fixture
def start(designs: Path) -> Iterator[StartDrydock]:
    """What starts a Drydock with nodes of the given names, playing the given scenario fast."""

    def start_drydock(
        scenario: str = "", *, nodes: str = "n1 n2 n3", time_scale: float = 0.001, **options: Any
    ) -> Drydock:
        design = designs / f"{nodes}.yaml"
        write_design(design, nodes)
        simulator = DrydockSimulator(parse_scenario(scenario), time_scale=time_scale, **options)
        return Drydock(cleanup.enter_context(unserved(simulator)).url, design.as_uri())

    with ExitStack() as cleanup:
        yield start_drydock


@pytest.fixture(scope="module")
def drydock(designs: Path) -> Iterator[Drydock]:
    """One Drydock for all tests that only read, or that look only at their own tasks."""
    design = designs / "shared.yaml"
    write_design(design, "n1 n2 n3")
    with unserved(DrydockSimulator(Scenario(), time_scale=0.001)) as simulator:
        yield Drydock(simulator.url, design.as_uri())
