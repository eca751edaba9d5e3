"""The step "real OpenID provider" of .ci/run: oidc-provider of npm, and the extra oidc, before our API.

The extra is installed beside the environment, not into it: neither the demo nor ``./dev test`` has it.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import LONGEST_INSTALLATION, ROOT, Environment, LeftOut, run, step

TESTS = ["-n", "0", "tests/unit/adapters/oidc", "tests/integration/test_real_oidc.py"]


@contextmanager
def provider() -> Iterator[Environment]:
    """Install both and yield the environment for the tests. Raises LeftOut if they are not available."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        raise LeftOut("node and npm are missing")
    with tempfile.TemporaryDirectory(prefix="shipyard-oidc-") as made:
        served, packages = Path(made) / "provider", Path(made) / "packages"
        shutil.copytree(ROOT / ".ci" / "oidc_provider", served)
        pip = [str(ROOT / ".venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
        lock = ["--no-deps", "--require-hashes", "-r", str(ROOT / "requirements-oidc.lock")]
        for what, command in (
            ("oidc-provider", [npm, "ci", "--no-audit", "--no-fund", "--prefix", str(served)]),
            ("the extra oidc", [*pip, "install", "--quiet", "--target", str(packages), *lock]),
        ):
            if run(command, {}, seconds=LONGEST_INSTALLATION):
                raise LeftOut(f"{what} cannot be installed")
        paths = filter(None, (str(packages), os.environ.get("PYTHONPATH")))
        yield {"OIDC_PROVIDER": str(served), "PYTHONPATH": os.pathsep.join(paths)}


if __name__ == "__main__":
    sys.exit(step(provider, TESTS))
