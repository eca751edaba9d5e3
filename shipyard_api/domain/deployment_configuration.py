"""How patient a site is: intervals and time limits of the document shipyard/DeploymentConfiguration/v1.

Contract: shipyard-rest, chapter 12.1. Everything is in seconds; a value of 0 or an empty text means the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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
    """

    strategy_name: str | None = None
    verify_site: Patience = Patience(10, 60)
    prepare_site: Patience = Patience(10, 300)
    prepare_nodes: Patience = Patience(30, 1800)
    deploy_nodes: Patience = Patience(30, 3600)
    queue_limit: float = 86_400

    def scaled(self, factor: float) -> "DeploymentConfiguration":
        """Return the configuration for a simulated site whose seconds last ``factor`` seconds."""
        return replace(
            self,
            verify_site=self.verify_site.scaled(factor),
            prepare_site=self.prepare_site.scaled(factor),
            prepare_nodes=self.prepare_nodes.scaled(factor),
            deploy_nodes=self.deploy_nodes.scaled(factor),
            queue_limit=self.queue_limit * factor,
        )


def parse_configuration(data: Mapping[str, Any]) -> DeploymentConfiguration:
    """Return the configuration written in a document that passed its schema, with the defaults filled in."""
    provisioner: Mapping[str, Any] = data.get("physical_provisioner") or {}
    default = DeploymentConfiguration()

    def patience(prefix: str, otherwise: Patience) -> Patience:
        return Patience(
            provisioner.get(f"{prefix}_interval") or otherwise.interval,
            provisioner.get(f"{prefix}_timeout") or otherwise.timeout,
        )

    return DeploymentConfiguration(
        strategy_name=provisioner.get("deployment_strategy") or None,
        verify_site=patience("verify", default.verify_site),
        prepare_site=patience("prepare_site", default.prepare_site),
        prepare_nodes=patience("prepare_node", default.prepare_nodes),
        deploy_nodes=patience("deploy", default.deploy_nodes),
    )
