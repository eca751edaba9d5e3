"""Shared by the steps of .ci/run with a real peer: start it with a recipe, run tests against it, stop it.

A step exits with the code of its tests. If its peer is missing, it exits 77 and its last line says why.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT.parent / "shared" / "recipes"
REPORT = ROOT / ".build" / "newcomer.xml"  # of the step "tests", which had no peers
LEFT_OUT = 77  # as with automake's tests
LONGEST_START = 900.0  # seconds for installing and starting; a minute or two are usual
LONGEST_INSTALLATION = 300.0  # seconds for a package from the registry

Environment = dict[str, str]


class LeftOut(Exception):
    """The peer is not available here."""


def step(
    peer: Callable[[], AbstractContextManager[Environment]],
    tests: list[str],
    *,
    within: Sequence[str] = (),
    first: Sequence[str] = (),
) -> int:
    """Start the peer, run the tests with its environment, stop it; return the exit code.

    ``within``: a command that runs the command after it, such as ``unshare --net``. ``first``: a command that runs
    before the tests, while the peer is untouched; they run even if it fails.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with peer() as environment:
            failed = run(list(first), environment) if first else 0
            return run([*within, "./dev", "test", *tests], environment) or failed
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def run_skipped(*reasons: str, arguments: tuple[str, ...] = ()) -> int:
    """Run the tests that the step "tests" skipped for a reason with one of these texts; return the exit code.

    It fails if there are none for a reason, or if one is skipped again: then a text or a peer is not found.
    """
    unknown = [reason for reason in reasons if not skipped(REPORT, (reason,))]
    tests = skipped(REPORT, reasons)
    if unknown and not os.environ.get("NEWCOMER_SELECTED"):
        sys.stdout.write(f"no test of {REPORT} was skipped with {' or '.join(map(repr, unknown))}\n")
        return 1
    if not tests:
        raise LeftOut(f"the selected tests skipped nothing with {' or '.join(map(repr, unknown))}")
    again = REPORT.with_name("again.xml")
    code = run(["./dev", "test", *arguments, f"--junit-xml={again}", "-o", "junit_family=xunit1", *tests], {})
    missed = skipped(again, reasons)
    if missed:
        sys.stdout.write("".join(f"skipped again: {test}\n" for test in missed))
    return code or bool(missed)


def skipped(report: Path, reasons: tuple[str, ...]) -> list[str]:
    """Return the test functions of a report of which a case was skipped for a reason with one of the texts."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # our own report
        reason = case.find("skipped")
        if reason is not None and any(text in reason.get("message", "") for text in reasons):
            place, module = case.get("file", ""), case.get("file", "").removesuffix(".py").replace("/", ".")
            inner = case.get("classname", "").removeprefix(module).replace(".", "::")
            found[f"{place}{inner}::{case.get('name', '').partition('[')[0]}"] = None
    return list(found)


def recipe(name: str) -> Path:
    """Return the path of a recipe; raises LeftOut if it is not beside this checkout."""
    found = RECIPES / name
    if not found.is_file():
        raise LeftOut(f"../shared/recipes/{name} is missing beside this checkout")
    return found


def free_port(*beside: int) -> int:
    """Return a port of the range that systems give to nobody, free with those so far above it."""
    while True:
        first = random.randrange(20_000, 30_000)  # noqa: S311  # not secret
        try:
            for offset in (0, *beside):
                socket.create_server(("127.0.0.1", first + offset)).close()
        except OSError:
            continue
        return first


def started(command: list[str], settings: Environment, log: Path, word: str) -> str:
    """Run a recipe and return its output line after ``word``. Raises LeftOut if it fails, and prints the output."""
    with log.open("w") as output:
        code = run(command, settings, output=output, seconds=LONGEST_START)
    lines = log.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith(word):
            return line.removeprefix(word)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise LeftOut(f"the recipe ended with {code}: {errors[-1] if errors else 'no output'}")


@contextmanager
def installed(packages: str, program: str, variable: str) -> Iterator[Environment]:
    """Install packages into an environment of their own; yield ``variable`` with the path of its program.

    Raises LeftOut if they are not available.
    """
    with tempfile.TemporaryDirectory(prefix="shipyard-client-") as made:
        directory = Path(made) / "env"
        python = directory / "bin" / "python"
        # One retry, so an unreachable index fails soon.
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "--retries", "1", "install", "--quiet"]
        environment = [str(ROOT / ".venv" / "bin" / "python"), "-m", "venv", str(directory)]
        for command in (environment, [*install, *packages.split()]):
            if run(command, {}, seconds=LONGEST_INSTALLATION):
                raise LeftOut(f"{packages} cannot be installed")
        yield {variable: str(directory / "bin" / program)}


@contextmanager
def installed_beside(extra: str) -> Iterator[Environment]:
    """Install the lock file of an extra beside the environment; yield ``PYTHONPATH`` with it.

    Raises LeftOut if its packages are not available.
    """
    with tempfile.TemporaryDirectory(prefix=f"shipyard-{extra}-") as made:
        pip = [str(ROOT / ".venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
        lock = ["--no-deps", "--require-hashes", "-r", str(ROOT / f"requirements-{extra}.lock")]
        if run([*pip, "install", "--quiet", "--target", made, *lock], {}, seconds=LONGEST_INSTALLATION):
            raise LeftOut(f"the extra {extra} cannot be installed")
        yield {"PYTHONPATH": os.pathsep.join(filter(None, (made, os.environ.get("PYTHONPATH"))))}


def stop(command: list[str], settings: Environment, pid_file: Path, kill: Callable[[int, int], None]) -> None:
    """Let the recipe stop the peer, or ``kill`` it if that fails. Ctrl-C does not interrupt this."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    if subprocess.run(command, check=False, env={**os.environ, **settings}).returncode:
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def run(command: list[str], environment: Environment, *, output: object = None, seconds: float | None = None) -> int:
    """Run a command in its own process group, which ends with this process or after ``seconds``."""
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
    """End a process group: first like Ctrl-C, in the end by force."""
    for number, patience in ((signal.SIGINT, 30.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
