"""The design store port, filled by a Deckhand."""

from dataclasses import dataclass

from shipyard_api.settings.types import Address, HeaderSecret, PeerAuth


@dataclass(frozen=True, slots=True)
class DeckhandOptions:
    """How to reach Deckhand, if it stores the documents.

    ``url``: Deckhand's base address, ending in ``/api/v1.0``.
    ``auth``: how to authenticate: token (from the settings), keystone (see its section).
    ``token``: sent as X-Auth-Token; only for token.
    ``connect_timeout_seconds``: timeout of a connection.
    ``read_timeout_seconds``: timeout of an answer; rendering a site takes seconds, on a busy Deckhand minutes.
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    auth: PeerAuth = PeerAuth.TOKEN
    token: HeaderSecret = HeaderSecret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 300.0
