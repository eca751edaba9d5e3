"""The step "real Keystone" of .ci/run: a real Keystone from the recipe beside this checkout, and our tests before it.

It gets a directory of its own, tokens that end soon, and a free port, and is stopped at the end, whatever that is.
"""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from real_peer import ROOT, Environment, recipe, started, step, stop

# One after another: one of them halts Keystone for a moment.
TESTS = ["-n", "0", "tests/integration/test_keystone_identity.py"]
TOKENS_LAST = 15  # seconds; a test waits for the end of one


@contextmanager
def keystone() -> Iterator[Environment]:
    """Give what the tests are told of a Keystone that runs as long as the block. Raises LeftOut if none can be had."""
    made = recipe("run_keystone.sh")
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="shipyard-real-keystone-")))
        pid_file = directory / "gunicorn.pid"
        settings = {
            "KEYSTONE_DIR": str(directory),
            "KEYSTONE_PORT": str(_free_port()),
            "KEYSTONE_TOKEN_TTL": str(TOKENS_LAST),
            "PYTHON": str(ROOT / ".venv" / "bin" / "python"),
            # An index that does not answer is soon given up.
            "PIP_RETRIES": "1",
        }
        undo.callback(stop, [str(made), "stop"], settings, pid_file, os.kill)
        url = started([str(made)], settings, directory / "recipe.log", "export OS_AUTH_URL=")
        yield {"KEYSTONE_URL": url, "KEYSTONE_PID_FILE": str(pid_file)}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(step(keystone, TESTS))
