"""The step "dashboard in Chromium" of .ci/run: the page in a real browser, with axe-core's rules of accessibility.

Chromium is installed here if it is missing and we are root on Debian or Ubuntu; axe-core comes from npm's registry,
with its version and digest fixed. Screenshots are left in .build/page.
"""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from real_peer import LEFT_OUT, run

AXE = "axe-core@4.14.1"
AXE_SHA512 = (
    "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b73"
    "4f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5"
)
BUILD = Path(".build", "page")
INSTALL = ["apt-get", "-qq", "install", "-y", "--no-install-recommends"]


def has_chromium() -> bool:
    """Return whether there is a Chromium."""
    return any(shutil.which(name) for name in ("chromium", "chromium-browser"))


def fetch_axe() -> None:
    """Put axe-core into the build folder; the tests of accessibility are skipped without it."""
    wanted, npm = BUILD / "axe-core" / "axe.min.js", shutil.which("npm")
    if wanted.is_file() or npm is None:
        return
    wanted.parent.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", "--silent", AXE]
    packed = subprocess.run(command, cwd=wanted.parent, capture_output=True, text=True, check=False)
    archives = list(wanted.parent.glob("axe-core-*.tgz"))
    if packed.returncode or not archives:
        sys.stdout.write(f"axe-core could not be fetched: {packed.stderr.strip()}\n")
        return
    content = archives[0].read_bytes()
    if hashlib.sha512(content).hexdigest() != AXE_SHA512:
        raise SystemExit(f"{archives[0]} is not the {AXE} that was reviewed")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = archive.extractfile("package/axe.min.js")
        if found is not None:
            wanted.write_bytes(found.read())


def main() -> int:
    """Install what is missing, then run the tests; return the exit code."""
    # A Node.js from elsewhere brings npm, and excludes the package.
    packages = ["chromium", "fonts-dejavu-core", *(() if shutil.which("npm") else ("npm",))]
    # Twice: a mirror that is just being updated has packages that do not fit together.
    for command in (["apt-get", "-qq", "update"], [*INSTALL, *packages]) * 2:
        if not has_chromium() and os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(command, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if not has_chromium():
        sys.stdout.write("left out: chromium is missing, and could not be installed\n")
        return LEFT_OUT
    fetch_axe()
    return run(["./dev", "test", "-n", "0", "tests/page"], {})


if __name__ == "__main__":
    sys.exit(main())
