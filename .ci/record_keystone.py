"""Record the exchanges that the simulated Keystone is held to, or check them with ``--check`` (recording.py).

``KEYSTONE_URL`` names the Keystone (../shared/recipes/run_keystone.sh with KEYSTONE_TOKEN_TTL=15, since a story waits
for the end of a token).
"""

import json
import os
import sys
from typing import Any

from recording import record, sent, until

from shipyard_simulators.tests.recorded import Answer, Step
from tests.contract.keystone_stories import RECORDINGS, KeystonePlayer

URL = os.environ["KEYSTONE_URL"].rstrip("/").removesuffix("/v3")
TOKENS = "/v3/auth/tokens"
ACCOUNT = ("shipyard", "shipyard-pw")  # as the stories say it; the other users of the recipe share a password


def send(method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
    """Send a request."""
    content = None if body is None else json.dumps(body).encode()
    return sent(URL + path, method, content, {"Content-Type": "application/json", **headers})


def token(user: str, password: str, project: str | None) -> str:
    """Return a new token."""
    domain = {"id": "default"}
    identity = {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}}
    scope = {"project": {"name": project, "domain": domain}} if project else "unscoped"
    answer = send("POST", TOKENS, {"auth": {"identity": identity, "scope": scope}}, {})
    if answer.status != 201:
        raise AssertionError(answer)
    return answer.headers["X-Subject-Token"]


def give(step: Step) -> str:
    """Return a new token of a user of the recipe, who has the roles that the story says."""
    user = step["token"]
    return token(user, dict([ACCOUNT]).get(user, "demo-pw"), step.get("project"))


def of_admin(method: str, subject: str) -> int:
    """Ask about a token, or revoke it, and return the status. Tokens of the admin end soon as well."""
    admin = token("admin", os.environ.get("KEYSTONE_PASSWORD", "admin-pw"), "admin")
    return send(method, TOKENS, None, {"X-Auth-Token": admin, "X-Subject-Token": subject}).status


def revoke(subject: str) -> None:
    """Revoke a token."""
    of_admin("DELETE", subject)


def end(subject: str) -> None:
    """Wait until a token is past its end."""
    until(lambda: of_admin("GET", subject) == 404)


if __name__ == "__main__":
    # Nothing is left of a story but tokens.
    sys.exit(record(sys.argv[1:], RECORDINGS, KeystonePlayer(URL, send, give, revoke, end), lambda: None))
