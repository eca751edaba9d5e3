"""Run stock schemathesis over HTTP against an API with a committed design and a deployed site, in less than 4 minutes.

After that, for seconds, against the addresses outside of all sites of an API that serves several. Further arguments are
those of `schemathesis run`.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
SITE = HERE.parent / "shipyard_simulators" / "sites" / "five-groups.yaml"
LONGEST_START, LONGEST_RUN, LONGEST_OF_SITES = 120.0, 100, 10  # seconds
LEAST = 2000  # test cases


def main() -> int:
    """Return the exit code of schemathesis, or 1 if it tried too little."""
    with tempfile.TemporaryDirectory(prefix="shipyard-schemathesis-") as folder:
        # Started as root, Postgres runs under another account.
        Path(folder).chmod(0o755)
        report = Path(folder, "report.json")
        with _served(Path(folder)) as environment:
            reported = ("--report", "json", "--report-json-path", str(report))
            hooks = {"SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")}
            code = _run(environment["SHIPYARD_URL"], LONGEST_RUN, folder, environment | hooks, *reported)
        tried = json.loads(report.read_text(encoding="utf-8"))["test_cases"]["generated"] if report.is_file() else 0
        with _sites_served(Path(folder)) as url:
            code = _run(url, LONGEST_OF_SITES, folder, os.environ | {"SHIPYARD_TOKEN": "none"}) or code
    if tried < LEAST:
        sys.stdout.write(f"only {tried} test cases in {LONGEST_RUN} s; at least {LEAST} are wanted\n")
    return code or int(tried < LEAST)


def _run(url: str, seconds: int, folder: str, environment: dict[str, str], *options: str) -> int:
    command = [str(PROGRAMS / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{url}/openapi.json", "--max-time", str(seconds), *options, *sys.argv[1:]]
    return subprocess.run(command, env=environment, cwd=folder, check=False).returncode


@contextmanager
def _sites_served(folder: Path) -> Iterator[str]:
    """Serve two sites, whose database does not answer and whose settings are invalid; give the address of both."""
    sites = folder / "sites"
    sites.mkdir()
    (sites / "oslo.conf").write_text("[database]\nurl = postgresql://nobody@127.0.0.1:9/none\n")
    (sites / "riga.conf").write_text("[nothing]\nat = all\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        bind = f"127.0.0.1:{server.getsockname()[1]}"
    api = subprocess.Popen([str(PROGRAMS / "shipyard"), "serve", "--sites", str(sites), "--bind", bind], cwd=folder)
    try:
        deadline = time.monotonic() + LONGEST_START
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://{bind}/health", timeout=5):  # our own
                break
            if api.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the API of many sites did not start")
            time.sleep(0.1)
        yield f"http://{bind}"
    finally:
        api.terminate()
        api.wait(60)


@contextmanager
def _served(folder: Path) -> Iterator[dict[str, str]]:
    """Serve a site that has been deployed; give the environment of its callers."""
    ready = folder / "ready.json"
    up = ["up", "--data-dir", str(folder / "data"), "--ready-file", str(ready), "--speed", "1000"]
    settings = {**os.environ, "SHIPYARD_API_WRITES_PER_MINUTE": "0"}
    stack = subprocess.Popen([sys.executable, "-m", "shipyard_api.programs.stack", *up], env=settings)
    try:
        deadline = time.monotonic() + LONGEST_START
        while not ready.is_file():
            if stack.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the API did not start")
            time.sleep(0.1)
        found = json.loads(ready.read_text(encoding="utf-8"))
        environment = {**os.environ, "SHIPYARD_URL": found["url"], "SHIPYARD_TOKEN": found["token"]}
        for line in (f"create configdocs design --filename {SITE}", "commit configdocs", "create action deploy_site"):
            command = [str(PROGRAMS / "shipyard"), *line.split()]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        yield environment
    finally:
        stack.terminate()
        stack.wait(60)


if __name__ == "__main__":
    sys.exit(main())
