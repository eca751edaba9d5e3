"""Promenade, which makes machines into nodes of a cluster."""

from dataclasses import dataclass

from shipyard_api.settings.types import Address, HeaderSecret, PeerAuth


@dataclass(frozen=True, slots=True)
class PromenadeOptions:
    """How to reach Promenade. Without it, designs are not validated by Promenade.

    ``url``: Promenade's base address, ending in ``/api/v1.0``.
    ``auth``: how to authenticate: token (from the settings), keystone (see its section).
    ``token``: sent as X-Auth-Token; only for token.
    ``connect_timeout_seconds``: timeout of a connection.
    ``read_timeout_seconds``: timeout of an answer.
    ``teardown``: whether Promenade takes servers out of the cluster. No released Promenade can: leave it false, and
    Shipyard does it with the access of [kubernetes].
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    auth: PeerAuth = PeerAuth.TOKEN
    token: HeaderSecret = HeaderSecret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 300.0
    teardown: bool = False
