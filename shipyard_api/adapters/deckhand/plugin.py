"""Registers Deckhand as a document store. The rest of the adapter is imported when Deckhand is chosen."""

from collections.abc import Callable

from shipyard_api.ports.design_store_plugin import DesignStorePlugin
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.provisioner_plugin import PeerTokens

from . import DeckhandOptions


def _build(
    options: DeckhandOptions, tokens: Callable[[DeckhandOptions], PeerTokens], fingerprint_key: bytes
) -> DesignStore:
    from .client import DeckhandClient
    from .design_store import DeckhandDesigns

    peer_tokens = tokens(options)
    client = DeckhandClient(
        options.url,
        token=peer_tokens.token,
        renew_token=peer_tokens.renew,
        connect_timeout=options.connect_timeout_seconds,
        read_timeout=options.read_timeout_seconds,
    )
    return DeckhandDesigns(client, fingerprint_key=fingerprint_key)


def _design_url(options: DeckhandOptions) -> str:
    """Return the address of contract C3."""
    return options.url and f"deckhand+{options.url.rstrip('/')}/revisions/{{revision}}/rendered-documents"


DECKHAND = DesignStorePlugin(options=DeckhandOptions, system="Deckhand", build=_build, design_url=_design_url)
