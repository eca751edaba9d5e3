"""What a simulated nailgun has: one release and one cluster (contract: fuel-task-graph, 1, 2.3 and 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

JsonObject = Mapping[str, Any]


class Version(Enum):
    """Fuel versions whose answers differ."""

    FIRST = "6.1"
    TASKS = "9.2"
    TAGS = "10.0"


def _default_roles() -> JsonObject:
    return {
        "controller": {"name": "Controller", "has_primary": True, "tags": ["controller", "database"]},
        "compute": {"name": "Compute", "tags": ["compute"]},
    }


def _default_tags() -> JsonObject:
    return {name: {"has_primary": name != "compute"} for name in ("controller", "database", "compute")}


@dataclass(frozen=True, slots=True)
class FuelSite:
    """A release and a cluster; ``tasks``: those of the release, ``own_...``: what the cluster adds or replaces.

    A Fuel before 10.0 has no tags and no roles of a cluster; they are left out of its answers.
    """

    version: Version = Version.TAGS
    tasks: Sequence[JsonObject] = ()
    own_tasks: Sequence[JsonObject] = ()
    roles: JsonObject = field(default_factory=_default_roles)
    tags: JsonObject = field(default_factory=_default_tags)
    own_roles: JsonObject = field(default_factory=dict)
    own_tags: JsonObject = field(default_factory=dict)

    @property
    def has_tags(self) -> bool:
        """Whether this version knows tags."""
        return self.version is Version.TAGS

    def release(self) -> JsonObject:
        """Return the release."""
        roles = self.roles if self.has_tags else {name: _without_tags(meta) for name, meta in self.roles.items()}
        metadata = {"roles_metadata": roles} | ({"tags_metadata": self.tags} if self.has_tags else {})
        return {
            "id": 2,
            "name": "Ubuntu 14.04",
            "version": f"simulated-{self.version.value}",
            "operating_system": "Ubuntu",
            "state": "available",
            "is_deployable": True,
            "roles": list(roles),
            **metadata,
        }

    def cluster(self) -> JsonObject:
        """Return the cluster."""
        return {"id": 5, "name": "production", "status": "operational", "release_id": 2, "mode": "ha_compact"}

    def tasks_of_release(self) -> Sequence[JsonObject] | None:
        """Return the tasks of the release; 6.1 answers null for none."""
        if self.version is Version.FIRST:
            return list(self.tasks) or None
        return [_answered(task) for task in self.tasks]

    def tasks_of_cluster(self) -> Sequence[JsonObject]:
        """Return the effective tasks: in 6.1 the cluster's own replace all, later each replaces its namesake."""
        if self.version is Version.FIRST:
            return list(self.own_tasks or self.tasks)
        merged = {task["id"]: task for task in (*self.tasks, *self.own_tasks)}
        return [_answered(task) for task in merged.values()]


def _without_tags(meta: JsonObject) -> JsonObject:
    return {name: value for name, value in meta.items() if name != "tags"}


def _answered(task: JsonObject) -> JsonObject:
    return {**task, "task_name": task["id"]}
