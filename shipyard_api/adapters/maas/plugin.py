"""Registers MAAS as a provisioner. The rest of the adapter is imported when MAAS is chosen."""

import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin, SimulatedPeer, Surroundings
from shipyard_api.settings.types import SettingsError, file_text

from . import MaasOptions


def _build(
    options: MaasOptions,
    around: Surroundings,  # no tokens, no designs
    inventory: Callable[[int], Inventory],
    now: Callable[[], datetime],  # MAAS is asked by its own clock
) -> Provisioner:
    from .client import MaasClient
    from .decisions import Rules
    from .provisioner import MaasProvisioner
    from .translate import MachineOptions

    try:
        client = MaasClient(
            options.url,
            api_key=options.api_key,
            connect_timeout=options.connect_timeout_seconds,
            read_timeout=options.read_timeout_seconds,
        )
    except ValueError as error:
        raise SettingsError([f"[maas] api_key: {error}"]) from error
    machines = MachineOptions(
        distro_series=options.distro_series,
        hwe_kernel=options.hwe_kernel,
        user_data=file_text("[maas] user_data_file", options.user_data_file),
        erase=options.erase,
        rules=Rules(options.release_failed, options.override_failed_testing, options.keep_enlisted),
    )
    return MaasProvisioner(client, inventory, options=machines)


def _simulated(*, site: Path, share: Path, design_token: str) -> SimulatedPeer:
    key = ":".join(("shipyard", secrets.token_hex(16), secrets.token_hex(16)))
    return SimulatedPeer(
        module="shipyard_simulators.maas",
        ready="/MAAS/api/2.0/version/",
        base="/MAAS/api/2.0",
        arguments=("--site", str(site)),
        environment={"SIMULATOR_API_KEY": key},
        settings={"SHIPYARD_MAAS_API_KEY": key},
    )


MAAS = ProvisionerPlugin(options=MaasOptions, build=_build, required=MaasOptions.required, simulated=_simulated)
