"""Builds the provisioner that the settings choose among the installed ones, for ``bootstrap``."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.domain.nodes import Inventory
from shipyard_api.http import segment
from shipyard_api.ports.links import Links
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin, Section, Surroundings
from shipyard_api.settings.plugins import PROVISIONERS
from shipyard_api.usecases.actions.report import Places
from shipyard_api.wiring.peer_tokens import keystone_tokens, peer_tokens
from shipyard_api.wiring.settings import Settings, SettingsError


def chosen(settings: Settings) -> tuple[ProvisionerPlugin, Section]:
    """Return the provisioner's plug-in and its section. Raises SettingsError if it is not installed."""
    return settings.plugin(PROVISIONERS, settings.provisioner.kind)


def needed(settings: Settings) -> Mapping[str, str]:
    """Return the settings that the provisioner requires, by name."""
    plugin, options = chosen(settings)
    needed = dict(plugin.required(options))
    if plugin.reads_designs:
        needed["[drydock] design_url"] = design_url(settings)
    return needed | (settings.keystone.required() if plugin.needs_keystone(options) else {})


def faults(settings: Settings) -> Iterator[str]:
    """Yield the settings of the provisioner that contradict each other."""
    plugin, options = chosen(settings)
    yield from plugin.faults(options)
    if plugin.needs_keystone(options):
        yield from settings.keystone.faults()


def provisioner(
    settings: Settings,
    inventory: Callable[[int], Inventory],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Provisioner:
    """Return the provisioner; opens no connection. ``inventory`` returns the machines of a revision.

    ``now``: the clock of intents, with which those of peers are compared.

    Raises SettingsError for settings that are unusable.
    """
    if problems := list(faults(settings)):
        raise SettingsError(problems)
    (plugin, options), around = chosen(settings), _surroundings(settings)
    if options.connect_timeout_seconds > around.submission_seconds:
        name = f"[{settings.provisioner.kind}] connect_timeout_seconds"
        raise SettingsError([f"{name} must be at most half of [engine] settle_seconds (docs/adr/0007)"])
    return plugin.build(options, around, inventory, now)


def places(settings: Settings) -> Places:
    """Return the addresses of the provisioner's pages about a node and a job."""
    plugin, options = chosen(settings)
    return Places(partial(plugin.node_page, options), partial(plugin.job_page, options))


def node_page(settings: Settings) -> Callable[[str], str | None]:
    """Return what gives the address of the web page about a node; None if no page is set."""
    template = settings.provisioner.node_page
    return lambda name: template.replace("{node}", segment(name)) if template else None


def links(settings: Settings) -> Links | None:
    """Return the client that fetches those pages; None if the provisioner has none."""
    plugin, options = chosen(settings)
    return plugin.links(options, _surroundings(settings))


def design_url(settings: Settings) -> str:
    """Return the address from which peers fetch a design: as set, or that of the store."""
    configured, store = settings.of("drydock", DrydockOptions).design_url, settings.design_store()
    if configured or store is None:
        return configured
    plugin, options = store
    return plugin.design_url(options)


def _surroundings(settings: Settings) -> Surroundings:
    return Surroundings(
        submission_seconds=settings.engine.settle_seconds / 2,
        keystone_seconds=settings.keystone.connect_timeout_seconds,
        time_scale=settings.engine.time_scale,
        design_url=design_url(settings),
        tokens=lambda options: peer_tokens(options, settings.keystone),
        keystone=lambda: keystone_tokens(settings.keystone),
    )
