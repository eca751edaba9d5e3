"""Errors of reading a request, the same for every dialect, and what every dialect answers alike to any error."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import falcon

from shipyard_api.domain.errors import AskLater, Invalid, ShipyardError, Unauthenticated
from shipyard_api.domain.findings import Finding
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable, UnsuitableDatabase

LOG = logging.getLogger(__name__)

RETRY_SECONDS = "5"
"""The ``Retry-After`` of an outage of unknown length: of the database, or of a peer."""


@dataclass(eq=False)
class BodyTooLarge(ShipyardError):
    """The body is larger than this server reads; both numbers are bytes."""

    length: int
    limit: int


@dataclass(eq=False)
class BodyEncoded(ShipyardError):
    """The body is compressed or otherwise encoded."""

    coding: str


@dataclass(eq=False)
class BodyIncomplete(Invalid):
    """The connection ended before the whole body arrived; ``arrived``: how many bytes came."""

    length: int
    arrived: int


@dataclass(eq=False)
class InvalidAddress(Invalid):
    """The address cannot be read as UTF-8 text; ``part`` and ``byte`` say where. No byte means a NUL character."""

    part: str
    byte: int | None = None


class InvalidFormat(Invalid):
    """Base: the body does not have the form that it must have."""


@dataclass(eq=False)
class JsonRequired(InvalidFormat):
    """The request needs a JSON body."""

    path: str


@dataclass(eq=False)
class NotJson(InvalidFormat):
    """The body is not JSON that can be stored."""

    path: str
    detail: str


@dataclass(eq=False)
class NotAnObject(InvalidFormat):
    """The JSON body is not an object."""


@dataclass(eq=False)
class SchemaViolated(InvalidFormat):
    """The JSON body does not fit its schema."""

    findings: Sequence[Finding]


class Fault(Exception):
    """A dialect refuses the request by its own rules, in its own words. ``code``: the status line."""

    def __init__(self, text: str, code: str = falcon.HTTP_400) -> None:
        super().__init__(text)
        self.code = code


SYSTEMS: Mapping[type[Exception], tuple[str, str]] = {
    StoreFull: (falcon.HTTP_503, "The disk of the database server is full. Free space there, then ask again."),
    StoreUnavailable: (falcon.HTTP_503, "The database cannot be reached at this moment. Ask again."),
    UnsuitableDatabase: (falcon.HTTP_503, "The database has a schema of another release."),
    PeerError: (falcon.HTTP_503, "A system that is needed for the answer does not answer. Ask again."),
    PolicyBroken: (falcon.HTTP_500, "The policy cannot be evaluated."),
}
"""The status and the text of failures of what Shipyard works with, for dialects without words of their own."""


def set_headers(req: falcon.Request, resp: falcon.Response, error: ShipyardError) -> None:
    """Set the headers that go with an error."""
    if isinstance(error, Unauthenticated):
        resp.set_header("WWW-Authenticate", req.context.challenge)
    if isinstance(error, AskLater):
        resp.set_header("Retry-After", str(error.seconds))
    if isinstance(error, BodyEncoded):
        resp.set_header("Accept-Encoding", "identity")


def system_failure(resp: falcon.Response, error: Exception) -> tuple[str, str]:
    """Log the failure of a system; return its row of ``SYSTEMS``, and set ``Retry-After`` if it may pass."""
    code, text = next(SYSTEMS[kind] for kind in type(error).__mro__ if kind in SYSTEMS)
    LOG.error("request failed", extra={"trouble": str(error)})
    if code == falcon.HTTP_503 and not isinstance(error, UnsuitableDatabase):
        resp.set_header("Retry-After", RETRY_SECONDS)
    return code, text
