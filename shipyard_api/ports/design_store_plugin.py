"""What a document store registers as an entry point of the group ``shipyard.design_stores``.

The name of the entry point chooses it (``[designs] store``) and is the name of its section of the settings.
"""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.provisioner_plugin import PeerTokens


class BuildStore(Protocol):
    """Builds the store from its section; opens no connection."""

    def __call__(self, options: Any, tokens: Callable[[Any], PeerTokens], fingerprint_key: bytes, /) -> DesignStore:
        """Return the store. Raises SettingsError for settings that are unusable.

        ``tokens``: those that a section asks for that has ``auth`` and ``token``, as [deckhand] has.
        ``fingerprint_key``: the key of ``DesignStore.fingerprint``, never empty.
        """


def _nowhere(_options: Any) -> str:
    return ""


class DesignStorePlugin(Struct, frozen=True, kw_only=True):
    """A document store that can be chosen. Every function takes ``options``, the section as it was read, first.

    ``options``: the dataclass of the section, with the ``url`` of the store; every field has a default, and its
    docstring describes each. ``system``: its name in messages. ``design_url``: the address from which peers fetch a
    design, with ``{revision}`` in it; empty: the store has none.
    """

    options: type
    system: str
    build: BuildStore
    design_url: Callable[[Any], str] = _nowhere
