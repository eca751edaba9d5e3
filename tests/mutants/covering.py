"""A plugin of pytest that writes down which lines each test runs, and how long it takes: ``-p tests.mutants.covering``.

One file per test file, written when its last test is over: a run that was stopped goes on with the others. Of programs
in processes of their own it sees nothing. Lines are the bits of a hexadecimal number.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACE = "SHIPYARD_COVERING"  # the directory that gets the files

_coverage = coverage.Coverage(data_file=None, source=[str(ROOT / "shipyard_api")], config_file=False)
# A file whose tests only start programs; a warning would be an error here, which ends the process.
_coverage.set_option("run:disable_warnings", ["no-data-collected"])
_seconds: dict[str, float] = {}
_not_passed: set[str] = set()
_began = False


def name_of(test_file: str) -> str:
    """Return the name of the file about a test file."""
    return test_file.replace("/", ".") + ".json"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Measure a test; after the last of its file, write the file."""
    global _began
    if not _began:
        # Once: threads that outlive a file of tests, such as those of the API, would not be traced after a stop.
        _coverage.start()
        _began = True
    _coverage.switch_context(item.nodeid)
    began = time.monotonic()
    try:
        return (yield)
    finally:
        _seconds[item.nodeid] = time.monotonic() - began
        if nextitem is None or nextitem.path != item.path:
            _write(item.nodeid.partition("::")[0])
            _seconds.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Leave out what fails or is skipped without any fault."""
    if not report.passed:
        _not_passed.add(report.nodeid)


def _write(test_file: str) -> None:
    data = _coverage.get_data()
    lines: dict[str, dict[str, int]] = {test: {} for test in _seconds if test not in _not_passed}
    for path in data.measured_files():
        name = str(Path(path).relative_to(ROOT))
        for line, contexts in data.contexts_by_lineno(path).items():
            for test in contexts:
                if test in lines:
                    lines[test][name] = lines[test].get(name, 0) | 1 << line
    tests = {
        test: {"seconds": round(_seconds[test], 3), "lines": {path: f"{bits:x}" for path, bits in files.items()}}
        for test, files in lines.items()
    }
    data.erase()  # what was written; the tracers go on
    place = Path(os.environ[PLACE], name_of(test_file))
    whole = place.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(tests), encoding="utf-8")
    whole.replace(place)
