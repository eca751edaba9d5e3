"""Builds the policy from the settings, for ``bootstrap``."""

from shipyard_api.ports.identity import Policy
from shipyard_api.settings import Settings, SettingsError


def policy(settings: Settings) -> Policy:
    """Return the policy. Raises SettingsError for an invalid policy file."""
    from shipyard_api.adapters.oslo_policy.options import USUAL_FILE
    from shipyard_api.adapters.oslo_policy.policy import OsloPolicy

    try:
        return OsloPolicy(settings.policy.named, usual=USUAL_FILE)
    except ValueError as error:
        raise SettingsError([f"[policy] file: {error}"]) from error
