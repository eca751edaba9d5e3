"""Builds the provisioner adapter from the settings, for ``bootstrap``."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shipyard_api.adapters.drydock.addresses import DrydockAddresses
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.links import DrydockLinks
from shipyard_api.adapters.drydock.options import DrydockOptions
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.deploy_steps import SETTING as STEPS_SETTING
from shipyard_api.adapters.ironic.deploy_steps import StepTable, UnreadableSteps, read_table
from shipyard_api.adapters.ironic.options import IronicAuth, IronicOptions
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.decisions import Rules
from shipyard_api.adapters.maas.options import MaasOptions
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.nodes import Inventory
from shipyard_api.http import segment
from shipyard_api.ports.links import Links
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.setting_types import PeerAuth
from shipyard_api.settings import DesignStoreKind, ProvisionerKind, Settings, SettingsError
from shipyard_api.usecases.actions.report import Places
from shipyard_api.wiring.peer_tokens import keystone_tokens, peer_tokens

# What a token of Keystone may take, at least, before a task is posted to Drydock.
TOKEN_SECONDS = 1.0

# How long one listing of a provisioner serves all reports, in seconds of the site: less than the default interval of
# polls, so that no action is shown the same listing twice.
SHARED_SECONDS = 20.0

if TYPE_CHECKING:
    from shipyard_api.adapters.keystone.tokens import Tokens


def needed(settings: Settings) -> Mapping[str, str]:
    """Return the settings that the provisioner requires, by name."""
    match settings.provisioner.kind:
        case ProvisionerKind.DRYDOCK:
            return {"[drydock] url": settings.drydock.url, "[drydock] design_url": design_url(settings)}
        case ProvisionerKind.MAAS:
            return settings.maas.required()
        case ProvisionerKind.IRONIC:
            keystone = settings.keystone.required() if settings.ironic.auth is IronicAuth.KEYSTONE else {}
            return settings.ironic.required() | keystone


def provisioner(
    settings: Settings,
    inventory: Callable[[int], Inventory],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Provisioner:
    """Return the provisioner; opens no connection. ``inventory`` returns the machines of a revision.

    ``now``: the clock of intents, with which those of peers are compared.

    Raises SettingsError for settings that are unusable.
    """
    kind = settings.provisioner.kind
    sections: Mapping[ProvisionerKind, DrydockOptions | MaasOptions | IronicOptions] = {
        ProvisionerKind.DRYDOCK: settings.drydock,
        ProvisionerKind.MAAS: settings.maas,
        ProvisionerKind.IRONIC: settings.ironic,
    }
    connecting, name = sections[kind].connect_timeout_seconds, f"[{kind.value}] connect_timeout_seconds"
    if kind is ProvisionerKind.IRONIC and settings.ironic.auth is IronicAuth.KEYSTONE:
        connecting += settings.keystone.connect_timeout_seconds
        name += " and that of [keystone] together"
    if connecting > settings.engine.settle_seconds / 2:
        raise SettingsError([f"{name} must be at most half of [engine] settle_seconds (docs/adr/0007)"])
    match kind:
        case ProvisionerKind.DRYDOCK:
            return _drydock(settings, now, left=settings.engine.settle_seconds / 2 - connecting)
        case ProvisionerKind.MAAS:
            return _maas(settings, inventory)
        case ProvisionerKind.IRONIC:
            return _ironic(settings, inventory, now)


def places(settings: Settings) -> Places:
    """Return the addresses of the provisioner's pages about a node and a job."""
    if settings.provisioner.kind is not ProvisionerKind.DRYDOCK:
        return Places()
    drydock = DrydockAddresses(settings.drydock.url)
    return Places(drydock.node, drydock.job)


def node_page(settings: Settings) -> Callable[[str], str | None]:
    """Return what gives the address of the web page about a node; None if no page is set."""
    template = settings.provisioner.node_page
    return lambda name: template.replace("{node}", segment(name)) if template else None


def links(settings: Settings) -> Links | None:
    """Return the client that fetches those pages; None if the provisioner has none."""
    if settings.provisioner.kind is not ProvisionerKind.DRYDOCK:
        return None
    own = settings.drydock
    tokens = peer_tokens(own, settings.keystone)
    return DrydockLinks(own.url, token=tokens.token, renew_token=tokens.renew, design_url=design_url(settings))


