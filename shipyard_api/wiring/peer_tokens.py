"""Builds the tokens that Shipyard sends to its peers, from the settings, for ``bootstrap``."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shipyard_api.adapters.deckhand.options import DeckhandOptions
from shipyard_api.adapters.drydock.options import DrydockOptions
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.adapters.promenade.options import PromenadeOptions
from shipyard_api.setting_types import PeerAuth
from shipyard_api.settings import DesignStoreKind, ProvisionerKind, Settings, SettingsError

if TYPE_CHECKING:
    from shipyard_api.adapters.keystone.tokens import Tokens

PeerOptions = DrydockOptions | DeckhandOptions | PromenadeOptions


@dataclass(frozen=True, slots=True)
class PeerTokens:
    """Where a client gets its token, and how it discards one that the peer rejects."""

    token: Callable[[], str]
    renew: Callable[[], None]


def needed(settings: Settings) -> Mapping[str, str]:
    """Return the settings that the tokens of the peers in use require, by name."""
    from_keystone = any(own.auth is PeerAuth.KEYSTONE for _, own in _in_use(settings))
    return settings.keystone.required() if from_keystone else {}


def faults(settings: Settings) -> Iterator[str]:
    """Yield the settings of peers in use that contradict each other."""
    for section, own in _in_use(settings):
        if own.auth is PeerAuth.KEYSTONE and own.token:
            yield f"[{section}] token is for auth = token, and [{section}] auth is keystone"
    if needed(settings):
        yield from settings.keystone.faults()


def peer_tokens(own: PeerOptions, keystone: KeystoneOptions) -> PeerTokens:
    """Return the tokens of one peer; opens no connection. Raises SettingsError for a Keystone that is no address."""
    if own.auth is PeerAuth.TOKEN:
        return PeerTokens(lambda: own.token, lambda: None)
    tokens = keystone_tokens(keystone)
    return PeerTokens(tokens.token, tokens.renew)


def keystone_tokens(options: KeystoneOptions) -> "Tokens":
    """Return the tokens of our user. Raises SettingsError for a Keystone that is no address."""
    # keystoneauth1 doubles the import time: only if it is used.
    from shipyard_api.adapters.keystone.client import KeystoneClient
    from shipyard_api.adapters.keystone.tokens import Tokens

    try:
        return Tokens(KeystoneClient(options))
    except ValueError as error:
        raise SettingsError([f"[keystone] auth_url: {error}"]) from error


def _in_use(settings: Settings) -> Iterator[tuple[str, PeerOptions]]:
    if settings.provisioner.kind is ProvisionerKind.DRYDOCK:
        yield "drydock", settings.drydock
    if settings.designs.store is DesignStoreKind.DECKHAND:
        yield "deckhand", settings.deckhand
    if settings.promenade.url:
        yield "promenade", settings.promenade
