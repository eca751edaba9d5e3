"""Errors of reading a request, the same for every dialect."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import Invalid, ShipyardError
from shipyard_api.domain.findings import Finding

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
