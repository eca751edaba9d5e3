"""What the baremetal nodes step remembers between two turns, and how that is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.deployment_configuration import Patience
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout import GroupStatus, Move, Phase, Reason, Rollout
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy import GroupName
from shipyard_api.workflow.step import Json


@dataclass(slots=True)
class RolloutState:
    """``rollout`` is None until the members are known; ``job`` is the running one (see job_watch), ``since`` is when
    the provisioner first did not answer the question for members, ``failed`` ends the step without a verdict.
    ``kept`` are nodes that the action ``kept_from`` deployed, and that are left alone.
    """

    inputs: SiteInputs
    rollout: Rollout | None = None
    job: Json | None = None
    since: str | None = None
    failed: str = ""
    kept: tuple[NodeName, ...] = ()
    kept_from: str = ""

    def patience(self, phase: Phase) -> Patience:
        """Return how patient to be with one phase of one group."""
        configuration = self.inputs.configuration
        return configuration.prepare_nodes if phase is Phase.PREPARE else configuration.deploy_nodes

    def summary(self) -> str:
        """Return one sentence about how the rollout ended."""
        if self.rollout is None:
            return ""
        groups, nodes = list(self.rollout.groups.values()), list(self.rollout.nodes.values())
        return (
            f"{groups.count(GroupStatus.SUCCESS)} of {len(groups)} groups and "
            f"{nodes.count(NodeStatus.SUCCESS)} of {len(nodes)} nodes deployed"
        )

    def to_json(self) -> Json:
        """Return the stored form. Names that have not started are left out: most of a large site, at first."""
        stored: dict[str, Any] = {
            "v": 1,
            "inputs": self.inputs.to_json(),
            "job": self.job,
            "since": self.since,
            "failed": self.failed,
        }
        if self.kept:
            stored |= {"kept": list(self.kept), "kept_from": self.kept_from}
        if self.rollout is not None:
            stored["rollout"] = _dump(self.rollout)
        return stored

    @classmethod
    def from_json(cls, stored: Json) -> "RolloutState":
        """Return the state from its stored form."""
        inputs = SiteInputs.from_json(stored["inputs"])
        rollout = _load(inputs, stored["rollout"]) if "rollout" in stored else None
        kept = tuple(NodeName(node) for node in stored.get("kept", ()))
        return cls(inputs, rollout, stored["job"], stored["since"], stored["failed"], kept, stored.get("kept_from", ""))


def _dump(rollout: Rollout) -> dict[str, Any]:
    running = rollout.running
    return {
        "members": {name: sorted(nodes) for name, nodes in rollout.members.items()},
        "nodes": {name: status.value for name, status in rollout.nodes.items() if status is not NodeStatus.NOT_STARTED},
        "groups": {
            name: status.value for name, status in rollout.groups.items() if status is not GroupStatus.NOT_STARTED
        },
        "reasons": {name: reason.value for name, reason in rollout.reasons.items()},
        "running": None
        if running is None
        else {"group": running.group, "phase": running.phase.value, "nodes": list(running.nodes)},
    }


def _load(inputs: SiteInputs, stored: Mapping[str, Any]) -> Rollout:
    rollout = Rollout(inputs.strategy, stored["members"])
    running = stored["running"]
    rollout.restore(
        nodes={NodeName(name): NodeStatus(status) for name, status in stored["nodes"].items()},
        groups={GroupName(name): GroupStatus(status) for name, status in stored["groups"].items()},
        reasons={GroupName(name): Reason(reason) for name, reason in stored["reasons"].items()},
        running=None
        if running is None
        else Move(
            GroupName(running["group"]), Phase(running["phase"]), tuple(NodeName(node) for node in running["nodes"])
        ),
    )
    return rollout
