"""The simulated Keystone is held to what a real one answered: .ci/record_keystone.py plays the same stories to that."""

from typing import Any

import pytest
import requests

from shipyard_simulators.tests.recorded import Answer, Step, differences, stories
from tests import simulated_keystone
from tests.contract.keystone_stories import RECORDINGS, KeystonePlayer
from tests.waiting import PATIENCE

STORIES = [
    pytest.param(story["steps"], id=story["story"])
    for file in sorted(RECORDINGS.glob("*.yaml"))
    for story in stories(file)
]


@pytest.mark.parametrize("steps", STORIES)
def test_the_simulated_keystone_answers_as_the_real_one_did(steps: list[dict[str, Any]]) -> None:
    with simulated_keystone.running() as keystone:
        url = keystone.url.removesuffix("/v3")

        def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
            answer = requests.request(method, url + path, json=body, headers=headers, timeout=PATIENCE)
            return Answer(answer.status_code, answer.headers, answer.text)

        def give(step: Step) -> str:
            return keystone.give(step["token"], *step.get("roles", ()), project=step.get("project"))

        def end(token: str) -> None:
            keystone.tokens[token]["expires_at"] = keystone.tokens[token]["issued_at"]

        assert differences(steps, KeystonePlayer(url, send, give, keystone.tokens.pop, end)) == []
