"""The step "real OpenID provider" of .ci/run: oidc-provider of npm, and the extra oidc, before our API.

The extra is installed beside the environment, not into it: neither the demo nor ``./dev test`` has it.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_peer import LONGEST_INSTALLATION, ROOT, Environment, LeftOut, installed_beside, run, step

TESTS = ["-n", "0", "tests/unit/adapters/oidc", "tests/integration/test_real_oidc.py"]


@contextmanager
def provider() -> Iterator[Environment]:
    """Install both and yield the environment for the tests. Raises LeftOut if they are not available."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        raise LeftOut("node and npm are missing")
    with tempfile.TemporaryDirectory(prefix="shipyard-provider-") as made, installed_beside("oidc") as packages:
        served = Path(made) / "provider"
        shutil.copytree(ROOT / ".ci" / "oidc_provider", served)
        command = [npm, "ci", "--no-audit", "--no-fund", "--prefix", str(served)]
        if run(command, {}, seconds=LONGEST_INSTALLATION):
            raise LeftOut("oidc-provider cannot be installed")
        yield {"OIDC_PROVIDER": str(served), **packages}


if __name__ == "__main__":
    sys.exit(step(provider, TESTS))
