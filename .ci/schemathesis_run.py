"""Run stock schemathesis over HTTP against an API with a committed design and a deployed site, in less than 4 minutes.

Further arguments are those of `schemathesis run`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
SITE = HERE.parent / "shipyard_simulators" / "sites" / "five-groups.yaml"
LONGEST_START, LONGEST_RUN = 120.0, 150  # seconds
LEAST = 2000  # test cases


def main() -> int:
    """Return the exit code of schemathesis, or 1 if it tried too little."""
    with tempfile.TemporaryDirectory(prefix="shipyard-schemathesis-") as folder:
        # Started as root, Postgres runs under another account.
        Path(folder).chmod(0o755)
        report = Path(folder, "report.json")
        with _served(Path(folder)) as environment:
            command = [
                *(str(PROGRAMS / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml")),
                *("run", f"{environment['SHIPYARD_URL']}/openapi.json", "--max-time", str(LONGEST_RUN)),
                *("--report", "json", "--report-json-path", str(report), *sys.argv[1:]),
            ]
            hooks = {"SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")}
            code = subprocess.run(command, env=environment | hooks, cwd=folder, check=False).returncode
        tried = json.loads(report.read_text(encoding="utf-8"))["test_cases"]["generated"] if report.is_file() else 0
    if tried < LEAST:
        sys.stdout.write(f"only {tried} test cases in {LONGEST_RUN} s; at least {LEAST} are wanted\n")
    return code or int(tried < LEAST)


@contextmanager
def _served(folder: Path) -> Iterator[dict[str, str]]:
    """Serve a site that has been deployed; give the environment of its callers."""
    ready = folder / "ready.json"
    up = ["up", "--data-dir", str(folder / "data"), "--ready-file", str(ready), "--speed", "1000"]
    settings = {**os.environ, "SHIPYARD_API_WRITES_PER_MINUTE": "0"}
    stack = subprocess.Popen([sys.executable, "-m", "shipyard_api.stack", *up], env=settings)
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
