"""The document shipyard/DeploymentConfiguration/v1: polling intervals, time limits and rollout mode of a site.

Contract: shipyard-rest, chapter 12.1. Everything is in seconds; a value of 0 or an empty text means the default.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.burn_in import BurnIn
from shipyard_api.domain.rollout.moves import SERIAL, Mode, OnTimeout
from shipyard_api.domain.stored import Flat, Number
from shipyard_api.domain.teardown.limits import TeardownLimits

SCHEMA = "shipyard/DeploymentConfiguration/v1"
NAME = "deployment-configuration"


class PhaseLimits(NamedTuple):
    """Seconds between two polls of a job (``interval``) and seconds that it may run (``timeout``)."""

    interval: Number
    timeout: Number

    def scaled(self, factor: float) -> "PhaseLimits":
        """Return the same limits for a simulation that runs ``1 / factor`` times as fast."""
        return PhaseLimits(self.interval * factor, self.timeout * factor)


class DeploymentConfiguration(Flat, Struct, frozen=True):
    """The parts of a site's deployment configuration that this release uses.

    ``strategy_name`` is None when the site names none. ``queue_limit`` (``queue_timeout``): seconds that a job may wait
    in the provisioner before it starts; its own time limit only begins then (contract: drydock, chapter 12).
    ``mode``: how much may be in flight. ``join``: whether a deployed node must become ready in Kubernetes before it
    counts as successful; None if the site does not set it. The first poll of a joining node comes after ``join_wait``
    seconds, further ones follow ``node_status``. ``teardown``: limits of a teardown, which an action's may replace.
    ``drain_interval``: seconds between two polls of the pods of a group that a service drains.
    ``hold_after``: failed deployments in a row after which a node is held; 0: never. ``policy``: the rollout policy as
    written, None without one. ``burn_in``: the stress tests before a node's first deployment, None without any.
    Actions freeze their own limits of a teardown, and the policy with what was found of it.
    """

    GROUPS: ClassVar = {
        "times": (
            *("verify_site", "prepare_site", "prepare_nodes", "deploy_nodes"),
            *("destroy_nodes", "relabel_nodes", "node_status"),
        )
    }
    FIRST: ClassVar = (*GROUPS["times"], "queue_limit", "join", "join_wait", "hold_after", "mode", "strategy_name")
    OPTIONAL: ClassVar = frozenset({"burn_in"})
    UNSTORED: ClassVar = frozenset({"teardown", "drain_interval", "policy"})

    strategy_name: str | None = None
    verify_site: PhaseLimits = PhaseLimits(10, 60)  # immutable
    prepare_site: PhaseLimits = PhaseLimits(10, 300)  # immutable
    prepare_nodes: PhaseLimits = PhaseLimits(30, 1800)  # immutable
    deploy_nodes: PhaseLimits = PhaseLimits(30, 3600)  # immutable
    destroy_nodes: PhaseLimits = PhaseLimits(30, 86_400)  # immutable
    relabel_nodes: PhaseLimits = PhaseLimits(30, 900)  # immutable
    queue_limit: Number = 86_400
    mode: Mode = SERIAL
    join: bool | None = None
    join_wait: Number = 120
    node_status: PhaseLimits = PhaseLimits(30, 1800)  # immutable
    teardown: TeardownLimits = TeardownLimits()  # immutable
    hold_after: int = 0
    drain_interval: float = 10
    policy: Mapping[str, Any] | None = None
    burn_in: BurnIn | None = None

    def scaled(self, factor: float) -> "DeploymentConfiguration":
        """Return the configuration for a simulated site where a second lasts ``factor`` seconds."""
        return replace(
            self,
            verify_site=self.verify_site.scaled(factor),
            prepare_site=self.prepare_site.scaled(factor),
            prepare_nodes=self.prepare_nodes.scaled(factor),
            deploy_nodes=self.deploy_nodes.scaled(factor),
            destroy_nodes=self.destroy_nodes.scaled(factor),
            relabel_nodes=self.relabel_nodes.scaled(factor),
            queue_limit=self.queue_limit * factor,
            join_wait=self.join_wait * factor,
            node_status=self.node_status.scaled(factor),
            teardown=self.teardown.scaled(factor),
            drain_interval=self.drain_interval * factor,
            burn_in=self.burn_in and self.burn_in.scaled(factor),
        )

    def with_time_to_burn_in(self) -> "DeploymentConfiguration":
        """Return the configuration with a preparation that may last longer, by its burn-in."""
        if self.burn_in is None:
            return self
        interval, timeout = self.prepare_nodes
        return replace(self, prepare_nodes=PhaseLimits(interval, timeout + self.burn_in.length))


def parse_configuration(data: Mapping[str, Any]) -> DeploymentConfiguration:
    """Return the configuration in the data of a document that passed its schema, with defaults filled in."""
    provisioner: Mapping[str, Any] = data.get("physical_provisioner") or {}
    kubernetes: Mapping[str, Any] = data.get("kubernetes") or {}
    default = DeploymentConfiguration()

    def limits(prefix: str, default_limits: PhaseLimits, section: Mapping[str, Any] = provisioner) -> PhaseLimits:
        return PhaseLimits(
            _whole(section, f"{prefix}_interval") or default_limits.interval,
            _whole(section, f"{prefix}_timeout") or default_limits.timeout,
        )

    return DeploymentConfiguration(
        strategy_name=provisioner.get("deployment_strategy") or None,
        verify_site=limits("verify", default.verify_site),
        prepare_site=limits("prepare_site", default.prepare_site),
        prepare_nodes=limits("prepare_node", default.prepare_nodes),
        deploy_nodes=limits("deploy", default.deploy_nodes),
        destroy_nodes=limits("destroy", default.destroy_nodes),
        relabel_nodes=limits("relabel_nodes", default.relabel_nodes),
        queue_limit=_whole(provisioner, "queue_timeout") or default.queue_limit,
        mode=_mode(provisioner),
        join=kubernetes.get("join"),
        join_wait=_whole(provisioner, "join_wait") or default.join_wait,
        node_status=limits("node_status", default.node_status, kubernetes),
        teardown=_teardown(data.get("kubernetes_provisioner") or {}),
        hold_after=_whole(provisioner, "hold_after_failures"),
        policy=provisioner.get("policy") or None,
        burn_in=BurnIn.read(provisioner.get("burn_in") or {}),
    )


def _teardown(section: Mapping[str, Any]) -> TeardownLimits:
    default = TeardownLimits()
    return TeardownLimits(
        drain=_whole(section, "drain_timeout") or default.drain,
        drain_grace_period=_whole(section, "drain_grace_period") or default.drain_grace_period,
        clear_labels=_whole(section, "clear_labels_timeout") or default.clear_labels,
        remove_etcd=_whole(section, "remove_etcd_timeout") or default.remove_etcd,
        etcd_ready=_whole(section, "etcd_ready_timeout") or default.etcd_ready,
    )


def _whole(section: Mapping[str, Any], key: str) -> int:
    """Return an integer, 0 if it is missing. JSON Schema accepts 75.0 as an integer, too."""
    return int(section.get(key) or 0)


def _mode(provisioner: Mapping[str, Any]) -> Mode:
    return Mode(
        max_parallel_groups=_whole(provisioner, "max_parallel_groups") or SERIAL.max_parallel_groups,
        max_nodes_in_flight=_whole(provisioner, "max_nodes_in_flight") or None,
        deploy_as_prepared=provisioner.get("deploy_as_prepared", SERIAL.deploy_as_prepared),
        on_timeout=OnTimeout(provisioner.get("on_timeout") or SERIAL.on_timeout.value),
    )
