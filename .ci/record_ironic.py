"""Record the exchanges that the Ironic simulator is held to, or check that they still are what a real Ironic answers.

``IRONIC_URL`` and ``IRONIC_STEP_LOG`` name the Ironic (../shared/recipes/run_ironic.sh), which has no nodes. Without
``--check`` the answers replace those in the files; the files to play may be named.
"""

import difflib
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from real_peer import ROOT

sys.path.insert(0, str(ROOT))

from shipyard_simulators.tests.ironic.stories import RECORDINGS, IronicPlayer, json_of
from shipyard_simulators.tests.recorded import Answer, answered, stories, written

URL = os.environ["IRONIC_URL"].rstrip("/")
PATIENCE = 60.0  # seconds for one answer or wait
THINGS = ("nodes", "deploy_templates", "runbooks")


def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
    """Send a request over a connection of its own."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(URL + path, content, headers, method=method)  # noqa: S310  # of a test's Ironic
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return Answer(answer.status, answer.headers, answer.read().decode())
    except HTTPError as error:
        return Answer(error.code, error.headers, error.read().decode())


def until(happened: Callable[[], bool]) -> None:
    """Wait until something happens."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError("it never happened")
        time.sleep(0.1)


def ran(name: str) -> list[str]:
    """Return the steps of a node by the log of the demo interfaces."""
    uuid = ironic.node(name)["uuid"]
    lines = map(json.loads, Path(os.environ["IRONIC_STEP_LOG"]).read_text().splitlines())
    return [line["step"] for line in lines if line["node"] == uuid and "." in line["step"]]


def clear() -> None:
    """Remove everything that a story made."""
    for things in THINGS:
        for thing in json_of(ironic.call("GET", f"/v1/{things}"), 200)[things]:
            until(partial(gone, f"/v1/{things}/{thing['uuid']}"))


def gone(path: str) -> bool:
    """Remove a thing; return whether it is gone. A node that is busy is not."""
    if "/nodes/" in path:
        ironic.call("PATCH", path, [{"op": "add", "path": "/protected", "value": False}])
        ironic.call("PUT", f"{path}/maintenance", {"reason": "the story is over"})
    return ironic.call("DELETE", path).status in (204, 404)


def main(arguments: list[str]) -> int:
    """Play the stories; return 1 if a file would change, and is only checked."""
    check = "--check" in arguments
    named = [Path(argument) for argument in arguments if argument != "--check"]
    changed = failed = False
    for file in named or sorted(RECORDINGS.glob("*.yaml")):
        told = []
        for story in stories(file):
            steps = story["steps"]
            clear()
            try:
                told.append({**story, "steps": list(answered(steps, ironic))})
            except (AssertionError, TimeoutError) as error:
                sys.stdout.write(f"{file.name}: {story['story']}: {error!r}\n")
                failed, told = True, [*told, story]
        clear()
        before, after = file.read_text(), written(file, told)
        if check:
            pairs = before.splitlines(), after.splitlines()
            changes = list(difflib.unified_diff(*pairs, "recorded", "now", lineterm="", n=0))
            sys.stdout.write("".join(f"{line}\n" for line in changes))
            changed = changed or bool(changes)
        else:
            file.write_text(after)
    return int(changed or failed)


ironic = IronicPlayer(URL, send, until, ran)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
