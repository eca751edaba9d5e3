"""Builds the identity service of a Keystone from the settings, for ``bootstrap``."""

from shipyard_api.ports.identity import Identities
from shipyard_api.wiring.settings import Settings, SettingsError


def identities(settings: Settings) -> Identities:
    """Return the identity service, without connecting yet. Raises SettingsError."""
    options, keystone = settings.identity, settings.keystone
    faults = [
        f"{name} is not set, and [identity] kind is keystone"
        for name, value in keystone.required().items()
        if not value
    ]
    faults += keystone.faults()
    if faults:
        raise SettingsError(faults)
    # Imported late: it doubles the size of all imports.
    from shipyard_api.adapters.keystone.identities import KeystoneIdentities

    try:
        return KeystoneIdentities(
            keystone,
            uri=options.www_authenticate_uri or keystone.auth_url,
            cache_seconds=options.keystone_cache_seconds,
            answer_seconds=options.keystone_answer_seconds,
            at_once=options.keystone_at_once,
            service_roles=[role.strip() for role in options.service_token_roles.split(",") if role.strip()],
            project=(options.project, options.project_domain) if options.project else None,
        )
    except ImportError as error:
        raise SettingsError(
            [f"[identity] kind is keystone: install keystonemiddleware, which shipyard[keystone] brings ({error})"]
        ) from error
