"""Builds the tokens that Shipyard sends to its peers, from the settings, for ``bootstrap``."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.ports.provisioner_plugin import CatalogTokens, PeerTokens
from shipyard_api.settings.plugins import PROVISIONERS
from shipyard_api.settings.types import PeerAuth
from shipyard_api.wiring.settings import Settings, SettingsError


class PeerOptions(Protocol):
    """The section of a peer of Airship."""

    @property
    def auth(self) -> PeerAuth:
        """Where tokens come from."""

    @property
    def token(self) -> str:
        """The token, if the settings give it."""


def needed(settings: Settings) -> Mapping[str, str]:
    """Return the settings that the tokens of the peers in use require, by name."""
    from_keystone = any(options.auth is PeerAuth.KEYSTONE for _, options in _in_use(settings))
    return settings.keystone.required() if from_keystone else {}


def faults(settings: Settings) -> Iterator[str]:
    """Yield the settings of peers in use that contradict each other."""
    for section, options in _in_use(settings):
        if options.auth is PeerAuth.KEYSTONE and options.token:
            yield f"[{section}] token is for auth = token, and [{section}] auth is keystone"
    if needed(settings):
        yield from settings.keystone.faults()


def peer_tokens(options: PeerOptions, keystone: KeystoneOptions) -> PeerTokens:
    """Return the tokens of one peer; opens no connection. Raises SettingsError for a Keystone that is no address."""
    if options.auth is PeerAuth.TOKEN:
        return PeerTokens(lambda: options.token, lambda: None)
    return keystone_tokens(keystone)


def keystone_tokens(options: KeystoneOptions) -> CatalogTokens:
    """Return the tokens of our user. Raises SettingsError for a Keystone that is no address."""
    # keystoneauth1 doubles the import time: only if it is used.
    from shipyard_api.adapters.keystone.client import KeystoneClient
    from shipyard_api.adapters.keystone.tokens import Tokens

    try:
        tokens = Tokens(KeystoneClient(options))
    except ValueError as error:
        raise SettingsError([f"[keystone] auth_url: {error}"]) from error
    endpoint = partial(tokens.endpoint, interface=options.interface.value, region=options.region)
    return CatalogTokens(tokens.token, tokens.renew, endpoint)


def _in_use(settings: Settings) -> Iterator[tuple[str, PeerOptions]]:
    chosen: dict[str, Any] = {settings.provisioner.kind: settings.plugin(PROVISIONERS, settings.provisioner.kind)[1]}
    if store := settings.design_store():
        chosen[settings.designs.store] = store[1]
    for name, options in chosen.items():
        if isinstance(getattr(options, "auth", None), PeerAuth):
            yield name, options
    if settings.promenade.url:
        yield "promenade", settings.promenade
