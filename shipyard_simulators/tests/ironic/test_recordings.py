"""The simulator is held to what a real Ironic answered: .ci/record_ironic.py plays the same stories to that."""

from typing import Any

import pytest

from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, unserved
from shipyard_simulators.tests.ironic.client import Ironic
from shipyard_simulators.tests.ironic.stories import RECORDINGS, IronicPlayer
from shipyard_simulators.tests.recorded import Answer, differences, stories
from shipyard_simulators.tests.waiting import VirtualClock

STORIES = [
    pytest.param(story, id=f"{file.stem}: {story['story']}")
    for file in sorted(RECORDINGS.glob("*.yaml"))
    for story in stories(file)
]


@pytest.mark.parametrize("story", STORIES)
def test_the_simulator_answers_as_the_real_ironic_did(story: dict[str, Any]) -> None:
    clock = VirtualClock()
    with unserved(IronicSimulator(parse_scenario(story.get("scenario", "")), clock=clock)) as simulator:
        ironic = Ironic(simulator, clock)

        def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
            answer = HTTP.request(method, simulator.url + path, json=body, headers=headers)
            return Answer(answer.status_code, answer.headers, answer.text)

        def ran(name: str) -> list[str]:
            return [step["step"] for step in ironic.log("step", name)]

        player = IronicPlayer(simulator.url, send, clock.until, ran)
        assert differences(story["steps"], player) == []
