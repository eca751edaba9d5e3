"""The step "typed client" of .ci/run: the client as a release makes it, in an environment of its own, before a stack.

openapi-python-client makes its part `rest` from our document; mypy holds the rest of it to that part.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import LONGEST_INSTALLATION, ROOT, Environment, LeftOut, run, step

# The generator has the version of requirements-packaging.lock, which a release uses.
GENERATOR = ["openapi-python-client==0.29.1", "mypy", "types-python-dateutil"]
TESTS = ["-n", "0", "tests/acceptance/test_client.py"]


@contextmanager
def client() -> Iterator[Environment]:
    """Make and install the client; yield the Python that has it. Raises LeftOut if its packages are not available."""
    with tempfile.TemporaryDirectory(prefix="shipyard-typed-client-") as made:
        copy, python = Path(made, "client"), Path(made, "env", "bin", "python")
        shutil.copytree(ROOT / "shipyard_client", copy)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "--retries", "1", "install", "--quiet"]
        for command in (
            [str(ROOT / ".venv" / "bin" / "python"), "-m", "venv", str(python.parents[1])],
            [*install, *GENERATOR],
        ):
            if run(command, {}, seconds=LONGEST_INSTALLATION):
                raise LeftOut("openapi-python-client cannot be installed")
        if run([str(python), str(copy / "generate.py"), str(ROOT / "schemas" / "openapi.yaml")], {}):
            raise SystemExit("the generator failed")
        if run([*install, str(copy)], {}, seconds=LONGEST_INSTALLATION):
            raise LeftOut("what the client needs cannot be installed")
        if run([str(python), "-m", "mypy", "--strict", "--cache-dir", f"{made}/mypy", "-p", "shipyard_client"], {}):
            raise SystemExit("mypy finds faults in the client")
        yield {"SHIPYARD_CLIENT_PYTHON": str(python)}


if __name__ == "__main__":
    sys.exit(step(client, TESTS))
