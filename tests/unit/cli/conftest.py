"""Fixtures of the command-line tests: a fake API, and commands run against it in this process."""

import io
import sys
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from shipyard_api.cli import main
from shipyard_api.cli.main import shipyard
from tests.unit.cli.fake_api import TOKEN, FakeApi


@pytest.fixture(scope="session")
def fake_server() -> Iterator[FakeApi]:
    """One server for all tests of a run."""
    fake = FakeApi()
    fake.start()
    yield fake
    fake.stop()


@pytest.fixture
def api(fake_server: FakeApi) -> FakeApi:
    """The server without replies and requests of other tests."""
    fake_server.replies, fake_server.requests = {}, []
    return fake_server


@pytest.fixture
def run(api: FakeApi) -> Callable[..., Result]:
    """Run a command line against the fake API; the result has stdout, stderr and exit_code."""

    def invoke(*words: str, url: str = "", **environment: str) -> Result:
        environment = {"SHIPYARD_URL": url or api.url, "SHIPYARD_TOKEN": TOKEN} | environment
        return CliRunner().invoke(shipyard, words, env=environment, prog_name="shipyard")

    return invoke


class Stream(io.TextIOWrapper):
    """An output of a process: a terminal, or a file."""

    def __init__(self, encoding: str, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def run_main(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[bytes, int]]:
    """Run ``main`` with a terminal of 80 by 24 as its stdout, or a file; return what it wrote, and its exit code."""

    def invoke(*words: str, terminal: bool = True, encoding: str = "utf-8", **environment: str) -> tuple[bytes, int]:
        stream = Stream(encoding, terminal=terminal)
        with monkeypatch.context() as patch:
            patch.delenv("NO_COLOR", raising=False)
            given = {"SHIPYARD_URL": api.url, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"} | environment
            for name, value in given.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "argv", ["shipyard", *words])
            with pytest.raises(SystemExit) as ended:
                main.main()
            stream.flush()
        return stream.buffer.getvalue(), int(ended.value.code or 0)  # type: ignore[attr-defined]

    return invoke
