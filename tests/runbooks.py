"""Runbooks in an Ironic, as its operator writes them."""

from typing import Any

import requests

from tests.waiting import PATIENCE

RUN = ("bios.apply_configuration", "power.reboot")
"""What the runbook runs, in order."""


def with_runbook(url: str, name: str, *nodes: str, **first: Any) -> str:
    """Add a runbook to Ironic that these nodes have a trait of; ``first`` changes its first step."""
    written = {"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "order": 1, **first}
    steps = [{"interface": "power", "step": "reboot", "args": {}, "order": 2}, written]
    runbook = str(call(url, "POST", "/v1/runbooks", {"name": name, "steps": steps})["uuid"])
    call(url, "PUT", f"/v1/runbooks/{runbook}/traits/CUSTOM_SERVER")
    for node in nodes:
        call(url, "PUT", f"/v1/nodes/{node}/traits/CUSTOM_SERVER")
    return runbook


def call(url: str, method: str, path: str, body: object = None) -> Any:
    """Ask Ironic itself, past the adapter."""
    headers = {"X-OpenStack-Ironic-API-Version": "1.115"}
    answer = requests.request(method, url + path, json=body, headers=headers, timeout=PATIENCE)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None
