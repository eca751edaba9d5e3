"""The step "image" of .ci/run: build the images, look at them, and play compose.yaml, where a container engine runs.

Without an engine, or without the base images, the step is left out; tests/packaging checks what needs neither.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from real_peer import LEFT_OUT

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "examples" / "small-site.yaml"
IMAGE = "shipyard-ci"
PROJECT = ("compose", "--project-name", f"shipyard-ci-{os.getpid()}")
LONGEST_BUILD, LONGEST_START = 900.0, 120.0  # seconds
DOCKER = shutil.which("docker") or ""
TASKS = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9001/simulator/tasks').read().decode())"


def docker(*words: str, seconds: float = 300.0) -> str:
    """Run docker, show its errors, and return its output. Raises CalledProcessError."""
    return subprocess.run(
        [DOCKER, *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=seconds
    ).stdout


def timed(*words: str, seconds: float = LONGEST_BUILD) -> str:
    """Run docker and print the time that it takes."""
    began = time.monotonic()
    output = docker(*words, seconds=seconds)
    sys.stdout.write(f"docker {' '.join(words)}: {time.monotonic() - began:.0f} s\n")
    return output


def expect(what: str, actual: object, expected: object) -> None:
    """Raise SystemExit with a sentence unless both are equal."""
    if actual != expected:
        raise SystemExit(f"{what}: {actual!r} instead of {expected!r}")


def missing() -> str | None:
    """Return why images cannot be built and played here, or None. Pulls base images that are not here."""
    if not DOCKER:
        return "docker is missing"
    asked = subprocess.run([DOCKER, "version", "--format", "{{.Server.Version}}"], capture_output=True, check=False)
    if asked.returncode:
        return "no container engine answers"
    if subprocess.run([DOCKER, "compose", "version"], capture_output=True, check=False).returncode:
        return "docker has no compose plug-in"
    for image in base_images():
        if subprocess.run([DOCKER, "image", "inspect", image], capture_output=True, check=False).returncode == 0:
            continue
        try:
            docker("pull", "--quiet", image)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return f"{image} is not here and cannot be pulled"
    return None


def base_images() -> list[str]:
    """Return the images of others, by the names that Dockerfile and compose.yaml have for them."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    pulled = [service["image"] for service in services if "build" not in service]
    return re.findall(r"^ARG BASE=(.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE) + pulled


def look_at_image() -> None:
    """Check what the image says of itself, and that its program runs without root and without a writable system."""
    config = inspected(IMAGE)["Config"]
    expect("user of the image", config["User"], "10001:10001")
    expect("title of the image", config["Labels"]["org.opencontainers.image.title"], "Shipyard")
    read_only = ("run", "--rm", "--read-only", "--tmpfs", "/tmp")  # noqa: S108
    docker(*read_only, IMAGE, "--version")
    expect("account in the container", docker(*read_only, "--entrypoint", "id", IMAGE, "-u").strip(), "10001")


def serve_beside(api: str) -> None:
    """Serve from the image itself on the database of the demo's API, until the HEALTHCHECK has a result.

    The demo's services run from the image with the simulators.
    """
    demo = inspected(api)
    (network,) = demo["NetworkSettings"]["Networks"]
    environment = [word for pair in demo["Config"]["Env"] for word in ("--env", pair)]
    options = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--network", network)  # noqa: S108
    container = docker("run", "--detach", *options, "--volumes-from", api, *environment, IMAGE).strip()
    try:
        deadline = time.monotonic() + LONGEST_START
        while (health := inspected(container)["State"]["Health"]["Status"]) == "starting":
            if time.monotonic() > deadline:
                break
            time.sleep(1)
        if health != "healthy":
            docker("logs", container)  # its log is on the error output
        expect("HEALTHCHECK of the image", health, "healthy")
    finally:
        docker("rm", "--force", container)


def inspected(name: str) -> dict[str, Any]:
    """Return what the engine knows of an image or a container."""
    return dict(json.loads(docker("inspect", name))[0])


@contextmanager
def demo_services() -> Iterator[None]:
    """Play compose.yaml until all services are healthy; remove it with its data at the end."""
    try:
        timed(*PROJECT, "up", "--build", "--wait")
        yield
    finally:
        docker(*PROJECT, "--profile", "demo", "down", "--volumes")


def deployed_nodes() -> list[str]:
    """Return the nodes that the simulated Drydock deployed, by its own record, one for each time."""
    tasks = json.loads(docker(*PROJECT, "exec", "-T", "drydock", "python", "-c", TASKS))
    return sorted(node for task in tasks if task["action"] == "deploy_nodes" for node in task["successes"])


def designed_nodes() -> list[str]:
    """Return the nodes of the demo's site."""
    documents = yaml.safe_load_all(SITE.read_text(encoding="utf-8"))
    return sorted(
        document["metadata"]["name"] for document in documents if document["schema"] == "drydock/BaremetalNode/v1"
    )


def main() -> int:
    """Build and play; return the exit code."""
    if reason := missing():
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT
    timed("build", "--tag", IMAGE, ".")
    look_at_image()
    with demo_services():
        serve_beside(docker(*PROJECT, "ps", "--quiet", "api").strip())
        report = timed(*PROJECT, "run", "--rm", "demo")
        expect("a complete action in the demo's report", "action is Complete" in report, True)
        expect("nodes that Drydock deployed", deployed_nodes(), designed_nodes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
