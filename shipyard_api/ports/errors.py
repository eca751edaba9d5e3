"""How a peer can fail us; three outcomes that callers must keep apart.

``Unavailable``: no usable answer, the work may or may not have been done. ``Refused``: the peer understood and said
no, repeating the same request gives the same answer. ``Busy``: not now, ask again.
"""

from enum import Enum, auto
from typing import Self


class Purpose(Enum):
    """What a failed request was for, where callers treat that differently."""

    READ_DESIGN = auto()
    RENDER_DESIGN = auto()
    OTHER = auto()


class PeerError(Exception):
    """Base of all failures of a peer. ``system`` and ``operation`` say whom we asked and for what.

    ``code``: the status code of an answer that is the peer's own last word, as far as that is known.
    ``sent`` is False where we know that the request never left us, so that the peer cannot have acted on it.
    ``said``: the peer's own text behind such a code. ``purpose``: what the request was for.
    """

    purpose = Purpose.OTHER

    def __init__(
        self,
        system: str,
        operation: str,
        detail: str,
        *,
        marker: str = "",
        code: int | None = None,
        said: str = "",
        sent: bool = True,
    ) -> None:
        super().__init__(f"{system} {operation}: {detail}")
        self.system = system
        self.operation = operation
        self.detail = detail
        self.marker = marker
        self.code = code
        self.said = said
        self.sent = sent

    def worded(self, detail: str) -> Self:
        """Return the same failure in other words."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        other.detail = other.said = detail
        other.args = (f"{self.system} {self.operation}: {detail}",)
        return other


class Unavailable(PeerError):
    """The peer could not be reached, hung up, timed out or broke; whether it did the work is unknown."""


class Refused(PeerError):
    """The peer will not do this request, now or later."""


class Busy(PeerError):
    """The peer asks us to come back; ``retry_after`` is in seconds, if it said so."""

    def __init__(
        self, system: str, operation: str, detail: str, *, marker: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(system, operation, detail, marker=marker)
        self.retry_after = retry_after
