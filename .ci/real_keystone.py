"""The step "real Keystone" of .ci/run: a real Keystone from the recipe beside this checkout, and our tests before it.

It gets a directory of its own, tokens that end soon, and a free port, and is stopped at the end, whatever that is.
Exits as the tests do; where no Keystone can be had it exits with 77 and says why in its last line.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from real_ironic import LEFT_OUT, ROOT, LeftOut, run

RECIPE = ROOT.parent / "shared" / "recipes" / "run_keystone.sh"
TESTS = ("tests/integration/test_keystone_identity.py",)  # one after another: one of them halts Keystone for a moment
LONGEST_START = 900.0  # seconds for installing and starting; half a minute is usual
TOKENS_LAST = 15  # seconds; a test waits for the end of one


def main() -> int:
    """Start, test, stop."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with keystone() as settings:
            return run(["./dev", "test", "-n", "0", *TESTS], settings)
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


@contextmanager
def keystone() -> Iterator[dict[str, str]]:
    """Give what the tests are told of a Keystone that runs as long as the block. Raises LeftOut if none can be had."""
    if not RECIPE.is_file():
        raise LeftOut("there is no ../shared/recipes/run_keystone.sh beside this checkout")
    with tempfile.TemporaryDirectory(prefix="shipyard-real-keystone-") as made:
        directory = Path(made)
        settings = {
            "KEYSTONE_DIR": made,
            "KEYSTONE_PORT": str(_free_port()),
            "KEYSTONE_TOKEN_TTL": str(TOKENS_LAST),
            "PYTHON": str(ROOT / ".venv" / "bin" / "python"),
            # An index that does not answer is soon given up.
            "PIP_RETRIES": "1",
        }
        try:
            url = _start(directory, settings)
            yield {"KEYSTONE_URL": url, "KEYSTONE_PID_FILE": str(directory / "gunicorn.pid")}
        finally:
            _stop(directory, settings)


def _start(directory: Path, settings: dict[str, str]) -> str:
    """Run the recipe and return Keystone's address."""
    told = directory / "recipe.log"
    with told.open("w") as log:
        code = run([str(RECIPE)], settings, output=log, seconds=LONGEST_START)
    lines = told.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith("export OS_AUTH_URL="):
            return line.partition("=")[2]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise LeftOut(f"the recipe ended with {code}: {errors[-1] if errors else 'it said nothing'}")


def _stop(directory: Path, settings: dict[str, str]) -> None:
    """Stop the Keystone that the recipe started, if it did. Ctrl-C does not keep us from it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pid_file = directory / "gunicorn.pid"
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    done = subprocess.run([str(RECIPE), "stop"], check=False, env={**os.environ, **settings})
    if done.returncode:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
