"""The step "real etcd" of .ci/run: real etcd clusters from the recipe beside this checkout, and our tests against them.

They have their own directory and are stopped at the end. The tests start a new cluster for each case.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import Environment, recipe, started, step

# In sequence: all clusters use the same ports.
TESTS = ["-n", "0", "tests/contract/test_etcd_port.py", "-k", "real-etcd"]


@contextmanager
def etcd() -> Iterator[Environment]:
    """Start a cluster once, which shows whether etcd is available. Raises LeftOut if it is not."""
    made = recipe("run_etcd.sh")
    with tempfile.TemporaryDirectory(prefix="shipyard-real-etcd-") as directory:
        settings = {"ETCD_DIR": directory}
        try:
            started([str(made), "start", "1"], settings, Path(directory) / "recipe.log", "export ETCDCTL_ENDPOINTS=")
            yield settings
        finally:
            subprocess.run([str(made), "stop"], check=False, env={**os.environ, **settings}, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(step(etcd, TESTS))
