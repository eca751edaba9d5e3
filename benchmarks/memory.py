"""The memory of an idle service: ``python benchmarks/memory.py``.

Runs the embedded stack with two API processes and one worker, and prints what they hold (PSS: shared pages count once)
after the start and after three deployments. Postgres and the simulators are not counted. Exits 1 above 250 MB.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from shipyard_api.cli import stack

SITE = Path(__file__).parent.parent / "docs" / "examples" / "small-site.yaml"
SPEED = 100.0
DEPLOYMENTS = 3
MOST_MEGABYTES = 250.0


def send(ready: Mapping[str, Any], method: str, path: str, body: bytes = b"", kind: str = "application/json") -> Any:
    headers = {"X-Auth-Token": ready["token"], "Content-Type": kind}
    answer = requests.request(method, f"{ready['url']}/api/v1.0/{path}", data=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
    return answer.json()


def deploy(ready: Mapping[str, Any]) -> None:
    """Deploy the committed site and wait for the end."""
    action = send(ready, "POST", "actions", b'{"name": "deploy_site"}')["id"]
    while send(ready, "GET", f"actions/{action}")["action_lifecycle"] not in ("Complete", "Failed"):
        time.sleep(1)


def memory(parent: int) -> Counter[str]:
    """Return the PSS of API and worker processes below ``parent``, in MB (Linux)."""
    found: Counter[str] = Counter()
    for pid in (int(one.name) for one in Path("/proc").glob("[0-9]*")):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            name = "API" if b"gunicorn" in command else "worker" if b"shipyard_api.programs.worker" in command else ""
            if name and _is_below(pid, parent):
                found[name] += int(re.findall(r"Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())[0]) // 1024
        except FileNotFoundError:
            continue  # it has ended meanwhile
    return found


def _is_below(pid: int, parent: int) -> bool:
    while pid > 1 and pid != parent:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == parent


def main() -> int:
    with stack.running(Path("calm"), SPEED, "drydock", SITE) as ready:
        send(ready, "GET", "actions")
        before = memory(ready["pid"])
        send(ready, "POST", "configdocs/site", SITE.read_bytes(), "application/x-yaml")
        send(ready, "POST", "commitconfigdocs")
        for _ in range(DEPLOYMENTS):
            deploy(ready)
        after = memory(ready["pid"])
    for what, held in (("after the start", before), (f"after {DEPLOYMENTS} deployments", after)):
        print(f"{what:<22} API {held['API']:4.0f} MB, worker {held['worker']:4.0f} MB, together {held.total():4.0f} MB")
    return int(after.total() > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
