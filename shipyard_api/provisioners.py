"""Makes the provisioner that the settings name; ``bootstrap`` puts it in its place."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.places import DrydockPlaces
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.maas import translate as maas
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.decisions import Rules
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.settings import Drydock, Ironic, Maas, ProvisionerKind, Settings, SettingsError, StoreKind
from shipyard_api.usecases.report_action import Places


def needed(settings: Settings) -> Mapping[str, str]:
    """Return the settings without which the provisioner cannot be used, by name."""
    match settings.provisioner.kind:
        case ProvisionerKind.DRYDOCK:
            return {"[drydock] url": settings.drydock.url, "[drydock] design_url": design_url(settings)}
        case ProvisionerKind.MAAS:
            return {"[maas] url": settings.maas.url, "[maas] api_key": settings.maas.api_key}
        case ProvisionerKind.IRONIC:
            return {"[ironic] url": settings.ironic.url}


def provisioner(settings: Settings, inventory: Callable[[int], Inventory]) -> Provisioner:
    """Return the provisioner; connects to nothing yet. ``inventory`` gives the machines of a revision.

    Raises SettingsError for what is set, but cannot be used.
    """
    kind = settings.provisioner.kind
    sections: Mapping[ProvisionerKind, Drydock | Maas | Ironic] = {
        ProvisionerKind.DRYDOCK: settings.drydock,
        ProvisionerKind.MAAS: settings.maas,
        ProvisionerKind.IRONIC: settings.ironic,
    }
    if sections[kind].connect_timeout_seconds > settings.engine.settle_seconds / 2:
        told = "connect_timeout_seconds must be at most half of [engine] settle_seconds (docs/adr/0007)"
        raise SettingsError([f"[{kind.value}] {told}"])
    match kind:
        case ProvisionerKind.DRYDOCK:
            return _drydock(settings)
        case ProvisionerKind.MAAS:
            return _maas(settings, inventory)
        case ProvisionerKind.IRONIC:
            return _ironic(settings, inventory)


def places(settings: Settings) -> Places:
    """Return where people find what the provisioner knows of a node or a job."""
    if settings.provisioner.kind is not ProvisionerKind.DRYDOCK:
        return Places()
    drydock = DrydockPlaces(settings.drydock.url)
    return Places(drydock.node, drydock.job)


def design_url(settings: Settings) -> str:
    """Return where peers fetch a design: as set, or from the Deckhand that keeps the documents (C3)."""
    if settings.drydock.design_url or settings.designs.store is not StoreKind.DECKHAND or not settings.deckhand.url:
        return settings.drydock.design_url
    return f"deckhand+{settings.deckhand.url.rstrip('/')}/revisions/{{revision}}/rendered-documents"


def _drydock(settings: Settings) -> DrydockProvisioner:
    own = settings.drydock
    client = DrydockClient(
        own.url,
        token=lambda: own.token,
        connect_timeout=own.connect_timeout_seconds,
        read_timeout=own.read_timeout_seconds,
        retry_pause=own.nodefilter_pause_seconds,
    )
    try:
        return DrydockProvisioner(client, design_url=design_url(settings))
    except ValueError as error:
        raise SettingsError([f"[drydock] design_url: {error}"]) from error


def _maas(settings: Settings, inventory: Callable[[int], Inventory]) -> MaasProvisioner:
    own = settings.maas
    try:
        client = MaasClient(
            own.url,
            api_key=own.api_key,
            connect_timeout=own.connect_timeout_seconds,
            read_timeout=own.read_timeout_seconds,
        )
    except ValueError as error:
        raise SettingsError([f"[maas] api_key: {error}"]) from error
    options = maas.Options(
        distro_series=own.distro_series,
        hwe_kernel=own.hwe_kernel,
        user_data=_text("[maas] user_data_file", own.user_data_file),
        erase=maas.Erase(own.erase.value),
        rules=Rules(own.release_failed, own.override_failed_testing, own.keep_enlisted),
    )
    return MaasProvisioner(client, inventory, options=options)


def _ironic(settings: Settings, inventory: Callable[[int], Inventory]) -> IronicProvisioner:
    own = settings.ironic
    client = IronicClient(
        own.url,
        basic=(own.user, own.password) if own.user else None,
        connect_timeout=own.connect_timeout_seconds,
        read_timeout=own.read_timeout_seconds,
    )
    info = _instance_info("[ironic] instance_info_file", own.instance_info_file)
    return IronicProvisioner(client, inventory, instance_info=info, inspect=own.inspect, remove=own.remove)


def _instance_info(setting: str, file: str) -> Mapping[str, Any]:
    text = _text(setting, file)
    try:
        info = json.loads(text) if text else {}
    except ValueError as error:
        raise SettingsError([f"{setting}: {file} is not JSON: {error}"]) from error
    if not isinstance(info, dict):
        raise SettingsError([f"{setting}: {file} must hold a JSON object"])
    return info


def _text(setting: str, file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{setting}: {error}"]) from error
