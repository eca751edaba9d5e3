"""Errors of reading a request, the same for every dialect, and what every dialect answers alike to any error."""

import logging
from collections.abc import Mapping

import falcon

from shipyard_api.domain.error_kinds import (
    AskLater,
    Conflict,
    ErrorKind,
    Forbidden,
    Invalid,
    NotFound,
    NotOverridden,
    Outdated,
    Precondition,
    Reused,
    Sentence,
    ShipyardError,
    Text,
    Unauthenticated,
    whole_seconds,
)
from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable, UnsuitableDatabase

LOG = logging.getLogger(__name__)

RETRY_SECONDS = "5"
"""The ``Retry-After`` of an outage of unknown length: of the database, or of a peer."""
_QUOTED = 60


class InvalidFormat(Invalid):
    """The body does not have the form that it must have."""


class TooLarge(ShipyardError):
    """The body is larger than this server reads."""


class Encoded(ShipyardError):
    """The body is compressed or otherwise encoded."""


class Overloaded(AskLater):
    """All callers together have used what they share."""


class Broken(ShipyardError):
    """What the answer is made from is broken."""


class Fault(Exception):
    """A dialect refuses the request by its own rules, in its own words. ``code``: the status line."""

    def __init__(self, text: str, code: str = falcon.HTTP_400) -> None:
        super().__init__(text)
        self.code = code


BodyTooLarge = ErrorKind(
    TooLarge,
    "BodyTooLarge",
    "Body too large",
    lambda length, limit: f"The body has {length} bytes; at most {limit} are accepted",
)
BodyEncoded = ErrorKind(
    Encoded,
    "BodyEncoded",
    "Unsupported content encoding",
    lambda coding: f"The body has the encoding {quoted(coding)}; send it as it is",
)
BodyIncomplete = ErrorKind(
    Invalid,
    "BodyIncomplete",
    "Body incomplete",
    lambda length, arrived: f"Content-Length says {length} bytes, and {arrived} arrived",
)
InvalidAddress = ErrorKind(
    Invalid,
    "InvalidAddress",
    "Invalid address",
    lambda part, byte=None: (
        "An address cannot hold the character NUL (%00)"
        if byte is None
        else f"The {part} is not UTF-8 at the byte %{byte:02X}; escape its characters as UTF-8"
    ),
)
JsonRequired = ErrorKind(
    InvalidFormat, "JsonRequired", "Json body is required", lambda path: f"{path}: Bad input, no body provided"
)
NotJson = ErrorKind(
    InvalidFormat,
    "NotJson",
    "JSON could not be decoded",
    lambda path, detail: f"{path}: Invalid JSON in body: {detail}",
)
NotAnObject = ErrorKind(
    InvalidFormat,
    "NotAnObject",
    "JSON validation failed: the body is not an object",
    lambda: "Failed validator: type : object",
)
SchemaViolated = ErrorKind(
    InvalidFormat,
    "SchemaViolated",
    "JSON validation failed",
    lambda findings: Text(
        f"Failed validator: {findings[0].diagnostic}", title=f"JSON validation failed: {findings[0].message}"
    ),
)

WITHOUT_TITLES: Mapping[ErrorKind[..., ShipyardError], Sentence] = {
    TooManyRequests: lambda pause: f"Too many requests that change something. Wait {whole_seconds(pause)} s.",
    BodyTooLarge: lambda length, limit: f"The body has {length} bytes, and at most {limit} are read.",
    BodyEncoded: lambda coding: f"The body is encoded with {coding[:_QUOTED]}; send it as it is.",
    BodyIncomplete: lambda length, arrived: f"The connection ended after {arrived} of {length} bytes of the body.",
}
"""The sentences of dialects whose errors have no titles."""

STATUSES: Mapping[type[ShipyardError], str] = {
    Invalid: falcon.HTTP_400,
    Precondition: falcon.HTTP_400,
    Unauthenticated: falcon.HTTP_401,
    Forbidden: falcon.HTTP_403,
    NotOverridden: falcon.HTTP_403,
    NotFound: falcon.HTTP_404,
    Conflict: falcon.HTTP_409,
    Outdated: falcon.HTTP_412,
    TooLarge: falcon.HTTP_413,
    Encoded: falcon.HTTP_415,
    Reused: falcon.HTTP_422,
    AskLater: falcon.HTTP_429,
    Broken: falcon.HTTP_500,
    Overloaded: falcon.HTTP_503,
}
"""The status of each family of errors."""

SYSTEMS: Mapping[type[Exception], tuple[str, str]] = {
    StoreFull: (falcon.HTTP_503, "The disk of the database server is full. Free space there, then ask again."),
    StoreUnavailable: (falcon.HTTP_503, "The database cannot be reached at this moment. Ask again."),
    UnsuitableDatabase: (falcon.HTTP_503, "The database has a schema of another release."),
    PeerError: (falcon.HTTP_503, "A system that is needed for the answer does not answer. Ask again."),
    PolicyBroken: (falcon.HTTP_500, "The policy cannot be evaluated."),
}
"""The status and the text of failures of what Shipyard works with, for dialects without words of their own."""


def status_of(family: type[ShipyardError]) -> str:
    """Return the status line of a family, or of the nearest one above it."""
    return next(STATUSES[base] for base in family.__mro__ if base in STATUSES)


def set_headers(req: falcon.Request, resp: falcon.Response, error: ShipyardError) -> None:
    """Set the headers that go with the family of an error, and note its code for another form of the answer."""
    req.context.error_code = error.kind.code
    if isinstance(error, Unauthenticated):
        resp.set_header("WWW-Authenticate", req.context.challenge)
    if isinstance(error, AskLater):
        resp.set_header("Retry-After", str(error.seconds))
    if isinstance(error, Encoded):
        resp.set_header("Accept-Encoding", "identity")


def system_failure(resp: falcon.Response, error: Exception) -> tuple[str, str]:
    """Log the failure of a system; return its row of ``SYSTEMS``, and set ``Retry-After`` if it may pass."""
    code, text = next(SYSTEMS[kind] for kind in type(error).__mro__ if kind in SYSTEMS)
    LOG.error("request failed", extra={"trouble": str(error)})
    if code == falcon.HTTP_503 and not isinstance(error, UnsuitableDatabase):
        resp.set_header("Retry-After", RETRY_SECONDS)
    return code, text


def quoted(written: str) -> str:
    """Return what a caller wrote, cut."""
    return written if len(written) <= _QUOTED else f"{written[:_QUOTED]}…"
