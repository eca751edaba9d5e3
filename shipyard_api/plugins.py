"""Finds what distributions register under an entry point group of Shipyard's, our own distribution included.

The name of an entry point is the word for it in the settings, and the name of its section.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar, Generic, Protocol, TypeVar

from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin
from shipyard_api.setting_types import SettingsError


class HasSection(Protocol):
    """What every plug-in has."""

    @property
    def options(self) -> type:
        """The dataclass of its section; every field has a default."""


Plugin = TypeVar("Plugin", bound=HasSection)


@dataclass(frozen=True, slots=True)
class Group(Generic[Plugin]):
    """One kind of plug-in: the entry point ``group``, the class of its objects, and its name in errors.

    ``settings``: those that the section of each must have.
    """

    group: str
    kind: type[Plugin]
    noun: str
    settings: frozenset[str]

    def installed(self) -> Mapping[str, Plugin]:
        """Return all plug-ins of the group by name, in alphabetical order; they are loaded once in a process.

        Raises SettingsError with a fault for each that cannot be loaded; it names entry point and distribution.
        """
        return _load(self)

    def get(self, name: str) -> Plugin:
        """Return a plug-in; raises SettingsError that names those that are installed."""
        found = self.installed()
        if name not in found:
            raise SettingsError([self.unknown(name)])
        return found[name]

    def unknown(self, name: str) -> str:
        """Return the error for a name of no plug-in."""
        return f"there is no {self.noun} {name[:100]!r}; installed: {', '.join(self.installed())}"


PROVISIONERS: Group[ProvisionerPlugin] = Group(
    "shipyard.provisioners", ProvisionerPlugin, "provisioner", frozenset({"url", "connect_timeout_seconds"})
)


class PluginName(str):
    """The name of a plug-in of ``GROUP``; ``settings.load`` refuses one that is not installed."""

    __slots__ = ()
    GROUP: ClassVar[Group[ProvisionerPlugin]]


class ProvisionerName(PluginName):
    """The name of a provisioner."""

    __slots__ = ()
    GROUP = PROVISIONERS


def forget() -> None:
    """Look for plug-ins anew when they are needed next: for tests that install some."""
    _load.cache_clear()


@cache
def _load(group: Group[Plugin]) -> Mapping[str, Plugin]:
    by_name: defaultdict[str, list[EntryPoint]] = defaultdict(list)
    for entry in entry_points(group=group.group):
        by_name[entry.name].append(entry)
    found: dict[str, Plugin] = {}
    faults = []
    for name, entries in sorted(by_name.items()):
        if len(entries) > 1:
            owners = " and ".join(sorted(_owner(entry) for entry in entries))
            faults.append(f"{group.group}: {name} is registered by {owners}; uninstall all but one")
            continue
        (entry,) = entries
        where = f"{group.group}: {name} = {entry.value} of {_owner(entry)}"
        try:
            plugin = entry.load()
        except Exception as error:  # noqa: BLE001  # a plug-in's module may raise anything
            faults.append(f"{where} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(plugin, group.kind):
            faults.append(f"{where} is of type {type(plugin).__name__}, not {group.kind.__name__}")
        elif not name.isidentifier() or not name.islower():
            faults.append(f"{where}: its name must be a word in small letters")
        elif not _is_section(plugin.options, group.settings):
            names = " and ".join(sorted(group.settings))
            faults.append(f"{where}: its options must be a dataclass with {names}, and a default for each field")
        else:
            found[name] = plugin
    if faults:
        raise SettingsError(faults)
    return found


def _is_section(options: type, settings: frozenset[str]) -> bool:
    if not is_dataclass(options):
        return False
    has_default = {one.name: (one.default, one.default_factory) != (MISSING, MISSING) for one in fields(options)}
    return settings <= has_default.keys() and all(has_default.values())


def _owner(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
