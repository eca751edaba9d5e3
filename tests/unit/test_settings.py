"""Defaults that make a promise together."""

from shipyard_api.adapters.procrastinate.options import WorkerOptions
from shipyard_api.settings import EngineOptions

RESTART = 1.0  # docs/howto/install.md, RestartSec
START = 4.0  # of a worker on a loaded machine; a second on a quiet one
ASKING = 1.0  # the peer, for what the killed worker submitted


def test_the_work_of_a_killed_worker_goes_on_within_ten_seconds() -> None:
    engine, worker = EngineOptions(), WorkerOptions()
    taken_over = max(RESTART + START, worker.heartbeat_seconds)

    assert max(taken_over, engine.settle_seconds) + worker.poll_seconds + ASKING < 8


def test_a_worker_with_a_silent_database_ends_before_others_take_over() -> None:
    worker = WorkerOptions()

    assert worker.heartbeat_seconds + worker.stalled_seconds / 2 < worker.stalled_seconds
