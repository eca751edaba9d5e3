"""The real Ironic that the environment names, asked past our adapter, and how our adapter is let in.

``IRONIC_URL`` names it, ``IRONIC_STEP_LOG`` its file with a line for each step that ran, ``IRONIC_LOG`` its log. It
wants no credentials, or ``IRONIC_USER`` and ``IRONIC_PASSWORD`` by http_basic, or tokens of the Keystone that
``KEYSTONE_URL`` names, whose user admin (``KEYSTONE_PASSWORD``) has a role on the whole system. The recipes
run_ironic.sh and run_keystone.sh start such services.
"""

import base64
import json
import os
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.error import HTTPError

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.keystone import KeystoneOptions, Scope
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.keystone.tokens import Tokens
from tests.waiting import PATIENCE

URL = os.environ.get("IRONIC_URL", "").rstrip("/")
STEP_LOG = os.environ.get("IRONIC_STEP_LOG", "")
LOG = os.environ.get("IRONIC_LOG", "")
KEYSTONE_URL = os.environ.get("KEYSTONE_URL", "").rstrip("/")
ADMIN, ADMIN_PASSWORD = "admin", os.environ.get("KEYSTONE_PASSWORD", "admin-pw")
BASIC = (os.environ.get("IRONIC_USER", ""), os.environ.get("IRONIC_PASSWORD", ""))
VERSION = {"X-OpenStack-Ironic-API-Version": "1.115"}


@cache
def admin_tokens() -> Tokens:
    """The tokens of the user who may do everything."""
    options = KeystoneOptions(auth_url=KEYSTONE_URL, user=ADMIN, password=ADMIN_PASSWORD, scope=Scope.SYSTEM)
    return Tokens(KeystoneClient(options))


def client(**options: Any) -> IronicClient:
    """An adapter's client that is let in."""
    if KEYSTONE_URL:
        options |= {"token": admin_tokens().token, "renew_token": admin_tokens().renew}
    elif BASIC[0]:
        options["basic"] = BASIC
    return IronicClient(URL, **options)


def settings() -> dict[str, str]:
    """The environment of a Shipyard that is let in."""
    told = {"SHIPYARD_PROVISIONER_KIND": "ironic", "SHIPYARD_IRONIC_URL": URL}
    if KEYSTONE_URL:
        keystone = {"AUTH_URL": KEYSTONE_URL, "USER": ADMIN, "PASSWORD": ADMIN_PASSWORD, "SCOPE": "system"}
        keystone["CONNECT_TIMEOUT_SECONDS"] = "0.05"  # of the little that a test's engine leaves
        told["SHIPYARD_IRONIC_AUTH"] = "keystone"
        told |= {f"SHIPYARD_KEYSTONE_{name}": value for name, value in keystone.items()}
    elif BASIC[0]:
        told |= {
            "SHIPYARD_IRONIC_AUTH": "basic",
            "SHIPYARD_IRONIC_USER": BASIC[0],
            "SHIPYARD_IRONIC_PASSWORD": BASIC[1],
        }
    return told


def call(method: str, path: str, body: object = None) -> Any:
    """Ask Ironic itself, past the adapter."""
    content = None if body is None else json.dumps(body).encode()
    headers = {**VERSION, "Content-Type": "application/json", **_credentials()}
    request = urllib.request.Request(URL + path, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def _credentials() -> dict[str, str]:
    if KEYSTONE_URL:
        return {"X-Auth-Token": admin_tokens().token()}
    if BASIC[0]:
        return {"Authorization": f"Basic {base64.b64encode(':'.join(BASIC).encode()).decode()}"}
    return {}


def remove(names: Iterable[str]) -> None:
    """Take nodes out of Ironic, whatever state a test left them in."""
    for name in names:
        with suppress(HTTPError):
            call("PUT", f"/v1/nodes/{name}/maintenance", {"reason": "the test is over"})
            call("DELETE", f"/v1/nodes/{name}")
