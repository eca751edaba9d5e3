"""Builds the identity service and the policy from the settings, for ``bootstrap``."""

from shipyard_api.adapters.identity.loopback import LoopbackIdentities
from shipyard_api.adapters.identity.options import IdentityKind
from shipyard_api.adapters.identity.tokens import TokenIdentities
from shipyard_api.ports.identity import Identities, Policy
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens.manage import ApiTokens
from shipyard_api.wiring import keystone_identities
from shipyard_api.wiring.settings import Settings, SettingsError

POLICY_SECONDS = 0.1
"""How long a change of the policy file may go unnoticed."""


def identities(settings: Settings, store: Store) -> Identities:
    """Return the identity service, without connecting yet. Raises SettingsError."""
    options = settings.identity
    match options.kind:
        case IdentityKind.TOKEN:
            return TokenIdentities(
                ApiTokens(store).authenticate,
                cache_seconds=options.token_cache_seconds,
                at_once=max(1, settings.database.pool_size // 2),
            )
        case IdentityKind.KEYSTONE:
            return keystone_identities.identities(settings)
        case IdentityKind.NONE:
            return LoopbackIdentities()


def policy(settings: Settings) -> Policy:
    """Return the policy. Raises SettingsError for an invalid policy file."""
    from shipyard_api.adapters.oslo_policy.options import USUAL_FILE
    from shipyard_api.adapters.oslo_policy.policy import OsloPolicy

    try:
        return OsloPolicy(settings.policy.named, usual=USUAL_FILE, seconds=POLICY_SECONDS)
    except ValueError as error:
        raise SettingsError([f"[policy] file: {error}"]) from error
