"""When a worker counts as live and ready, what its probe says, and how the clock of a peer is read."""

import http.client
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from click.testing import CliRunner

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.ports.errors import Unavailable
from shipyard_api.programs import worker
from shipyard_api.settings.types import Count
from shipyard_api.wiring.monitoring import clock_ahead, status_port
from shipyard_api.wiring.settings import SettingsError
from shipyard_simulators.held_port import HeldPort
from tests.peer import Answer, running
from tests.unit.tables import table
from tests.waiting import PATIENCE


@pytest.fixture
def port() -> Iterator[int]:
    with HeldPort() as held:
        yield held.number


def asked(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def probe(monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str]) -> tuple[int, str]:
    for name in [name for name in os.environ if name.startswith("SHIPYARD_")]:
        monkeypatch.delenv(name)
    environment = {"SHIPYARD_CONFIG": os.devnull, **settings}
    result = CliRunner().invoke(worker.main, ["--probe"], env=environment)
    if isinstance(result.exception, SettingsError):
        raise result.exception
    return result.exit_code, result.stderr


@table(
    ("age", "live", "ready"),
    {
        "has just started": (lambda: None, 204, 503),
        "sends heartbeats": (lambda: 6.0, 204, 204),
        "hangs, or has no database": (lambda: 8.0, 503, 503),
    },
)
def test_a_worker_lives_by_its_heartbeats(
    monkeypatch: pytest.MonkeyPatch, port: int, age: Callable[[], float | None], live: int, ready: int
) -> None:
    options = WorkerOptions(status_port=Count(port), stalled_seconds=7.0)

    with status_port(options, age):
        found = [asked(port, "/health/live"), asked(port, "/health/ready")]
        code, said = probe(monkeypatch, {"SHIPYARD_WORKER_STATUS_PORT": str(port)})

    assert found == [live, ready]
    expected = "" if live == 204 else f"The worker at 127.0.0.1:{port} has sent no heartbeat for 7 s\n"
    assert (code, said) == (int(live != 204), expected)


def test_a_worker_that_does_not_run_is_not_live(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    settings = {"SHIPYARD_WORKER_STATUS_PORT": str(port), "SHIPYARD_WORKER_STATUS_ADDRESS": "0.0.0.0"}

    code, said = probe(monkeypatch, settings)

    assert code == 1
    assert said.startswith(f"The worker at 127.0.0.1:{port} does not answer: ")


def test_without_a_port_there_is_nothing_to_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="status_port is not set"):
        probe(monkeypatch, {})
    with status_port(WorkerOptions(), lambda: None):
        pass


def test_the_clock_of_a_peer_is_read() -> None:
    hour_ago = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    with running() as peer:
        peer.on("GET /", *(Answer(401, b"", {"Date": date}) for date in (hour_ago, "soon")))

        assert clock_ahead(peer.url, "Drydock") == pytest.approx(-3600, abs=60)
        assert clock_ahead(peer.url, "Drydock") is None
    assert clock_ahead("not an address", "Drydock") is None
    with pytest.raises(Unavailable, match=r"^Drydock"):
        clock_ahead("http://127.0.0.1:9", "Drydock")
