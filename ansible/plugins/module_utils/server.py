"""Requests to a Shipyard, for the modules of this collection."""

import json
import os
import time
import uuid
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

V1 = "/api/v1.0"
OPTIONS = {
    "url": {"type": "str"},
    "token": {"type": "str", "no_log": True},
    "ca_path": {"type": "path"},
}
_TIMEOUT = 600
_OUTAGE = 300.0  # seconds for which a wait goes on while the server does not answer


def module(check_mode=True, **options):
    """Return the module with its options and those of every module."""
    return AnsibleModule(argument_spec={**OPTIONS, **options}, supports_check_mode=check_mode)


class Refused(Exception):
    """The server refused; ``status`` is that of HTTP, 0 if there was no answer."""

    def __init__(self, status, text):
        self.status = status
        super().__init__(text)


class Server:
    """The server that a module's options or the environment name. ``marker``: it marks what this run does."""

    def __init__(self, ansible):
        self.ansible, given = ansible, ansible.params
        self._url = (given["url"] or os.environ.get("SHIPYARD_URL", "")).rstrip("/").removesuffix(V1)
        self._token = given["token"] or os.environ.get("SHIPYARD_TOKEN", "")
        self.marker = str(uuid.uuid4())
        if not self._url:
            ansible.fail_json(msg="url is missing: set it, or SHIPYARD_URL")

    def ask(self, method, path, body=None, query=(), headers=()):
        """Return the answer, of JSON its value. Raises Refused."""
        sent = {"X-Context-Marker": self.marker, "X-Auth-Token": self._token, **dict(headers)}
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/x-yaml" if isinstance(body, str) else "application/json")
        address = self._url + V1 + path + (f"?{urlencode(query, doseq=True)}" if query else "")
        try:
            answer = open_url(
                address,
                method=method,
                data=data,
                headers=sent,
                timeout=_TIMEOUT,
                ca_path=self.ansible.params["ca_path"],
            )
            text, kind = answer.read().decode(), answer.headers.get("Content-Type", "")
        except HTTPError as error:
            raise Refused(error.code, _words(error.read().decode(errors="replace"))) from error
        except (URLError, OSError) as error:
            raise Refused(0, f"{self._url} does not answer: {error}") from error
        return json.loads(text) if "json" in kind and text else text

    def get(self, path, query=()):
        """Return what is read, None if it does not exist. Fails the module otherwise."""
        try:
            return self.ask("GET", path, query=query)
        except Refused as error:
            if error.status == 404:
                return None
            self.fail(error)

    def write(self, method, path, body=None, query=(), headers=()):
        """Return the answer to a write. Fails the module if it is refused."""
        try:
            return self.ask(method, path, body, query, headers)
        except Refused as error:
            self.fail(error)

    def wait(self, action, seconds):
        """Return an action once it has ended, also through restarts. Fails the module if it takes longer."""
        began = answered = time.monotonic()
        while True:
            try:
                found, answered = self.ask("GET", f"/actions/{action}"), time.monotonic()
                if found["action_lifecycle"] in ("Complete", "Failed"):
                    return found
            except Refused as error:
                if error.status not in (0, 429, 502, 503, 504) or time.monotonic() - answered > _OUTAGE:
                    self.fail(error)
            if time.monotonic() - began > seconds:
                self.ansible.fail_json(msg=f"action {action} has not ended after {seconds} s", id=action)
            time.sleep(2)

    def fail(self, error):
        """Fail the module with the server's words."""
        self.ansible.fail_json(msg=str(error), status=error.status)


def _words(text):
    try:
        found = json.loads(text)
        findings = [one["message"] for one in found["details"]["messageList"] if one["error"]]
        return " ".join([found["message"], *findings])
    except (ValueError, LookupError, TypeError):
        return text[:500]
