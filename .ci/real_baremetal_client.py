"""The step "real baremetal client" of .ci/run: python-ironicclient from the registry, unmodified, against our API.

The client has an environment of its own: its libraries are not ours.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import ROOT, Environment, LeftOut, run, step

CLIENT = "python-ironicclient==6.3.0"
TESTS = ["-n", "0", "tests/acceptance/test_baremetal_client.py"]
LONGEST = 300.0  # seconds for the installation


@contextmanager
def client() -> Iterator[Environment]:
    """Install the client and yield the environment for the tests. Raises LeftOut if it is not available."""
    with tempfile.TemporaryDirectory(prefix="shipyard-baremetal-client-") as made:
        directory = Path(made) / "env"
        python = directory / "bin" / "python"
        # One retry, so an unreachable index fails soon.
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "--retries", "1", "install", "--quiet"]
        for command in ([str(ROOT / ".venv" / "bin" / "python"), "-m", "venv", str(directory)], [*install, CLIENT]):
            if run(command, {}, seconds=LONGEST):
                raise LeftOut(f"{CLIENT} cannot be installed")
        yield {"BAREMETAL_CLIENT": str(directory / "bin" / "baremetal")}


if __name__ == "__main__":
    sys.exit(step(client, TESTS))
