"""Microversions: the version of a request, and the headers of every answer."""

import re
from typing import Any

import falcon

from shipyard_simulators.ironic.errors import IronicError, Unrouted

MINIMUM = 1
LATEST = 115
HEADER = "X-OpenStack-Ironic-API-Version"
_COMMON_HEADER = "OpenStack-API-Version"
_SERVICE = "baremetal"
_NUMBER = re.compile(r"(\d+)\.(\d+)")


class Versions:
    """Middleware that reads the version of each request; ``highest``: the latest minor version."""

    def __init__(self, highest: int = LATEST) -> None:
        self.highest = highest

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Store the version of the request, or reject it."""
        if req.path.startswith("/simulator"):
            return
        asked = _asked(req).strip()
        if asked and asked.lower() != "latest":
            number = _NUMBER.fullmatch(asked)
            if number is None:
                raise Unrouted(406, f"Invalid value for {HEADER} header")
            major, minor = (int(part) for part in number.groups())
        else:
            major, minor = 1, self.highest if asked else MINIMUM
        resp.set_header(f"{HEADER.replace('-Version', '')}-Minimum-Version", f"1.{MINIMUM}")
        resp.set_header(f"{HEADER.replace('-Version', '')}-Maximum-Version", f"1.{self.highest}")
        if major != 1 or not MINIMUM <= minor <= self.highest:
            text = f"Version {asked} was requested but the minor version is not supported by this service."
            if major != 1:
                requested = f"Version {asked} requested but not supported by this service."
                text = f"Mutually exclusive versions requested. {requested}"
            text = f"{text} The supported version range is: [1.{MINIMUM}, 1.{self.highest}]."
            raise IronicError(406, text) if req.path == "/" else Unrouted(406, text)
        req.context.version = minor
        resp.set_header(HEADER, f"1.{minor}")


def version_of(req: falcon.Request) -> int:
    """Return the minor version of the request."""
    version: Any = req.context.version
    return int(version)


def need(req: falcon.Request, version: int) -> None:
    """Reject the request as one of an unknown path if its version is older."""
    if version_of(req) < version:
        raise Unrouted(404 if req.method == "GET" else 405, "")


def _asked(req: falcon.Request) -> str:
    """Return the version in the headers; the header common to all services takes precedence."""
    for entry in (req.get_header(_COMMON_HEADER) or "").split(","):
        service, _, version = entry.strip().partition(" ")
        if service == _SERVICE and version:
            return version
    return req.get_header(HEADER) or ""
