"""Callers with a ticket, at the one address that takes tickets: pages cannot send headers with an EventSource."""

from collections.abc import Callable
from urllib.parse import parse_qs

from shipyard_api.ports.identity import Identities, Identity, Request


class TicketIdentities:
    """Fills ``ports.identity.Identities``: tickets in the query of ``GET path``; all else is for ``others``.

    ``look_up`` returns the owner of a ticket, or raises Unauthenticated. A token, if there is one, counts instead.
    """

    def __init__(self, others: Identities, look_up: Callable[[str], Identity], path: str) -> None:
        self._others = others
        self._look_up = look_up
        self._path = path

    @property
    def challenge(self) -> str:
        """The header of the others."""
        return self._others.challenge

    def cached(self, request: Request) -> Identity | None:
        """Return the caller if no ticket is needed for it; tickets are looked up."""
        return None if self._ticket(request) else self._others.cached(request)

    def of(self, request: Request) -> Identity:
        """Return the caller."""
        ticket = self._ticket(request)
        return self._look_up(ticket) if ticket else self._others.of(request)

    def _ticket(self, request: Request) -> str:
        asked = (request.get("REQUEST_METHOD"), request.get("PATH_INFO"))
        if asked != ("GET", self._path) or request.get("HTTP_X_AUTH_TOKEN"):
            return ""
        query: str = request["QUERY_STRING"]
        return parse_qs(query).get("ticket", [""])[0]
