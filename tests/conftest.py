"""What tests of every kind share: a real Postgres, started when the first test of a run asks for one.

Each test that asks for ``database_url`` gets a database of its own.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from shipyard_api.observing import request_context
from tests import forked, prompt_servers  # noqa: F401  # servers are prompt from the start
from tests.databases import Databases, Run, one_after_another

if TYPE_CHECKING:
    from tests.world import World

ROOT = Path(__file__).resolve().parent.parent
SITES = ROOT.parent / "shared" / "data" / "sites"


# Such modules import what no other does (schemathesis, whole programs), in each process of a run.
_ONLY_LONG = re.compile(r"^pytestmark = .*pytest\.mark\.crash\b", re.MULTILINE)
_ELSEWHERE = "SHIPYARD_TEST_RUN"  # the directory of a run of several pytests, as those of ./dev mutants
_run: pytest.StashKey[Run] = pytest.StashKey()


class Reports:
    """Names a failed test at once, and ends a run that reports no more: neither would come to its summary."""

    def __init__(self, longest: float) -> None:
        """``longest``: seconds that a test may take; 0 for no limit."""
        self._longest = longest

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result of a test; the next one must come in time."""
        if report.failed:
            print(f"\nfailed: {report.nodeid} ({report.when})", file=sys.__stderr__, flush=True)
        if self._longest:
            faulthandler.dump_traceback_later(1.5 * self._longest, exit=True, file=sys.__stderr__)

    def pytest_unconfigure(self) -> None:
        """Wait for no further result."""
        faulthandler.cancel_dump_traceback_later()


def pytest_configure(config: pytest.Config) -> None:
    """Begin a run in the process that controls it, or take part in one that was begun elsewhere."""
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(Reports(float(config.getini("faulthandler_timeout"))))
    if _ELSEWHERE not in os.environ:
        config.stash[_run] = Run.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist where its run is."""
    if run := node.config.stash.get(_run, None):
        node.workerinput["run"] = str(run.directory)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out, before it is imported, a module that has only long tests, where none of these is run."""
    if config.getoption("markexpr") != "not crash" or collection_path.suffix != ".py":
        return None
    return True if _ONLY_LONG.search(collection_path.read_text("utf-8")) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage while tests are collected, later seldom, and never among the tests, which stay."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
    return collected


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let what serves the run end."""
    forked.end()
    if run := config.stash.get(_run, None):
        run.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Let no test inherit the request context that another one began, as a turn does."""
    with request_context.restored():
        return (yield)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Databases:
    """The Postgres of the run, started when its first test asks for it."""
    config = request.config
    if elsewhere := os.environ.get(_ELSEWHERE):
        return Databases(Path(elsewhere))
    at_worker = getattr(config, "workerinput", None)
    return Databases(Path(at_worker["run"]) if at_worker else config.stash[_run].directory)


@pytest.fixture
def database_url(postgres: Databases) -> Iterator[str]:
    """The address of an empty, migrated database for one test."""
    with postgres.migrated() as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(postgres: Databases) -> Iterator[str]:
    """The address of a migrated database that the tests of one module share."""
    with postgres.migrated() as url:
        yield url


@pytest.fixture
def empty_database_url(postgres: Databases) -> Iterator[str]:
    """The address of a database without any table."""
    with postgres.without_tables() as url:
        yield url


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Yield a directory for sockets: their paths have at most 107 characters, which that of a test may exceed."""
    with TemporaryDirectory(dir="/tmp") as directory:  # a name of its own
        yield Path(directory)


@pytest.fixture
def worlds(database_url: str) -> Iterator[Callable[..., World]]:
    """Makes worlds, one after another, in one database that is emptied before each."""
    from tests.world import World

    with one_after_another(database_url, World) as make:
        yield make


def site_file(name: str) -> Path:
    """A real site design; skips the test where the data is not there."""
    path = SITES / name
    if not path.is_file():
        pytest.skip(f"the real site designs are not beside this checkout ({path})")
    return path
