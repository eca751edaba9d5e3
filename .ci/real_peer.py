"""What the steps of .ci/run with a real peer share: it is started by a recipe, tests run before it, it is stopped.

A step exits as its tests do; where its peer cannot be had it exits with 77 and says why in its last line.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT.parent / "shared" / "recipes"
LEFT_OUT = 77  # as with automake's tests
LONGEST_START = 900.0  # seconds for installing and starting; a minute or two are usual

Environment = dict[str, str]


class LeftOut(Exception):
    """The peer cannot be had here."""


def step(peer: Callable[[], AbstractContextManager[Environment]], tests: list[str]) -> int:
    """Start the peer, run the tests with what it tells them, stop it; return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with peer() as told:
            return run(["./dev", "test", *tests], told)
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def recipe(name: str) -> Path:
    """Return a recipe; raises LeftOut if it is not beside this checkout."""
    found = RECIPES / name
    if not found.is_file():
        raise LeftOut(f"there is no ../shared/recipes/{name} beside this checkout")
    return found


def started(command: list[str], settings: Environment, log: Path, word: str) -> str:
    """Run a recipe to its end and return what it says behind ``word``; raises LeftOut, after all that it said."""
    with log.open("w") as output:
        code = run(command, settings, output=output, seconds=LONGEST_START)
    lines = log.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith(word):
            return line.removeprefix(word)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise LeftOut(f"the recipe ended with {code}: {errors[-1] if errors else 'it said nothing'}")


def stop(command: list[str], settings: Environment, pid_file: Path, kill: Callable[[int, int], None]) -> None:
    """Let the recipe stop what it started, if it did; else ``kill`` it. Ctrl-C does not keep us from it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    if subprocess.run(command, check=False, env={**os.environ, **settings}).returncode:
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def run(command: list[str], environment: Environment, *, output: object = None, seconds: float | None = None) -> int:
    """Run to the end, as a group of its own that is ended with us, or when the time (seconds) is over."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output,  # type: ignore[arg-type]  # None, or a file
        stderr=subprocess.STDOUT if output else None,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise LeftOut(f"{command[0]} took longer than {seconds:g} s") from None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, as Ctrl-C would; then as nobody can refuse."""
    for number, patience in ((signal.SIGINT, 30.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
