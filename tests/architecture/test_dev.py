"""./dev on a fresh checkout, with an installer that does nothing."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = ("dev", "requirements.lock", "setup.cfg", "pyproject.toml", "shipyard_simulators/pyproject.toml")
UV = """#!/bin/sh
case "$*" in
    *--version) ;;
    venv*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; chmod +x "$last/bin/python" ;;

esac
"""


def set_up(place: Path, **environ: str) -> "subprocess.CompletedProcess[str]":
    for name in READ:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    (place / "bin").mkdir()
    uv = place / "bin" / "uv"
    uv.write_text(UV)
    uv.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
    path = f"{place / 'bin'}:{kept['PATH']}"
    return subprocess.run(
        [place / "dev", "setup"], env={**kept, "PATH": path, **environ}, capture_output=True, text=True, check=False
    )


def test_setting_up_shows_its_progress(tmp_path: Path) -> None:
    done = set_up(tmp_path)
    first, *stages, last = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (0, "")
    assert first.startswith(f"Setting up {tmp_path / '.venv'} with ")
    assert [stage.split()[0] for stage in stages] == ["creating", "installing", "installing"]
    assert int(stages[1].split()[1]) > 50
    assert last.startswith("Ready after ")
    assert set_up_again(tmp_path) == ""


def set_up_again(place: Path) -> str:
    return subprocess.run([place / "dev", "setup"], capture_output=True, text=True, check=True).stderr


def test_an_unusable_python_is_named(tmp_path: Path) -> None:
    done = set_up(tmp_path, SHIPYARD_PYTHON="/bin/false")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dev: SHIPYARD_PYTHON=/bin/false is not a working Python >= 3.11\n"
