"""The step "real Keystone" of .ci/run: a real Keystone from the recipe beside this checkout, and our tests against it.

First it plays the recorded exchanges that the simulated Keystone is held to: they must still be what it answers.
It has its own directory, short-lived tokens and a free port, and is stopped at the end.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from real_peer import ROOT, Environment, free_port, recipe, started, step, stop

# In sequence, because one test suspends Keystone for a moment.
TESTS = ["-n", "0", "tests/integration/test_keystone_identity.py"]
TOKENS_LAST = 15  # seconds; a test and a story wait until one expires


@contextmanager
def keystone() -> Iterator[Environment]:
    """Run a Keystone and yield its environment for the tests. Raises LeftOut if it is not available."""
    made = recipe("run_keystone.sh")
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="shipyard-real-keystone-")))
        pid_file = directory / "gunicorn.pid"
        settings = {
            "KEYSTONE_DIR": str(directory),
            "KEYSTONE_PORT": str(free_port()),
            "KEYSTONE_TOKEN_TTL": str(TOKENS_LAST),
            "PYTHON": str(ROOT / ".venv" / "bin" / "python"),
            # One retry, so an unreachable index fails soon.
            "PIP_RETRIES": "1",
        }
        undo.callback(stop, [str(made), "stop"], settings, pid_file, os.kill)
        url = started([str(made)], settings, directory / "recipe.log", "export OS_AUTH_URL=")
        yield {"KEYSTONE_URL": url, "KEYSTONE_PID_FILE": str(pid_file)}


if __name__ == "__main__":
    sys.exit(step(keystone, TESTS, first=[sys.executable, ".ci/record_keystone.py", "--check"]))
