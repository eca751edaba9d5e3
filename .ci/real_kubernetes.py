"""The step "real Kubernetes" of .ci/run: a real API server with its controllers from the recipe, and our tests on it.

First it plays the recorded exchanges that the simulator is held to: they must still be what it answers.
Its programs are built once and kept in the cache of this account; everything else has its own directory and free
ports, and is stopped at the end. The argument is the seconds that a build may take.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from real_peer import Environment, LeftOut, free_port, recipe, run, started, step, stop

TESTS = [
    *("-n", "0", "tests/contract/test_cluster_port.py", "tests/contract/test_cluster_nodes_port.py"),
    *("tests/packaging/test_chart_on_kubernetes.py", "-k", "real or chart_is_installed"),
]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shipyard-kubernetes"
USUAL_BUILD = 480.0  # seconds on 2 processors


@contextmanager
def kubernetes(left: float) -> Iterator[Environment]:
    """Run an API server and yield its environment for the tests. Raises LeftOut if it is not available."""
    made = recipe("run_kube_apiserver.sh")
    _build(made, left)
    with ExitStack() as undo:
        directory = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="shipyard-real-kubernetes-"))).resolve()
        (directory / "bin").symlink_to(CACHE / "bin")
        port = free_port(1, 2, 14)
        settings = {"KUBE_DIR": str(directory), "KUBE_PORT": str(port), "ETCD_PORT": str(port + 1)}
        undo.callback(stop, [str(made), "stop"], settings, directory / "etcd.pid", os.kill)
        file = started([str(made)], settings, directory / "recipe.log", "export KUBECONFIG=")
        yield {"KUBECONFIG_FOR_TESTS": file}


def _build(made: Path, left: float) -> None:
    """Build the programs unless they are there. Raises LeftOut if that takes too long or fails."""
    if (CACHE / "bin" / "built").is_file():
        return
    by_hand = f"run KUBE_DIR={CACHE} {made.name} build once"
    if left < USUAL_BUILD:
        raise LeftOut(f"its programs are not built, and there is no time left for that: {by_hand}")
    if run([str(made), "build"], {"KUBE_DIR": str(CACHE)}, seconds=left):
        raise LeftOut(f"its programs cannot be built here: {by_hand}")


if __name__ == "__main__":
    left = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    sys.exit(step(partial(kubernetes, left), TESTS, first=[sys.executable, ".ci/record_kubernetes.py", "--check"]))
