"""The simulator is held to the contract of MAAS: each story was checked against the section that its file names."""

from pathlib import Path
from typing import Any

import pytest

from shipyard_simulators.tests.maas.player import simulated
from shipyard_simulators.tests.recorded import differences, stories

STORIES = [
    pytest.param(story, id=f"{file.stem}: {story['story']}")
    for file in sorted((Path(__file__).parent / "stories").glob("*.yaml"))
    for story in stories(file)
]


@pytest.mark.parametrize("story", STORIES)
def test_the_simulator_answers_as_its_contract_says(story: dict[str, Any]) -> None:
    with simulated(**{key: value for key, value in story.items() if key not in ("story", "steps")}) as maas:
        assert differences(story["steps"], maas) == []
