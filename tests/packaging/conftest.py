"""Programs that package and check: those of ./dev packages, or else of the machine."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".build" / "packaging" / "bin"

Run = Callable[..., str]


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a program and return its output; the test is skipped if there is no such program, and fails if it fails."""

    def call(name: str, *arguments: object, **options: object) -> str:
        program = shutil.which(name, path=f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
        if program is None:
            pytest.skip(f"{name} is missing")
        words = [program, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return str(done.stdout + done.stderr)

    return call
