"""The step "real Ironic" of .ci/run: a real Ironic from the recipe beside this checkout, and our tests against it.

First it plays the recorded exchanges that the simulator is held to: they must still be what it answers.

Ironic uses the embedded Postgres, so nothing is installed on the machine. Everything is stopped at the end.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from real_peer import ROOT, Environment, LeftOut, recipe, started, step, stop

from shipyard_simulators.embedded_postgres.server import PostgresError, temporary

TESTS = [
    *("tests/contract/test_provisioner_port.py", "tests/integration/test_real_ironic.py"),
    "tests/integration/test_real_ironic_hardware.py",
    *("tests/acceptance/test_real_ironic_sites.py", "-k", "real-ironic or real_ironic"),
]
# A test server: its data may be lost. Ironic opens a connection for each of its many threads.
POSTGRES = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


@contextmanager
def ironic() -> Iterator[Environment]:
    """Run an Ironic and yield its environment for the tests. Raises LeftOut if it is not available."""
    made = recipe("run_ironic.sh")
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="shipyard-real-ironic-")))
        try:
            postgres = undo.enter_context(temporary(POSTGRES))
        except PostgresError as error:
            raise LeftOut(f"no Postgres for it: {error}") from error
        # The recipe makes it the leader of its own process group.
        undo.callback(stop, [str(made), "--stop", str(directory)], {}, directory / "ironic.pid", os.killpg)
        more = directory / "more.conf"
        bios, deploy = "demo,fake,no-bios,service", "demo,fake,burn-in,hanging"
        inspect = "demo,fake,no-inspect,recorded"
        chosen = {"bios": bios, "deploy": deploy, "inspect": inspect}
        lines = (f"enabled_{kind}_interfaces = {names}\n" for kind, names in chosen.items())
        more.write_text(f"[DEFAULT]\n{''.join(lines)}")
        settings = {
            "IRONIC_EXTRA_CONF": str(more),
            "PYTHONPATH": str(ROOT / ".ci" / "ironic_service_steps"),
            "IRONIC_DB_URL": postgres.url.replace("postgresql", "postgresql+psycopg2", 1),
            "IRONIC_AUTH": "noauth",
            "IRONIC_DEMO": "1",
            "IRONIC_CLI": "0",
            # A Python with venv first on PATH. One retry, so an unreachable index fails soon.
            "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_RETRIES": "1",
        }
        log, word = directory / "recipe.log", "IRONIC_STEP_LOG="
        url = started([str(made), str(directory)], settings, log, "IRONIC_URL=")
        steps = [line.removeprefix(word) for line in log.read_text().splitlines() if line.startswith(word)]
        python = directory / "venv" / "bin" / "python"
        log = directory / "ironic.log"
        yield {"IRONIC_URL": url, "IRONIC_STEP_LOG": steps[0], "IRONIC_PYTHON": str(python), "IRONIC_LOG": str(log)}


if __name__ == "__main__":
    sys.exit(step(ironic, TESTS, first=[sys.executable, ".ci/record_ironic.py", "--check"]))
