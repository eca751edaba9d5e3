"""Finds what distributions register under an entry point group of Shipyard's, our own distribution included.

The name of an entry point is the word for it in the settings, and the name of its section.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Generic, TypeVar

from shipyard_api.ports.assignment_plugin import AssignmentPlugin
from shipyard_api.ports.design_store_plugin import DesignStorePlugin
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin
from shipyard_api.settings.types import SettingsError

EMBEDDED = "embedded"
"""The document store in Shipyard's own database, which is no plug-in."""

Plugin = TypeVar("Plugin")


@dataclass(frozen=True, slots=True)
class Group(Generic[Plugin]):
    """One kind of plug-in: the entry point ``group``, the class of its objects, and its name in errors.

    ``settings``: those that the section of each, its ``options``, must have; None: it has no section. ``built_in``: the
    name of one that is no plug-in.
    """

    group: str
    kind: type[Plugin]
    noun: str
    settings: frozenset[str] | None = None
    built_in: str | None = None

    def installed(self) -> Mapping[str, Plugin]:
        """Return all plug-ins of the group by name, in alphabetical order; they are loaded once in a process.

        Raises SettingsError with a fault for each that cannot be loaded; it names entry point and distribution.
        """
        return _load(self)

    def get(self, name: str) -> Plugin:
        """Return a plug-in; raises SettingsError that names those that are installed."""
        plugins = self.installed()
        if name not in plugins:
            raise SettingsError([self.unknown(name)])
        return plugins[name]

    def names(self) -> list[str]:
        """Return what the settings can choose from, in alphabetical order. Raises SettingsError."""
        return sorted({*self.installed(), *filter(None, [self.built_in])})

    def unknown(self, name: str) -> str:
        """Return the error for a name of no plug-in."""
        return f"there is no {self.noun} {name[:100]!r}; installed: {', '.join(self.names())}"


PROVISIONERS: Group[ProvisionerPlugin] = Group(
    "shipyard.provisioners", ProvisionerPlugin, "provisioner", frozenset({"url", "connect_timeout_seconds"})
)

DESIGN_STORES: Group[DesignStorePlugin] = Group(
    "shipyard.design_stores", DesignStorePlugin, "document store", frozenset({"url"}), EMBEDDED
)


ASSIGNMENTS: Group[AssignmentPlugin] = Group("shipyard.assignments", AssignmentPlugin, "plug-in of assignments")


class PluginName(str):
    """The name of a plug-in of ``GROUP``; ``settings.load`` refuses one that is not installed."""

    __slots__ = ()
    GROUP: ClassVar[Group[Any]]


class ProvisionerName(PluginName):
    """The name of a provisioner."""

    __slots__ = ()
    GROUP = PROVISIONERS


class DesignStoreName(PluginName):
    """The name of a document store."""

    __slots__ = ()
    GROUP = DESIGN_STORES


def forget() -> None:
    """Look for plug-ins anew when they are needed next: for tests that install some."""
    _load.cache_clear()


@cache
def _load(group: Group[Plugin]) -> Mapping[str, Plugin]:
    by_name: defaultdict[str, list[EntryPoint]] = defaultdict(list)
    for entry in entry_points(group=group.group):
        by_name[entry.name].append(entry)
    plugins: dict[str, Plugin] = {}
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
        elif group.settings is not None and not _is_section(getattr(plugin, "options", None), group.settings):
            names = " and ".join(sorted(group.settings))
            faults.append(f"{where}: its options must be a dataclass with {names}, and a default for each field")
        else:
            plugins[name] = plugin
    if faults:
        raise SettingsError(faults)
    return plugins


def _is_section(options: object, settings: frozenset[str]) -> bool:
    if not isinstance(options, type) or not is_dataclass(options):
        return False
    has_default = {
        field.name: (field.default, field.default_factory) != (MISSING, MISSING) for field in fields(options)
    }
    return settings <= has_default.keys() and all(has_default.values())


def _owner(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
