"""The provisioner port, filled by a Drydock."""

from dataclasses import dataclass

from shipyard_api.settings.types import Address, HeaderSecret, PeerAuth


@dataclass(frozen=True, slots=True)
class DrydockOptions:
    """How to reach Drydock.

    ``url``: Drydock's base address, ending in ``/api/v1.0``.
    ``auth``: how to authenticate: token (from the settings), keystone (see its section).
    ``token``: sent as X-Auth-Token; only for token.
    ``design_url``: the address from which Drydock fetches a design, with ``{revision}`` in it; at most 128 characters.
    Empty: Deckhand's, if Deckhand stores the documents.
    ``connect_timeout_seconds``: timeout of a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: timeout of an answer; Drydock may need minutes to evaluate a filter.
    ``nodefilter_pause_seconds``: pause before a failed node selection is retried.
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    auth: PeerAuth = PeerAuth.TOKEN
    token: HeaderSecret = HeaderSecret("")  # noqa: RUF009  # immutable
    design_url: str = ""
    connect_timeout_seconds: float = 1.8
    read_timeout_seconds: float = 300.0
    nodefilter_pause_seconds: float = 30.0
