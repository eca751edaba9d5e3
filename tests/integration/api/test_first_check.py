"""Settings and databases with which the API does not start: one sentence, exit code 2, and no port."""

import os
import socket
import subprocess
import sys

import pytest

from tests.integration.api.test_without_identities import program

SETTINGS = {
    "a number that is none": ({"SHIPYARD_API_WORKERS": "two"}, "SHIPYARD_API_WORKERS: 'two' is not a whole number"),
    "an address without the revision": (
        {"SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/"},
        "[drydock] design_url: the design address 'http://127.0.0.1:9/' lacks the revision: write {revision} in it",
    ),
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@pytest.mark.parametrize(("settings", "error"), SETTINGS.values(), ids=SETTINGS)
def test_the_api_says_what_is_wrong_and_ends_without_a_port(
    database_url: str, settings: dict[str, str], error: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        # A server that tried to bind would fail with another error, and go on trying.
        ended = program(database_url, f"127.0.0.1:{taken.getsockname()[1]}", **settings)
        output, _ = ended.communicate(timeout=60)
    assert (ended.returncode, output) == (2, f"Error: {error}\n")


def test_the_api_does_not_start_on_an_empty_database(empty_database_url: str) -> None:
    ended = program(empty_database_url, f"127.0.0.1:{free_port()}")
    output, _ = ended.communicate(timeout=60)
    assert ended.returncode == 2
    assert output.startswith("Error: ")
    assert output.count("\n") == 1


def test_a_worker_whose_port_is_taken_names_the_setting(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
        settings = {
            "SHIPYARD_CONFIG": os.devnull,
            "DATABASE_URL": database_url,
            "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
            "SHIPYARD_WORKER_STATUS_PORT": str(taken.getsockname()[1]),
        }
        worker = [sys.executable, "-m", "shipyard_api.worker"]
        ended = subprocess.run(
            worker, env={**kept, **settings}, capture_output=True, text=True, timeout=60, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: [worker] status_address, status_port: cannot serve at 127.0.0.1, port ")
