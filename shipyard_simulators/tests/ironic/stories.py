"""Stories of Ironic's API: the steps beside requests, for a real Ironic and a simulated one.

A request has a ``version`` of the API unless that is the newest. The other steps:

- ``node``: enrols a node, ``with`` these fields, and takes it to the state that ``at`` names
- ``until``: waits until a node ``is`` in a state, or its power
- ``ran``: the deploy, clean and service steps of a node, in the order in which they ran
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shipyard_simulators.tests.recorded import Answer, Step

RECORDINGS = Path(__file__).parent / "recordings"
NEWEST = "1.115"
_VERBS = {
    "enroll": "",
    "manageable": "manage",
    "inspect failed": "manage inspect",
    "available": "manage provide",
    "clean failed": "manage provide",
    "active": "manage provide active",
    "deploy failed": "manage provide active",
    "error": "manage provide active deleted",
}


class IronicPlayer:
    """Plays stories to an Ironic. ``until`` waits for a condition; ``ran`` reads which steps of a node ran."""

    unordered = ("traits",)
    hidden: Mapping[str, re.Pattern[str]] = MappingProxyType({})

    def __init__(
        self,
        url: str,
        send: Callable[[str, str, Any, dict[str, str]], Answer],
        until: Callable[[Callable[[], bool]], object],
        ran: Callable[[str], list[str]],
    ) -> None:
        self.url = url
        self._send, self._until, self._ran = send, until, ran

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = NEWEST) -> Answer:
        """Send a request."""
        return self._send(method, path, body, {} if version is None else {"X-OpenStack-Ironic-API-Version": version})

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        return self.call(method, path, body, version=step.get("version", NEWEST))

    def act(self, step: Step) -> Any:
        """Carry out a step that is no request."""
        if "ran" in step:
            return self._ran(step["ran"])
        if "until" in step:
            self.wait(step["until"], step["is"])
            return None
        self._take(step["node"], step.get("at", "enroll"), step.get("with", {}))
        return None

    def told(self, status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded: ``fault`` is the text of an error of a handler, which is JSON in JSON."""
        error = json.loads(body["error_message"])
        usual = {"faultcode": "Client" if status < 500 else "Server", "debuginfo": None}
        fault = error.pop("faultstring", None)
        is_usual = fault is not None and (error, set(body)) == (usual, {"error_message"})
        if not is_usual:
            return {"body": body}
        # The rest is how a library prints a schema; a number of a node is one of the database.
        return {"fault": re.sub(r"\bnode \d+(?![\w-])", "node <number>", fault.partition("\n\nFailed validating")[0])}

    def wait(self, name: str, state: str | None = None) -> None:
        """Wait until the node is in the state, or in any that lasts."""

        def arrived() -> bool:
            node = self.node(name)
            if state and state.startswith("power "):
                return (node["power_state"], node["target_power_state"]) == (state, None)
            seen = node["provision_state"]
            lasts = node["target_provision_state"] is None or seen.endswith("failed") or seen == "error"
            return bool(seen == state if state else lasts) and (node["reservation"] is None or seen.endswith("ing"))

        self._until(arrived)

    def node(self, name: str) -> Any:
        """Return a node, as it is shown."""
        return json_of(self.call("GET", f"/v1/nodes/{name}"), 200)

    def _take(self, name: str, state: str, fields: dict[str, Any]) -> None:
        json_of(self.call("POST", "/v1/nodes", {"driver": "fake-hardware", "name": name, **fields}), 201)
        for verb in _VERBS[state].split():
            json_of(self.call("PUT", f"/v1/nodes/{name}/states/provision", {"target": verb}), 202)
            self.wait(name)
        assert self.node(name)["provision_state"] == state, self.node(name)


def json_of(answer: Answer, status: int) -> Any:
    """Return the body of an answer that must have this status."""
    assert answer.status == status, answer
    return json.loads(answer.text) if answer.text else None
