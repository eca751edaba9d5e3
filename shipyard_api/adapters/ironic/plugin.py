"""Registers Ironic as a provisioner. The rest of the adapter is imported when Ironic is chosen."""

import json
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin, SimulatedPeer, Surroundings
from shipyard_api.settings.types import SettingsError, file_text

from . import IronicAuth, IronicOptions

if TYPE_CHECKING:
    from .deploy_steps import StepTable

# How long one listing of a provisioner serves all reports, in seconds of the site: less than the default interval of
# polls, so that no action is shown the same listing twice.
SHARED_SECONDS = 20.0


def _build(
    options: IronicOptions,
    around: Surroundings,
    inventory: Callable[[int], Inventory],
    now: Callable[[], datetime],
) -> Provisioner:
    from .client import IronicClient
    from .provisioner import IronicProvisioner

    tokens = around.keystone() if options.auth is IronicAuth.KEYSTONE else None
    if tokens and options.connect_timeout_seconds + around.keystone_seconds > around.submission_seconds:
        name = "[ironic] connect_timeout_seconds and that of [keystone] together"
        raise SettingsError([f"{name} must be at most half of [engine] settle_seconds (docs/adr/0007)"])
    try:
        client = IronicClient(
            options.url if options.url or tokens is None else partial(tokens.endpoint, "baremetal"),
            token=tokens.token if tokens else None,
            renew_token=tokens.renew if tokens else None,
            basic=(options.user, options.password) if options.auth is IronicAuth.BASIC else None,
            connect_timeout=options.connect_timeout_seconds,
            read_timeout=options.read_timeout_seconds,
            ca_file=options.ca_file,
        )
    except ValueError as error:
        raise SettingsError([f"[ironic] url: {error}"]) from error
    return IronicProvisioner(
        client,
        inventory,
        instance_info=_instance_info("[ironic] instance_info_file", options.instance_info_file),
        deploy_steps=_step_table(options.deploy_steps_file),
        inspect=options.inspect,
        remove=options.remove,
        unhealthy=options.hold_unhealthy,
        shared_seconds=SHARED_SECONDS * around.time_scale,
        now=now,
    )


def _instance_info(setting: str, file: str) -> Mapping[str, Any]:
    info = _json(setting, file)
    if not isinstance(info, dict):
        raise SettingsError([f"{setting}: {file} must hold a JSON object"])
    return info


def _step_table(file: str) -> "StepTable":
    from .deploy_steps import SETTING, UnreadableSteps, read_table

    try:
        return read_table(_json(SETTING, file))
    except UnreadableSteps as error:
        raise SettingsError([f"{SETTING}: {file} {error}"]) from error


def _json(setting: str, file: str) -> Any:
    """Return the JSON value in a file; an empty object without one."""
    text = file_text(setting, file)
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise SettingsError([f"{setting}: {file} is not JSON: {error}"]) from error


def _simulated(*, site: Path, share: Path, design_token: str) -> SimulatedPeer:
    password = secrets.token_hex(16)
    return SimulatedPeer(
        module="shipyard_simulators.ironic",
        ready="/",
        arguments=("--site", str(site), "--auth", "basic", "--basic-user", "shipyard"),
        environment={"SIMULATOR_BASIC_PASSWORD": password},
        settings={
            "SHIPYARD_IRONIC_AUTH": "basic",
            "SHIPYARD_IRONIC_USER": "shipyard",
            "SHIPYARD_IRONIC_PASSWORD": password,
            "SHIPYARD_IRONIC_DEPLOY_STEPS_FILE": str(share / "etc" / "ironic-fake-steps.json"),
        },
    )


IRONIC = ProvisionerPlugin(
    options=IronicOptions,
    build=_build,
    required=IronicOptions.required,
    faults=IronicOptions.faults,
    needs_keystone=lambda options: options.auth is IronicAuth.KEYSTONE,
    simulated=_simulated,
)
