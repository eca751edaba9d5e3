"""The inputs of an action, frozen when it is created."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import Parameters, RedeployMode
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.provisioner import Wipe


@dataclass(frozen=True, slots=True, kw_only=True)
class TeardownInputs:
    """How servers are drained and taken down. ``wipe``: None if none of them is destroyed."""

    limits: TeardownLimits
    force: bool = False
    wipe: Wipe | None = None
    rebuild: bool = False
    max_parallel_nodes: int = 1

    @classmethod
    def of(cls, parameters: Parameters, limits: TeardownLimits) -> Self:
        """Return the inputs of an action that takes its targets down."""
        return cls(
            limits=limits,
            force=parameters.force,
            wipe=Wipe.OS_DISK_ONLY if parameters.preserves_local_storage else Wipe.ALL,
            rebuild=parameters.mode is RedeployMode.REBUILD,
            max_parallel_nodes=parameters.max_parallel_nodes,
        )

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        destroys = {"wipe": self.wipe.value, "max_parallel_nodes": self.max_parallel_nodes} if self.wipe else {}
        rebuilds = {"rebuild": True} if self.rebuild else {}
        return {"limits": self.limits.to_json(), "force": self.force, **destroys, **rebuilds}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionInputs:
    """What an action works from.

    ``revision``: 0 without documents. ``site``: None for an action that needs no design. ``labels``: to set in
    Kubernetes, by node. ``software``: what a run of the task graph is limited to; None without a run. ``own``: what
    only this action's own steps read.
    """

    revision: int = 0
    site: SiteInputs | None = None
    continues_on_fail: bool = False
    teardown: TeardownInputs | None = None
    labels: Mapping[NodeName, Mapping[str, str]] | None = None
    software: Mapping[str, Any] | None = None
    own: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stored form, one object for all parts."""
        return {
            **(self.site.to_json() if self.site else {"v": 1, "revision": self.revision}),
            **({"continue_on_fail": True} if self.continues_on_fail else {}),
            **(self.teardown.to_json() if self.teardown else {}),
            **({} if self.labels is None else {"labels": {node: dict(labels) for node, labels in self.labels.items()}}),
            **({} if self.software is None else {"software": dict(self.software)}),
            **(self.own or {}),
        }
