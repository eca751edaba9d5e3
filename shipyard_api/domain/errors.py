"""What can be wrong with a request, in the caller's world; the API alone knows status codes.

Each error carries the two texts of the Status object (contract: shipyard-rest, chapter 2): ``title`` becomes its
``message`` and ``reason`` its ``reason``. Both are read by operators and by scripts.
"""

import math
from collections.abc import Sequence

from shipyard_api.domain.findings import Finding


class ShipyardError(Exception):
    """Base of everything a caller can be told about."""

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(f"{title}: {reason}")
        self.title = title
        self.reason = reason


class Invalid(ShipyardError):
    """The input breaks a rule; ``findings`` says which, where, and what would be right."""

    def __init__(self, title: str, reason: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(title, reason)
        self.findings = tuple(findings)


class TooLarge(ShipyardError):
    """The input is larger than we are willing to read."""


class NotFound(ShipyardError):
    """There is no such thing."""


class Conflict(ShipyardError):
    """The input is fine, but what is already there forbids it; it may be right later."""

    def __init__(self, title: str, reason: str, *, again: bool = False) -> None:
        super().__init__(title, reason)
        self.again = again


class Blocked(Conflict):
    """Another request is changing the configdocs at this moment."""

    def __init__(self) -> None:
        super().__init__(
            "Blocked by another process",
            "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in "
            "not more than 60 seconds",
            again=True,
        )


class KeyReused(Conflict):
    """A request has the key of another one, and asks for something else."""


class Precondition(ShipyardError):
    """Something that must come first has not been done."""


class TooManyRequests(ShipyardError):
    """The caller writes more often than allowed; ``seconds``, a whole number above 0, is after when it may be right."""

    def __init__(self, pause: float) -> None:
        self.seconds = max(1, math.ceil(pause))
        super().__init__(
            "Too many requests", f"This caller has written as often as is allowed; ask again in {self.seconds} s"
        )


class Unauthenticated(ShipyardError):
    """The caller has not shown who they are."""

    def __init__(self) -> None:
        super().__init__("Unauthenticated", "Credentials are not established")


class Forbidden(ShipyardError):
    """The caller is known, and may not do this."""

    def __init__(self, reason: str = "Credentials do not permit access") -> None:
        super().__init__("Forbidden", reason)
