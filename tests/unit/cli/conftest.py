"""Fixtures of the command-line tests: a fake API, and the command run against it in this process."""

from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from shipyard_api.cli.main import shipyard
from tests.unit.cli.fake_api import TOKEN, FakeApi


@pytest.fixture
def api() -> Iterator[FakeApi]:
    fake = FakeApi()
    fake.start()
    yield fake
    fake.stop()


@pytest.fixture
def run(api: FakeApi) -> Callable[..., Result]:
    """Run a command line against the fake API; the result has stdout, stderr and exit_code."""

    def invoke(*words: str, url: str = "", **environment: str) -> Result:
        environment = {"SHIPYARD_URL": url or api.url, "SHIPYARD_TOKEN": TOKEN} | environment
        return CliRunner().invoke(shipyard, words, env=environment, prog_name="shipyard")

    return invoke
