"""The files of the repository."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that is or could be committed; the test is skipped where git cannot say."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]
