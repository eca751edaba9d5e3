"""Builds the identity service of an OpenID provider, and the page's sign-in, from the settings, for ``bootstrap``."""

from functools import partial
from typing import TYPE_CHECKING

from shipyard_api.ports.identity import Identities
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import Sessions
from shipyard_api.wiring.settings import Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.oidc.sign_in import PageSignIn


def build(settings: Settings, store: Store, tokens: Identities) -> "tuple[Identities, PageSignIn]":
    """Return both, without connecting yet. ``tokens``: who has API tokens. Raises SettingsError."""
    options = settings.oidc
    if faults := list(options.faults()):
        raise SettingsError(faults)
    try:
        from shipyard_api.adapters.oidc.identities import OidcIdentities
        from shipyard_api.adapters.oidc.provider import Provider
        from shipyard_api.adapters.oidc.sign_in import PageSignIn
    except ImportError as error:
        raise SettingsError(
            [f"[identity] kind is oidc: install authlib and joserfc, which shipyard[oidc] brings ({error})"]
        ) from error
    provider, sessions = Provider(options), Sessions(store)
    sign_in = PageSignIn(
        options,
        provider,
        open_session=partial(sessions.open, seconds=options.session_seconds),
        close_session=sessions.close,
        find=sessions.of,
    )
    return OidcIdentities(options, provider, tokens=tokens, sessions=sessions), sign_in
