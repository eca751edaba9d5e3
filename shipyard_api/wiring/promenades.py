"""Builds what speaks to Promenade from the settings, for ``bootstrap``."""

from collections.abc import Callable, Sequence

from shipyard_api.adapters.promenade.design_validation import PromenadeValidation
from shipyard_api.adapters.promenade.teardown import PromenadeTeardown
from shipyard_api.domain.findings import Finding
from shipyard_api.wiring import peer_tokens, provisioners
from shipyard_api.wiring.settings import Settings


def design_of(settings: Settings) -> Callable[[int], str]:
    """Return the address under which Promenade fetches the design of a revision."""
    address = provisioners.design_url(settings)
    return lambda revision: address.replace("{revision}", str(revision))


def validation(settings: Settings) -> Callable[[int], Sequence[Finding]] | None:
    """Return Promenade's validation of a revision, None if no Promenade is configured."""
    options = settings.promenade
    if not options.url:
        return None
    tokens = peer_tokens.peer_tokens(options, settings.keystone)
    promenade = PromenadeValidation(
        options.url,
        token=tokens.token,
        renew_token=tokens.renew,
        connect_timeout=options.connect_timeout_seconds,
        read_timeout=options.read_timeout_seconds,
    )
    address = design_of(settings)
    return lambda revision: promenade.validate_design(address(revision))


def teardown(settings: Settings) -> PromenadeTeardown | None:
    """Return the Promenade that does teardowns itself, None if Shipyard does them."""
    options = settings.promenade
    if not options.url or not options.teardown:
        return None
    tokens = peer_tokens.peer_tokens(options, settings.keystone)
    return PromenadeTeardown(
        options.url, token=tokens.token, renew_token=tokens.renew, connect_timeout=options.connect_timeout_seconds
    )