def design_url(settings: Settings) -> str:
    """Return the address from which peers fetch a design: as set, or Deckhand's if it stores the documents (C3)."""
    if (
        settings.drydock.design_url
        or settings.designs.store is not DesignStoreKind.DECKHAND
        or not settings.deckhand.url
    ):
        return settings.drydock.design_url
    return f"deckhand+{settings.deckhand.url.rstrip('/')}/revisions/{{revision}}/rendered-documents"


def _drydock(settings: Settings, now: Callable[[], datetime], *, left: float) -> DrydockProvisioner:
    """``left``: seconds of half of ``settle_seconds`` that a connection to Drydock leaves for a token of Keystone."""
    own, begin_within = settings.drydock, math.inf
    tokens = peer_tokens(own, settings.keystone)
    if own.auth is PeerAuth.KEYSTONE:
        begin_within = left
        if left < TOKEN_SECONDS:
            why = f"leaves less than {TOKEN_SECONDS:g} s of half of [engine] settle_seconds for a token of Keystone"
            raise SettingsError([f"[drydock] connect_timeout_seconds {why} (docs/adr/0007)"])
    client = DrydockClient(
        own.url,
        token=tokens.token,
        renew_token=tokens.renew,
        begin_within=begin_within,
        connect_timeout=own.connect_timeout_seconds,
        read_timeout=own.read_timeout_seconds,
        retry_pause=own.nodefilter_pause_seconds,
    )
    try:
        return DrydockProvisioner(client, design_url=design_url(settings), now=now)
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
    options = MachineOptions(
        distro_series=own.distro_series,
        hwe_kernel=own.hwe_kernel,
        user_data=_text("[maas] user_data_file", own.user_data_file),
        erase=own.erase,
        rules=Rules(own.release_failed, own.override_failed_testing, own.keep_enlisted),
    )
    return MaasProvisioner(client, inventory, options=options)


def _ironic(
    settings: Settings, inventory: Callable[[int], Inventory], now: Callable[[], datetime]
) -> IronicProvisioner:
    own = settings.ironic
    faults = [*own.faults(), *(settings.keystone.faults() if own.auth is IronicAuth.KEYSTONE else ())]
    if faults:
        raise SettingsError(faults)
    tokens = keystone_tokens(settings.keystone) if own.auth is IronicAuth.KEYSTONE else None
    try:
        client = IronicClient(
            own.url if own.url or tokens is None else partial(_endpoint, tokens, settings.keystone),
            token=tokens.token if tokens else None,
            renew_token=tokens.renew if tokens else None,
            basic=(own.user, own.password) if own.auth is IronicAuth.BASIC else None,
            connect_timeout=own.connect_timeout_seconds,
            read_timeout=own.read_timeout_seconds,
            verify=own.ca_file or True,
        )
    except ValueError as error:
        raise SettingsError([f"[ironic] url: {error}"]) from error
    info = _instance_info("[ironic] instance_info_file", own.instance_info_file)
    return IronicProvisioner(
        client,
        inventory,
        instance_info=info,
        deploy_steps=_step_table(own.deploy_steps_file),
        inspect=own.inspect,
        remove=own.remove,
        shared_seconds=SHARED_SECONDS * settings.engine.time_scale,
        now=now,
    )


def _endpoint(tokens: "Tokens", options: KeystoneOptions) -> str:
    """Return Ironic's address in Keystone's catalog."""
    return tokens.endpoint("baremetal", interface=options.interface.value, region=options.region)


def _instance_info(setting: str, file: str) -> Mapping[str, Any]:
    info = _json(setting, file)
    if not isinstance(info, dict):
        raise SettingsError([f"{setting}: {file} must hold a JSON object"])
    return info


def _step_table(file: str) -> StepTable:
    try:
        return read_table(_json(STEPS_SETTING, file))
    except UnreadableSteps as error:
        raise SettingsError([f"{STEPS_SETTING}: {file} {error}"]) from error


def _json(setting: str, file: str) -> Any:
    """Return the JSON value in a file; an empty object without one."""
    text = _text(setting, file)
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise SettingsError([f"{setting}: {file} is not JSON: {error}"]) from error


def _text(setting: str, file: str) -> str:
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{setting}: {error}"]) from error
