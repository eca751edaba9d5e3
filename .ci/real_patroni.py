"""The step "real Patroni" of .ci/run: Patroni from its wheel, with an etcd from the recipe beside this checkout.

Its etcd is stopped at the end; the tests start and stop the servers. Further arguments are pytest's.
"""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import Environment, LeftOut, free_port, recipe, run, started, step

WHEELS = ["patroni[etcd3]==4.1.5", "psycopg2-binary"]
TESTS = ["-n", "2", "-rP", "-m", "crash", "tests/crash/test_patroni.py"]
LONGEST_INSTALL = 300.0


@contextmanager
def patroni() -> Iterator[Environment]:
    """Install Patroni apart from our environment, and start an etcd. Raises LeftOut if either is not available."""
    made = recipe("run_etcd.sh")
    with tempfile.TemporaryDirectory(prefix="shipyard-real-patroni-") as directory:
        # Patroni runs under the account of Postgres.
        Path(directory).chmod(0o755)
        settings = {"ETCD_DIR": f"{directory}/etcd", "ETCD_PORT": str(free_port())}
        environment = Path(directory) / "venv"
        venv.create(environment, with_pip=True)
        with (Path(directory) / "pip.log").open("w") as log:
            pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", *WHEELS]
            if run(pip, {}, output=log, seconds=LONGEST_INSTALL):
                raise LeftOut(f"pip cannot install {WHEELS[0]}")
        try:
            log_file = Path(directory) / "recipe.log"
            endpoint = started([str(made), "start", "1"], settings, log_file, "export ETCDCTL_ENDPOINTS=")
            certificates = Path(directory) / "etcd" / "certs"
            for path in (certificates.parent, certificates, certificates / "client.key"):
                path.chmod(0o755 if path.is_dir() else 0o644)
            yield {
                "PATRONI_BIN": str(environment / "bin"),
                "PATRONI_ETCD": endpoint.removeprefix("https://"),
                "PATRONI_ETCD_CERTS": str(certificates),
            }
        finally:
            subprocess.run([str(made), "stop"], check=False, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(step(patroni, [*TESTS, *sys.argv[1:]]))
