"""The inputs of an action, frozen when it is created."""

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.items import ItemId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import Parameters, RedeployMode
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.stored import Flat
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.targets import strategy_of
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.provisioner import Wipe

_NO_ACTION, _NO_NAME = ActionId(""), ActionName("")


class ActionInputs(Flat, Struct, frozen=True, kw_only=True):
    """What an action works from.

    ``revision``: 0 without documents. ``site``: None for an action that needs no design. ``policy``: that of the site;
    of its own only for an action without one. ``software``: what a run of the task graph is limited to; None without a
    run.

    ``limits``, ``force``: how servers are drained and taken down, None if they are not. ``wipe``: None if none of them
    is destroyed. ``labels``: to set in Kubernetes, by node. ``relabelled``: those that the provisioner sets, as a
    server has them afterwards. ``placed``, ``moved``: where relabelled servers stand, and those that were only moved.
    ``untasked``: servers that have run tasks, of a site that has none any more.

    ``removed``: servers that have left the design and are taken down, each with the last revision that has it.

    ``node``, ``operation``, ``must_exist``: of an operation on one node. ``made``: when the revision was made: a store
    that is a peer may be emptied and count from 1 again. ``further``: members of the request that mean nothing here.
    ``overridden_holds``: their ids. ``kept``, ``retried``, ``kept_items``: nodes and work items that a retry leaves
    alone, and the action that it retries.
    """

    STORED_VERSION: ClassVar = 1
    PARTS: ClassVar = {"site": "times"}
    SPARSE: ClassVar = True
    OPTIONAL: ClassVar = frozenset(
        {"continue_on_fail", "rebuild", "must_exist", "action", "name", "retried", "kept_items"}
    )

    revision: int = 0
    site: SiteInputs | None = None
    continue_on_fail: bool = False
    limits: TeardownLimits | None = None
    force: bool | None = None
    wipe: Wipe | None = None
    max_parallel_nodes: int | None = None
    rebuild: bool = False
    labels: Mapping[NodeName, Mapping[str, str]] | None = None
    software: Mapping[str, Any] | None = None
    removed: Mapping[NodeName, int] | None = None
    placed: Mapping[NodeName, str] | None = None
    moved: Mapping[NodeName, str] | None = None
    untasked: tuple[NodeName, ...] | None = None
    relabelled: Mapping[NodeName, str] | None = None
    action: ActionId = _NO_ACTION
    name: ActionName = _NO_NAME
    node: NodeName | None = None
    operation: NodeOperation | None = None
    must_exist: bool = False
    made: str | None = None
    further: JsonObject | None = None
    overridden_holds: tuple[str, ...] | None = None
    kept: tuple[NodeName, ...] | None = None
    retried: str = ""
    kept_items: Mapping[StepId, tuple[ItemId, ...]] = field(default_factory=dict)
    policy: PolicyInputs | None = None

    def __post_init__(self) -> None:
        """Take revision and policy of the site, whose groups are the batches of an action on servers."""
        if self.site is None:
            return
        force_setattr(self, "revision", self.site.revision)
        force_setattr(self, "policy", self.site.policy)
        if self.max_parallel_nodes:
            force_setattr(self, "site", replace(self.site, max_parallel_nodes=self.max_parallel_nodes))

    @property
    def of_site(self) -> SiteInputs:
        """What was read of the design, for the steps of actions that read it."""
        if self.site is None:
            raise ValueError(f"{self.name} has read no design")
        return self.site

    @property
    def ways(self) -> Ways:
        """The servers that it interrupts; none where no design could be read."""
        return self.site.ways if self.site else NO_WAYS

    @property
    def is_paced(self) -> bool:
        """Whether a policy, or that it interrupts servers, may keep its nodes from beginning."""
        return self.policy is not None or bool(self.ways.interrupted)

    @property
    def of_operation(self) -> tuple[NodeOperation, NodeName]:
        """The operation on one node, and the node."""
        if self.operation is None or self.node is None:
            raise ValueError(f"{self.name} is no operation on a node")
        return self.operation, self.node

    @property
    def configuration(self) -> DeploymentConfiguration:
        """The configuration of the site; the usual one without a site."""
        return self.site.configuration if self.site else DeploymentConfiguration()

    @property
    def strategy(self) -> Strategy:
        """The groups of the action; the usual one if it names none."""
        return self.site.strategy if self.site else strategy_of((), None)

    @property
    def targets(self) -> tuple[NodeName, ...]:
        """The only nodes of the action; none for the whole site."""
        return self.site.targets if self.site else ()

    @property
    def teardown(self) -> TeardownLimits:
        """The limits of a teardown; the usual ones if the action has none."""
        return self.limits or TeardownLimits()

    def longest_teardown(self, time_scale: float) -> float:
        """Return how many seconds a server may take to be taken down and destroyed; ``time_scale``: as of the site."""
        limits = self.teardown.scaled(time_scale)
        leaves = limits.drain + limits.clear_labels + limits.remove_etcd + limits.etcd_ready + limits.shutdown_kubelet
        return leaves + self.configuration.destroy_nodes.timeout


def teardown_inputs(parameters: Parameters, limits: TeardownLimits, *, destroys: bool) -> dict[str, Any]:
    """Return the inputs of an action that drains its targets, or that ``destroys`` them too."""
    drained: dict[str, Any] = {"limits": limits, "force": parameters.force}
    if not destroys:
        return drained
    return drained | {
        "wipe": Wipe.OS_DISK_ONLY if parameters.preserves_local_storage else Wipe.ALL,
        "rebuild": parameters.mode is RedeployMode.REBUILD,
        "max_parallel_nodes": parameters.max_parallel_nodes,
    }
