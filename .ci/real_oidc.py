"""The step "real OpenID provider" of .ci/run: oidc-provider of npm, and the extra oidc, before our API.

The extra is installed beside the environment, not into it: neither the demo nor ``./dev test`` has it. So are keyring
and SecretStorage; GNOME's keyring is installed here if it is missing and we are root on Debian or Ubuntu. Without them,
or without Chromium, the tests of these are skipped, and say why.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from real_peer import LONGEST_INSTALLATION, ROOT, Environment, LeftOut, installed_beside, run, step

TESTS = ["-n", "0", "tests/unit/adapters/oidc", "tests/integration/test_real_oidc.py", "tests/page/test_sign_in.py"]
KEYRING = ["keyring==25.7.0", "SecretStorage==3.5.0"]
INSTALL = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "gnome-keyring", "dbus-daemon"]


@contextmanager
def provider() -> Iterator[Environment]:
    """Install all and yield the environment for the tests. Raises LeftOut if provider or extra are not available."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        raise LeftOut("node and npm are missing")
    with tempfile.TemporaryDirectory(prefix="shipyard-provider-") as made, installed_beside("oidc") as packages:
        served = Path(made) / "provider"
        shutil.copytree(ROOT / ".ci" / "oidc_provider", served)
        command = [npm, "ci", "--no-audit", "--no-fund", "--prefix", str(served)]
        if run(command, {}, seconds=LONGEST_INSTALLATION):
            raise LeftOut("oidc-provider cannot be installed")
        yield {"OIDC_PROVIDER": str(served), **packages, **keyring(Path(made) / "keyring")}


def keyring(place: Path) -> Environment:
    """Install what finds a keyring, and GNOME's; return where, or nothing."""
    if not shutil.which("gnome-keyring-daemon") and os.geteuid() == 0 and shutil.which("apt-get"):
        with suppress(LeftOut):
            run(INSTALL, {"DEBIAN_FRONTEND": "noninteractive"}, seconds=LONGEST_INSTALLATION)
    pip = [str(ROOT / ".venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
    with suppress(LeftOut):
        if not run([*pip, "install", "--quiet", "--target", str(place), *KEYRING], {}, seconds=LONGEST_INSTALLATION):
            return {"KEYRING_PACKAGES": str(place)}
    return {}


if __name__ == "__main__":
    sys.exit(step(provider, TESTS))
