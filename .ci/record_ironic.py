"""Record the exchanges that the Ironic simulator is held to, or check that they still are what a real Ironic answers.

``IRONIC_URL`` and ``IRONIC_STEP_LOG`` name the Ironic (../shared/recipes/run_ironic.sh), which has no nodes. Without
``--check`` the answers replace those in the files; the files to play may be named.
"""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from recording import record, sent, until

from shipyard_simulators.tests.ironic.stories import RECORDINGS, IronicPlayer, json_of
from shipyard_simulators.tests.recorded import Answer

URL = os.environ["IRONIC_URL"].rstrip("/")
THINGS = ("nodes", "deploy_templates", "runbooks")


def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
    """Send a request."""
    content = None if body is None else json.dumps(body).encode()
    return sent(URL + path, method, content, {"Content-Type": "application/json", **headers})


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


ironic = IronicPlayer(URL, send, until, ran)

if __name__ == "__main__":
    sys.exit(record(sys.argv[1:], RECORDINGS, ironic, clear))
