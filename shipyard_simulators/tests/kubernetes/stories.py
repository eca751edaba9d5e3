"""Stories of the Kubernetes API, for a real API server and a simulated one.

``patch``: the kind of a patch, unless it is a merge; ``type``: another Content-Type; ``raw``: a body that is no JSON.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shipyard_simulators.tests.recorded import Answer, Step

RECORDINGS = Path(__file__).parent / "recordings"


class KubernetesPlayer:
    """Plays stories to an API server."""

    unordered = ()
    hidden = MappingProxyType(
        {
            "version": re.compile(r'(?<="resourceVersion": ")[2-9]\d*|(?<="resourceVersion": ")1\d+'),
            "continue": re.compile(r'(?<="continue": ")[^"]+'),
        }
    )

    def __init__(self, url: str, send: Callable[[str, str, bytes | None, str], Answer]) -> None:
        self.url, self._send = url, send

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        content = None if body is None else json.dumps(body).encode()
        usual = f"application/{step.get('patch', 'merge')}-patch+json" if method == "PATCH" else "application/json"
        return self._send(method, path, step["raw"].encode() if "raw" in step else content, step.get("type", usual))

    def act(self, step: Step) -> Any:
        """There are no other steps."""
        raise NotImplementedError(step)

    def told(self, _status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded."""
        return {"body": body}
