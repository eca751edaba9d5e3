"""Stories of Keystone's API, for a real Keystone and the simulated one.

A request shows the tokens of a ``caller`` (X-Auth-Token) and a ``subject`` (X-Subject-Token), by the names of their
users; what names no user is shown as it is. ``user``: whose token is issued. Of a catalog only the identity service is
recorded: the rest depends on the site. The other steps:

- ``token``: a new token of this user with these ``roles`` in the ``project``, or for no project
- ``revoked``, ``ended``: the user's token is revoked, or is past its end
"""

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shipyard_simulators.tests.recorded import Answer, Step

RECORDINGS = Path(__file__).parent / "keystone_recordings"


class KeystonePlayer:
    """Plays stories to a Keystone. ``url`` is without ``/v3``; ``give`` returns the token of a step."""

    unordered = ()
    hidden = MappingProxyType(
        {
            "token": re.compile(r'(?<=")gAAAA[\w=-]{32,}(?=")'),
            "id": re.compile(r'(?<=")[0-9a-f]{32}(?=")'),
            "audit": re.compile(r'(?<="audit_ids": \[")[\w-]{22}(?=")'),
        }
    )

    def __init__(
        self,
        url: str,
        send: Callable[[str, str, Any, dict[str, str]], Answer],
        give: Callable[[Step], str],
        revoke: Callable[[str], object],
        end: Callable[[str], object],
    ) -> None:
        self.url = url
        self._send, self._give, self._revoke, self._end = send, give, revoke, end
        self._tokens: dict[str, str] = {}

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        shown = {"X-Auth-Token": step.get("caller"), "X-Subject-Token": step.get("subject")}
        headers = {header: self._tokens.get(name, name) for header, name in shown.items() if name is not None}
        answer = self._send(method, path, body, headers)
        if "user" in step:
            self._tokens[step["user"]] = answer.headers["X-Subject-Token"]
        return Answer(answer.status, answer.headers, json.dumps(_settled(json.loads(answer.text)), sort_keys=True))

    def act(self, step: Step) -> None:
        """Carry out a step that is no request."""
        if "token" in step:
            self._tokens[step["token"]] = self._give(step)
        elif "revoked" in step:
            self._revoke(self._tokens[step["revoked"]])
        else:
            self._end(self._tokens[step["ended"]])

    def told(self, status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded: ``fault`` is the text of an error in the usual form."""
        text = body.get("error", {}).get("message")
        usual = {"error": {"code": status, "message": text, "title": HTTPStatus(status).phrase}}
        return {"fault": text} if body == usual else {"body": body}


def _settled(body: Any) -> Any:
    """Sort the lists that have no order, and leave out the other services of the catalog."""
    token = body.get("token", {})
    if "roles" in token:
        token["roles"].sort(key=lambda role: role["name"])
    if "catalog" in token:
        token["catalog"] = [service for service in token["catalog"] if service["type"] == "identity"]
        token["catalog"][0]["endpoints"].sort(key=lambda endpoint: endpoint["interface"])
    return body
