"""The simulator is held to what a real API server answered: .ci/record_kubernetes.py plays the same stories to that."""

from typing import Any

import pytest

from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.kubernetes.client import Cluster
from shipyard_simulators.tests.kubernetes.stories import RECORDINGS, KubernetesPlayer
from shipyard_simulators.tests.recorded import Answer, differences, stories

STORIES = [
    pytest.param(story["steps"], id=story["story"])
    for file in sorted(RECORDINGS.glob("*.yaml"))
    for story in stories(file)
]


@pytest.mark.parametrize("steps", STORIES)
def test_the_simulator_answers_as_the_real_api_server_did(cluster: Cluster, steps: list[dict[str, Any]]) -> None:
    def send(method: str, path: str, content: bytes | None, kind: str) -> Answer:
        answer = HTTP.request(method, cluster.simulator.url + path, data=content, headers={"Content-Type": kind})
        return Answer(answer.status_code, answer.headers, answer.text)

    assert differences(steps, KubernetesPlayer(cluster.simulator.url, send)) == []
