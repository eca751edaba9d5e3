"""Builds the identity service and the policy from the settings, for ``bootstrap``."""

from typing import TYPE_CHECKING

from shipyard_api.adapters.identity import IdentityKind
from shipyard_api.adapters.identity.loopback import LoopbackIdentities
from shipyard_api.adapters.identity.tokens import TokenIdentities
from shipyard_api.ports.identity import Identities, Policy
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import keystone_identities, oidc_identities
from shipyard_api.wiring.settings import Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.oidc.sign_in import PageSignIn

POLICY_SECONDS = 0.1
"""How long a change of the policy file may go unnoticed."""


def identities(settings: Settings, store: Store) -> "tuple[Identities, PageSignIn | None]":
    """Return the identity service and the page's sign-in, if there is one, unconnected. Raises SettingsError."""
    match settings.identity.kind:
        case IdentityKind.TOKEN:
            return _api_tokens(settings, store), None
        case IdentityKind.OIDC:
            return oidc_identities.build(settings, store, _api_tokens(settings, store))
        case IdentityKind.KEYSTONE:
            return keystone_identities.identities(settings), None
        case IdentityKind.NONE:
            return LoopbackIdentities(), None


def _api_tokens(settings: Settings, store: Store) -> TokenIdentities:
    return TokenIdentities(
        ApiTokens(store).authenticate,
        cache_seconds=settings.identity.token_cache_seconds,
        at_once=max(1, settings.database.pool_size // 2),
    )


def policy(settings: Settings) -> Policy:
    """Return the policy. Raises SettingsError for an invalid policy file."""
    from shipyard_api.adapters.oslo_policy import USUAL_FILE
    from shipyard_api.adapters.oslo_policy.policy import OsloPolicy

    try:
        return OsloPolicy(settings.policy.named, usual=USUAL_FILE, seconds=POLICY_SECONDS)
    except ValueError as error:
        raise SettingsError([f"[policy] file: {error}"]) from error
