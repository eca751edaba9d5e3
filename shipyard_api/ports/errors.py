"""Errors of peers; callers must tell three outcomes apart.

``Unavailable``: no usable answer; the work may or may not have been done. ``Refused``: the peer rejected the request,
and would reject it again. ``Busy``: not now, retry later.
"""

from enum import Enum, auto
from typing import Self

from shipyard_api.domain.reconciliation import Doubt


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

    def again(self) -> Self:
        """Return the same failure, to be raised by another caller."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        other.args = self.args
        return other

    def worded(self, detail: str) -> Self:
        """Return the same failure in other words."""
        other = self.again()
        other.detail = other.said = detail
        other.args = (f"{self.system} {self.operation}: {detail}",)
        return other


class Unavailable(PeerError):
    """The peer was unreachable, hung up, timed out or broke; whether it did the work is unknown."""


class Undecided(Unavailable):
    """The peer shows jobs of which only a person knows whether they are ours. It was only asked."""

    def __init__(self, doubt: Doubt, *, marker: str = "") -> None:
        super().__init__(doubt.provisioner, doubt.operation, str(doubt), marker=marker)
        self.doubt = doubt


class Refused(PeerError):
    """The peer rejects this request, now and later.

    ``whole_site``: it would reject any other request too, because of our address, credentials or design; otherwise the
    refusal is about this request alone.
    """

    def __init__(
        self,
        system: str,
        operation: str,
        detail: str,
        *,
        marker: str = "",
        code: int | None = None,
        said: str = "",
        whole_site: bool = False,
    ) -> None:
        super().__init__(system, operation, detail, marker=marker, code=code, said=said)
        self.whole_site = whole_site


class Busy(PeerError):
    """The peer asks for a later retry; ``retry_after`` is in seconds, if the peer sent it."""

    def __init__(
        self, system: str, operation: str, detail: str, *, marker: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(system, operation, detail, marker=marker)
        self.retry_after = retry_after
