"""The step "real Ironic" of .ci/run: a real Ironic from the recipe beside this checkout, and our tests before it.

Ironic gets a Postgres as Shipyard embeds it, so nothing is installed on the machine, and everything is stopped at the
end, whatever that is. Exits as the tests do; where no Ironic can be had it exits with 77 and says why in its last line.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shipyard_api.adapters.embedded_postgres.server import PostgresError, temporary

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT.parent / "shared" / "recipes" / "run_ironic.sh"
TESTS = (
    *("tests/contract/test_provisioner_port.py", "tests/integration/test_real_ironic.py"),
    *("tests/acceptance/test_real_ironic_sites.py", "-k", "real-ironic or real_ironic"),
)
LEFT_OUT = 77  # as with automake's tests
LONGEST_START = 900.0  # seconds for installing and starting; a minute and a half is usual
# A server for tests: its data may be lost, and Ironic opens a connection for each of its many threads.
POSTGRES = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


class LeftOut(Exception):
    """No Ironic can be had here."""


def main() -> int:
    """Start, test, stop."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with ironic() as url:
            return run(["./dev", "test", *TESTS], {"IRONIC_URL": url})
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


@contextmanager
def ironic() -> Iterator[str]:
    """Give the address of an Ironic that runs as long as the block. Raises LeftOut if none can be had."""
    if not RECIPE.is_file():
        raise LeftOut("there is no ../shared/recipes/run_ironic.sh beside this checkout")
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="shipyard-real-ironic-")))
        try:
            postgres = undo.enter_context(temporary(POSTGRES))
        except PostgresError as error:
            raise LeftOut(f"no Postgres for it: {error}") from error
        undo.callback(_stop, directory)
        yield _start(directory, postgres.url.replace("postgresql", "postgresql+psycopg2", 1))


def _start(directory: Path, database: str) -> str:
    """Run the recipe and return Ironic's address."""
    settings = {
        "IRONIC_DB_URL": database,
        "IRONIC_AUTH": "noauth",
        "IRONIC_DEMO": "1",
        "IRONIC_CLI": "0",
        # The Python that has venv, whatever else is on PATH; and an index that does not answer is soon given up.
        "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_RETRIES": "1",
    }
    told = directory / "recipe.log"
    with told.open("w") as log:
        code = run([str(RECIPE), str(directory)], settings, output=log, seconds=LONGEST_START)
    lines = told.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith("IRONIC_URL="):
            return line.partition("=")[2]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise LeftOut(f"the recipe ended with {code}: {errors[-1] if errors else 'it said nothing'}")


def _stop(directory: Path) -> None:
    """Stop the Ironic that the recipe started, if it did. Ctrl-C does not keep us from it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pid_file = directory / "ironic.pid"
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    done = subprocess.run([str(RECIPE), "--stop", str(directory)], check=False)
    if done.returncode:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # the recipe makes it the leader of a group of its own


def run(command: list[str], environment: dict[str, str], *, output: object = None, seconds: float | None = None) -> int:
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


if __name__ == "__main__":
    sys.exit(main())
