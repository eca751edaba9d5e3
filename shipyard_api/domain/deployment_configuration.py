"""How patient a site is: intervals and time limits of the document shipyard/DeploymentConfiguration/v1.

Contract: shipyard-rest, chapter 12.1. Everything is in seconds; a value of 0 or an empty text means the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shipyard_api.domain.modes import SERIAL, Mode, OnTimeout

SCHEMA = "shipyard/DeploymentConfiguration/v1"
NAME = "deployment-configuration"


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to look at work (``interval``) and how long it may run (``timeout``), in seconds."""

    interval: float
    timeout: float

    def scaled(self, factor: float) -> "Patience":
        """Return the same patience in a world that runs ``1 / factor`` times as fast."""
        return Patience(self.interval * factor, self.timeout * factor)


@dataclass(frozen=True, slots=True)
class DeploymentConfiguration:
    """What this release uses of a site's deployment configuration.

    ``strategy_name`` is None when the site names none. ``queue_limit`` bounds in seconds how long work may wait in the
    provisioner before it starts; the time limit of the work itself only begins then (contract: drydock, chapter 12).
    ``mode``: how much may be in flight. ``join``: whether a deployed node must become ready in Kubernetes before it
    counts, None where the site does not say; it is not looked at for ``join_wait`` seconds, then as ``node_status``
    says.
    """

    strategy_name: str | None = None
    verify_site: Patience = Patience(10, 60)
    prepare_site: Patience = Patience(10, 300)
    prepare_nodes: Patience = Patience(30, 1800)
    deploy_nodes: Patience = Patience(30, 3600)
    queue_limit: float = 86_400
    mode: Mode = SERIAL
    join: bool | None = None
    join_wait: float = 120
    node_status: Patience = Patience(30, 1800)

    def scaled(self, factor: float) -> "DeploymentConfiguration":
        """Return the configuration for a simulated site whose seconds last ``factor`` seconds."""
        return replace(
            self,
            verify_site=self.verify_site.scaled(factor),
            prepare_site=self.prepare_site.scaled(factor),
            prepare_nodes=self.prepare_nodes.scaled(factor),
            deploy_nodes=self.deploy_nodes.scaled(factor),
            queue_limit=self.queue_limit * factor,
            join_wait=self.join_wait * factor,
            node_status=self.node_status.scaled(factor),
        )


def parse_configuration(data: Mapping[str, Any]) -> DeploymentConfiguration:
    """Return the configuration written in a document that passed its schema, with the defaults filled in."""
    provisioner: Mapping[str, Any] = data.get("physical_provisioner") or {}
    kubernetes: Mapping[str, Any] = data.get("kubernetes") or {}
    default = DeploymentConfiguration()

    def patience(prefix: str, otherwise: Patience, section: Mapping[str, Any] = provisioner) -> Patience:
        return Patience(
            _whole(section, f"{prefix}_interval") or otherwise.interval,
            _whole(section, f"{prefix}_timeout") or otherwise.timeout,
        )

    return DeploymentConfiguration(
        strategy_name=provisioner.get("deployment_strategy") or None,
        verify_site=patience("verify", default.verify_site),
        prepare_site=patience("prepare_site", default.prepare_site),
        prepare_nodes=patience("prepare_node", default.prepare_nodes),
        deploy_nodes=patience("deploy", default.deploy_nodes),
        mode=_mode(provisioner),
        join=kubernetes.get("join"),
        join_wait=_whole(provisioner, "join_wait") or default.join_wait,
        node_status=patience("node_status", default.node_status, kubernetes),
    )


def _whole(section: Mapping[str, Any], key: str) -> int:
    """Return an integer as one, 0 if it is not given: JSON Schema counts 75.0 as an integer, too."""
    return int(section.get(key) or 0)


def _mode(provisioner: Mapping[str, Any]) -> Mode:
    return Mode(
        max_parallel_groups=_whole(provisioner, "max_parallel_groups") or SERIAL.max_parallel_groups,
        max_nodes_in_flight=_whole(provisioner, "max_nodes_in_flight") or None,
        deploy_as_prepared=provisioner.get("deploy_as_prepared", SERIAL.deploy_as_prepared),
        on_timeout=OnTimeout(provisioner.get("on_timeout") or SERIAL.on_timeout.value),
    )
