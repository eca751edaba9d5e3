"""The step "real fuel client" of .ci/run: python-fuelclient from the registry, unmodified, against our API.

The client has an environment of its own: it needs a PyYAML and a setuptools of its time.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import ROOT, Environment, LeftOut, run, step

CLIENT = "python-fuelclient==11.0.0"
# PyYAML below 6 builds from its source only, with the setuptools of the environment.
WANTED = (["setuptools<81", "wheel"], ["PyYAML==5.3.1"], [CLIENT, "setuptools<81"])
TESTS = ["-n", "0", "tests/acceptance/test_fuel_client.py"]
LONGEST = 300.0  # seconds for each part of the installation


@contextmanager
def client() -> Iterator[Environment]:
    """Install the client and yield the environment for the tests. Raises LeftOut if it is not available."""
    with tempfile.TemporaryDirectory(prefix="shipyard-fuel-client-") as made:
        directory = Path(made) / "env"
        pip = [str(directory / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        # One retry, so an unreachable index fails soon.
        install = [*pip, "--retries", "1", "install", "--quiet", "--no-build-isolation"]
        commands = [
            [str(ROOT / ".venv" / "bin" / "python"), "-m", "venv", str(directory)],
            *([*install, *wanted] for wanted in WANTED),
        ]
        for command in commands:
            if run(command, {}, seconds=LONGEST):
                raise LeftOut(f"{CLIENT} cannot be installed")
        yield {"FUEL_CLIENT": str(directory / "bin" / "fuel")}


if __name__ == "__main__":
    sys.exit(step(client, TESTS))
