"""The simulator is held to the contract of Drydock, which its stories tell."""

from pathlib import Path
from typing import Any

import pytest

from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.drydock.player import DrydockPlayer, StoryClock
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.recorded import differences, stories

STORIES = [
    pytest.param(story, id=f"{file.stem}: {story['story']}")
    for file in sorted(Path(__file__).with_name("stories").glob("*.yaml"))
    for story in stories(file)
]


@pytest.mark.parametrize("story", STORIES)
def test_the_simulator_answers_as_the_contract_says(
    story: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clock = StoryClock()
    scenario = parse_scenario(story.get("scenario", ""))
    with unserved(DrydockSimulator(scenario, clock=clock, token=story.get("token"))) as simulator:
        assert differences(story["steps"], DrydockPlayer(simulator.url, clock)) == []
