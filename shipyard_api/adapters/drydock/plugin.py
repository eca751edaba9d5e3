"""Registers Drydock as a provisioner. The rest of the adapter is imported when Drydock is chosen."""

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.links import Links
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.provisioner_plugin import ProvisionerPlugin, SimulatedPeer, Surroundings
from shipyard_api.settings.types import PeerAuth, SettingsError

from . import DrydockOptions
from .links import DrydockAddresses

# What a token of Keystone may take, at least, before a task is posted to Drydock.
TOKEN_SECONDS = 1.0


def _build(
    options: DrydockOptions,
    around: Surroundings,
    inventory: Callable[[int], Inventory],  # Drydock reads the design itself
    now: Callable[[], datetime],
) -> Provisioner:
    from .client import DrydockClient
    from .provisioner import DrydockProvisioner

    begin_within, tokens = math.inf, around.tokens(options)
    if options.auth is PeerAuth.KEYSTONE:
        begin_within = around.submission_seconds - options.connect_timeout_seconds
        if begin_within < TOKEN_SECONDS:
            why = f"leaves less than {TOKEN_SECONDS:g} s of half of [engine] settle_seconds for a token of Keystone"
            raise SettingsError([f"[drydock] connect_timeout_seconds {why} (docs/adr/0007)"])
    client = DrydockClient(
        options.url,
        token=tokens.token,
        renew_token=tokens.renew,
        begin_within=begin_within,
        connect_timeout=options.connect_timeout_seconds,
        read_timeout=options.read_timeout_seconds,
        retry_pause=options.nodefilter_pause_seconds,
    )
    try:
        return DrydockProvisioner(client, design_url=around.design_url, now=now)
    except ValueError as error:
        raise SettingsError([f"[drydock] design_url: {error}"]) from error


def _links(options: DrydockOptions, around: Surroundings) -> Links:
    from .links import DrydockLinks

    tokens = around.tokens(options)
    return DrydockLinks(options.url, token=tokens.token, renew_token=tokens.renew, design_url=around.design_url)


def _simulated(*, site: Path, share: Path, design_token: str) -> SimulatedPeer:  # it reads the committed design
    return SimulatedPeer(
        module="shipyard_simulators.drydock",
        ready="/versions",
        base="/api/v1.0",
        environment={"SIMULATOR_DESIGN_TOKEN": design_token},
    )


DRYDOCK = ProvisionerPlugin(
    options=DrydockOptions,
    build=_build,
    required=lambda options: {"[drydock] url": options.url},
    reads_designs=True,
    node_page=lambda options, name: DrydockAddresses(options.url).node(name),
    job_page=lambda options, job: DrydockAddresses(options.url).job(job),
    links=_links,
    simulated=_simulated,
)
