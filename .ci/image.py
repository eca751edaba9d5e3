"""The step "image" of .ci/run: build the images, look at them, and play compose.yaml, where a container engine runs.

Without an engine the step is left out; tests/packaging checks what can be checked without one.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from real_peer import LEFT_OUT

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "shipyard-ci"
BUILD_SECONDS = 900.0
DOCKER = shutil.which("docker") or ""


def docker(*words: str, seconds: float = 300.0) -> str:
    """Run docker, show its errors, and return its output. Raises CalledProcessError."""
    return subprocess.run(
        [DOCKER, *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=seconds
    ).stdout


def missing() -> str | None:
    """Return why images cannot be built here, or None."""
    if not DOCKER:
        return "docker is missing"
    asked = subprocess.run([DOCKER, "version", "--format", "{{.Server.Version}}"], capture_output=True, check=False)
    if asked.returncode:
        return "no container engine answers"
    if subprocess.run([DOCKER, "compose", "version"], capture_output=True, check=False).returncode:
        return "docker has no compose plug-in"
    return None


def main() -> int:
    """Build and play; return the exit code."""
    if reason := missing():
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    docker("build", "--tag", IMAGE, ".", seconds=BUILD_SECONDS)
    config = json.loads(docker("image", "inspect", IMAGE))[0]["Config"]
    assert config["User"] == "10001:10001", config  # noqa: S101
    assert config["Labels"]["org.opencontainers.image.title"] == "Shipyard", config  # noqa: S101
    docker("run", "--rm", "--read-only", "--tmpfs", "/tmp", IMAGE, "--version")  # noqa: S108
    project = ("compose", "--project-name", f"shipyard-ci-{os.getpid()}")
    try:
        docker(*project, "up", "--build", "--wait", seconds=BUILD_SECONDS)
        report = docker(*project, "run", "--rm", "demo")
        assert "is success" in report, report  # noqa: S101
    finally:
        docker(*project, "--profile", "demo", "down", "--volumes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
