"""The simulator is held to stories that say what the contract says of a real Deckhand."""

from typing import Any

import pytest
import requests

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.deckhand.player import DeckhandPlayer, stories
from shipyard_simulators.tests.in_process import HTTP, unserved
from shipyard_simulators.tests.recorded import Answer, differences


def simulated(story: dict[str, Any]) -> DeckhandSimulator:
    """Return the Deckhand that a story needs: its ``behaviour``, ``scenario``, ``token``, and the rights ``denied``."""
    usual = Behaviour()
    behaviours = {None: usual, "with defects": usual.with_defects(), "well behaved": usual.well_behaved()}
    return DeckhandSimulator(
        parse_scenario(story.get("scenario", "")),
        behaviour=behaviours[story.get("behaviour")],
        token=story.get("token"),
        denied=frozenset(story.get("denied", "").split()),
    )


@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in stories()])
def test_the_simulator_answers_as_the_contract_says(story: dict[str, Any]) -> None:
    def send(method: str, path: str, content: bytes | None, headers: dict[str, Any]) -> Answer:
        try:
            answer = HTTP.request(method, simulator.url + path, data=content, headers=headers)
        except requests.RequestException:
            return Answer(0, {}, "")
        return Answer(answer.status_code, answer.headers, answer.text)

    with unserved(simulated(story)) as simulator:
        assert differences(story["steps"], DeckhandPlayer(simulator.url, send)) == []
