"""``shipyard up`` with options that cannot work: one sentence that names the option, before anything is started."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from shipyard_api.programs import stack


@pytest.fixture(autouse=True)
def _nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(stack.embedded_postgres, "start", started)


def said(*options: str) -> str:
    result = CliRunner().invoke(stack.main, ["up", *options])
    assert result.exit_code == 1, result.output
    return result.stderr


def test_a_scenario_that_does_not_exist(tmp_path: Path) -> None:
    text = said("--scenario", "nosuch", "--data-dir", str(tmp_path))

    assert text.startswith("Error: --scenario nosuch: there is no scenario named 'nosuch'; known are ")
    assert "calm" in text


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = said("--port", str(port), "--data-dir", str(tmp_path))

    assert text == f"Error: --port {port}: another program uses it. Choose another one, or 0 for a port that is free\n"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    text = said("--data-dir", str(file / "data"))

    assert text == f"Error: --data-dir {file}/data: Not a directory. Choose a directory that you may write to\n"


def test_a_directory_that_postgres_cannot_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise stack.embedded_postgres.PostgresError("The account 'postgres' cannot reach it")

    monkeypatch.setattr(stack.embedded_postgres, "start", refused)

    assert said("--data-dir", str(tmp_path)) == "Error: The account 'postgres' cannot reach it\n"
