"""What a provisioner registers as an entry point of the group ``shipyard.provisioners``.

The name of the entry point chooses it (``[provisioner] kind``) and is the name of its section of the settings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.links import Links
from shipyard_api.ports.provisioner import Provisioner


class PeerTokens(Struct, frozen=True):
    """A client's source of tokens; discards a token that the peer rejects."""

    token: Callable[[], str]
    renew: Callable[[], None]


class CatalogTokens(PeerTokens, frozen=True):
    """Tokens of Keystone. ``endpoint``: the address of a service type in their catalog; raises ``ports.errors``."""

    endpoint: Callable[[str], str]


class SimulatedPeer(Struct, frozen=True, kw_only=True):
    """The simulator that `shipyard up` runs in place of the peer.

    ``module``: for ``python -m``; it takes the options of `shipyard simulate`. ``ready``: the path that answers when it
    serves. ``base``: what ``url`` of the section has after the simulator's address. ``arguments``, ``environment``: the
    program's own. ``settings``: the variables that the service needs for it.
    """

    module: str
    ready: str
    base: str = ""
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


class Simulated(Protocol):
    """Describes the simulator of a run of `shipyard up`."""

    def __call__(self, *, site: Path, share: Path, design_token: str) -> SimulatedPeer:
        """Return the simulator. ``site``: the file of the design whose machines it has, if it reads no designs.

        ``share``: the directory of Shipyard's data files. ``design_token``: with which it fetches designs.
        """


class Section(Protocol):
    """The settings of a provisioner that Shipyard itself reads. ``url``: its address, empty if it has none."""

    @property
    def url(self) -> str:
        """The address of the peer."""

    @property
    def connect_timeout_seconds(self) -> float:
        """The timeout of a connection: a submission that has none by then never arrives."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the settings say beside the provisioner's own section.

    ``submission_seconds``: within this time after it is sent, a submission arrives or never does (docs/adr/0007).
    ``keystone_seconds``: the part of it that a connection to Keystone may take. ``time_scale``: the length of a second
    of the site. ``design_url``: the address from which peers fetch a design, with ``{revision}`` in it; empty: there is
    none. ``tokens``: those that a section asks for that has ``auth`` and ``token``, as [drydock] has. ``keystone``: the
    tokens of Shipyard's user. Both open no connection, and raise SettingsError.
    """

    submission_seconds: float
    keystone_seconds: float
    time_scale: float
    design_url: str
    tokens: Callable[[Any], PeerTokens]
    keystone: Callable[[], CatalogTokens]


class Build(Protocol):
    """Builds the provisioner from its section; opens no connection."""

    def __call__(
        self,
        options: Any,
        around: Surroundings,
        inventory: Callable[[int], Inventory],
        now: Callable[[], datetime],
        /,
    ) -> Provisioner:
        """Return the provisioner. Raises SettingsError for settings that are unusable.

        ``inventory``: the machines of a revision; raises UnreadableDesign. ``now``: the clock of intents (UTC), with
        which those of peers are compared.
        """


def _none(_options: Any) -> dict[str, str]:
    return {}


def _no_faults(_options: Any) -> Iterator[str]:
    return iter(())


def _never(_options: Any) -> bool:
    return False


def _nowhere(_options: Any, _name: str) -> None:
    return None


def _no_links(_options: Any, _around: Surroundings) -> None:
    return None


class ProvisionerPlugin(Struct, frozen=True, kw_only=True):
    """A provisioner that can be chosen. Every function takes ``options``, the section as it was read, first.

    ``options``: the dataclass of the section, a ``Section``; every field has a default, and its docstring describes
    each (``[maas]`` is an example). ``required``: the settings that must not be empty, by name. ``faults``: those that
    contradict each other. ``needs_keystone``: whether it uses tokens of Keystone. ``reads_designs``: it fetches designs
    itself, so ``[drydock] design_url`` must be set. ``node_page``, ``job_page``: the peer's address of a node and of a
    job, None if it has no such page. ``links``: the client that fetches those pages. ``simulated``: its simulator, None
    if there is none.
    """

    options: type
    build: Build
    required: Callable[[Any], Mapping[str, str]] = _none
    faults: Callable[[Any], Iterator[str]] = _no_faults
    needs_keystone: Callable[[Any], bool] = _never
    reads_designs: bool = False
    node_page: Callable[[Any, str], str | None] = _nowhere
    job_page: Callable[[Any, str], str | None] = _nowhere
    links: Callable[[Any, Surroundings], Links | None] = _no_links
    simulated: Simulated | None = None
