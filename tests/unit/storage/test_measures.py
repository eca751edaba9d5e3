"""What is computed of the rows of the queue."""

from typing import Any

from shipyard_api.ports.state.measures import QueueHealth, QueueLoad
from shipyard_api.storage.measures import Measures
from tests.unit.tables import every_row


class Given(Measures):
    """Measures of a queue that a test describes."""

    def __init__(self, oldest: list[float], heartbeats: list[float]) -> None:
        self.load: Any = [QueueLoad("turns", "todo", 1, seconds) for seconds in oldest]
        self.heartbeats = heartbeats

    def _load(self) -> list[QueueLoad]:
        return self.load

    def _heartbeats(self) -> list[float]:
        return self.heartbeats


@every_row(
    [
        ([], [], QueueHealth(0.0, None)),
        ([3.0, 9.0, 1.0], [70.0, 2.0, 5.0], QueueHealth(9.0, 2.0)),  # one worker that is heard is enough
    ]
)
def test_a_queue_is_as_late_as_its_oldest_job_and_as_alive_as_its_last_heartbeat(
    oldest: list[float], heartbeats: list[float], health: QueueHealth
) -> None:
    assert Given(oldest, heartbeats).queue() == health
