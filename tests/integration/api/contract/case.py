"""A wire case as data: in this state, this request, and all that its answer must be.

Addresses are those of the contract: ``actions`` is below the version's prefix, ``/versions`` is as it stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.integration.api.contract.matching import Matcher, Pattern
from tests.integration.api.wire import JSON, V1, YAML

__all__ = ["JSON", "V1", "YAML", "Case", "Exchange", "Nothing", "Raw", "Who", "Yaml"]
__all__ += ["asked", "error", "framework", "verdict"]

TITLES = {
    200: "200 OK",
    201: "201 Created",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    403: "403 Forbidden",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    409: "409 Conflict",
    417: "417 Expectation Failed",
    413: "413 Content Too Large",
    500: "500 Internal Server Error",
    502: "502 Bad Gateway",
    503: "503 Service Unavailable",
}


class Who(Enum):
    """Who asks: three with a token of some role, one without, and one whose token is not known."""

    ADMIN = "admin"
    VIEWER = "viewer"
    PEER = "peer"
    NOBODY = "nobody"
    STRANGER = "stranger"


class Nothing:
    """An empty body."""


@dataclass(frozen=True)
class Yaml:
    """Documents; each entry is held to what stands at its place."""

    documents: Any


@dataclass(frozen=True)
class Raw:
    """Text that is labelled JSON without being any (contract: 1, Response headers)."""

    text: str | Matcher


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and its answer; ``headers`` are those of the answer that not every answer has."""

    ask: str
    code: int
    answer: Any
    who: Who = Who.ADMIN
    sends: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | None = None
    headers: Mapping[str, str | Matcher] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Case(Exchange):
    """An exchange in a given state, and what shows afterwards; ``section`` is that of the contract."""

    section: str
    name: str
    given: str = "empty"
    then: Sequence[Exchange] = ()

    @property
    def id(self) -> str:
        """The section and the sentence."""
        return f"{self.section} {self.name}"

    @property
    def chapter(self) -> int:
        """The chapter of the contract."""
        return int(self.section.split(".")[0])


def asked(section: str, name: str, ask: str, code: int, answer: Any, **rest: Any) -> Case:
    """A case as a row of its table."""
    return Case(section=section, name=name, ask=ask, code=code, answer=answer, **rest)


def error(
    code: int,
    message: Any,
    reason: Any,
    *,
    kind: Any = "ApiError",
    retry: bool = False,
    messages: Any = None,
    cause: str = "",
    count: Any = 1,
    version: Any = "v1.0",
) -> dict[str, Any]:
    """The error form of a Status (contract: 2), complete; without messages the description stands there once.

    ``cause``: an expression; the one message, where the description does not say what to do.
    """
    listed = [{"message": Pattern(cause) if cause else reason, "error": True}] if messages is None else messages
    return {
        "kind": "status",
        "apiVersion": version,
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {"errorType": kind, "errorCount": count, "messageList": listed},
        "code": TITLES[code],
        "retry": retry,
    }


def framework(code: int, kind: str, *, message: str | None = None, version: Any = "v1.0") -> dict[str, Any]:
    """An error of the web framework: its description is the message and its title the reason (contract: 2 and 3)."""
    reason = "Invalid parameter" if code == 400 else TITLES[code]
    known = {
        404: "There is no address /.+ GET /openapi.json lists all of them",
        405: ".+ does not take .+; it takes .+",
    }
    said = Pattern(known[code]) if code in known else reason if message is None else message
    return error(code, message, reason, kind=kind, messages=[{"message": said, "error": True}], version=version)


def verdict(code: int, message: str, messages: Any, *, errors: int = 0) -> dict[str, Any]:
    """The validation form of a Status (contract: 2), complete: no ``errorType`` and no ``retry``."""
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Failure" if errors else "Success",
        "message": message,
        "reason": "Validation",
        "details": {"errorCount": errors, "messageList": messages},
        "code": TITLES[code],
    }
