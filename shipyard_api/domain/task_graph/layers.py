"""Releases and clusters: what each declares, and what holds for a cluster (seeds 001 and 002; contract, 2.3 and 5)."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NewType

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.task_graph.tasks import WANTED_BY, Domain, names_of

ReleaseId = NewType("ReleaseId", int)
ClusterId = NewType("ClusterId", int)
SITE = ClusterId(1)
"""The cluster that every installation has: its site."""


class OwnerKind(Enum):
    """What declares roles, tags and tasks; the values are the words in addresses."""

    RELEASE = "releases"
    CLUSTER = "clusters"

    @property
    def word(self) -> str:
        """The singular."""
        return self.value.removesuffix("s")

    __hash__ = object.__hash__


class Owner(Struct, frozen=True):
    """A release or a cluster."""

    kind: OwnerKind
    id: int

    def __str__(self) -> str:
        return f"{self.kind.word} {self.id}"


class Label(Struct, frozen=True):
    """A role or a tag. ``meta``: its properties as JSON. ``predefined``: declared in the metadata of a release."""

    meta: JsonObject = field(default_factory=dict)
    predefined: bool = False

    @property
    def has_primary(self) -> bool:
        """Whether one of its nodes is the primary."""
        return self.meta.get("has_primary") is True

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that a role gives its nodes."""
        tags = self.meta.get("tags")
        return tuple(tags) if isinstance(tags, list) else ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that a role wants on its nodes, whatever the graph says of it (seed 001)."""
        return names_of(self.meta.get("tasks"))


class Layer(Struct, frozen=True):
    """The declarations of one owner. ``tasks``: entries of the document as written."""

    tasks: tuple[JsonObject, ...] = ()
    roles: Mapping[str, Label] = field(default_factory=dict)
    tags: Mapping[str, Label] = field(default_factory=dict)

    def labels(self, domain: Domain) -> Mapping[str, Label]:
        """Return the roles or the tags."""
        return self.roles if domain is Domain.ROLES else self.tags

    def with_labels(self, domain: Domain, labels: Mapping[str, Label]) -> "Layer":
        """Return the layer with other roles or tags."""
        return replace(self, roles=labels) if domain is Domain.ROLES else replace(self, tags=labels)

    def knows(self, domain: Domain, name: str) -> bool:
        """Return whether a node can have the role or tag. ``mysql:2`` is an instance of the tag ``mysql``."""
        labels = self.labels(domain)
        return name in labels or (domain is Domain.TAGS and name.partition(":")[0] in labels)

    def tasks_of_run(self) -> tuple[JsonObject, ...]:
        """Return the tasks, each with the roles that want it. On the primary of a role, its other name counts too."""
        wanted: dict[str, list[str]] = {}
        for name, role in self.roles.items():
            for task in role.tasks:
                wanted.setdefault(task, []).extend((name, f"primary-{name}"))
        return tuple(
            {
                **{key: value for key, value in task.items() if key != WANTED_BY},
                **({WANTED_BY: wanted[task["id"]]} if task["id"] in wanted else {}),
            }
            for task in self.tasks
        )

    def over(self, below: "Layer") -> "Layer":
        """Return this layer merged over another layer: by task id, role and tag, the upper one counts."""
        return Layer(merge_tasks(below.tasks, self.tasks), {**below.roles, **self.roles}, {**below.tags, **self.tags})

    def tags_by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the tags that each role gives."""
        return {name: role.tags for name, role in self.roles.items()}


def merge_tasks(below: Iterable[JsonObject], above: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the tasks of both. A task of the upper layer replaces the one of its id, in the place of that one."""
    merged = {str(task["id"]): task for task in below}
    merged.update((str(task["id"]), task) for task in above)
    return tuple(merged.values())


class Release(Struct, frozen=True):
    """A named, versioned set of tasks, roles and tags."""

    id: ReleaseId
    name: str = "Shipyard"
    version: str = "1.0"
    operating_system: str = "Linux"
    layer: Layer = Layer()

    @property
    def owner(self) -> Owner:
        """The release as an owner."""
        return Owner(OwnerKind.RELEASE, self.id)


class Cluster(Struct, frozen=True):
    """A site on a release. ``settings``: what conditions of tasks read as ``settings:``."""

    id: ClusterId
    release: Release
    name: str = "site"
    own_layer: Layer = Layer()
    settings: JsonObject = field(default_factory=dict)

    @property
    def layer(self) -> Layer:
        """What holds for the cluster: the cluster's declarations over those of its release."""
        return self.own_layer.over(self.release.layer)

    @property
    def owner(self) -> Owner:
        """The cluster as an owner."""
        return Owner(OwnerKind.CLUSTER, self.id)

    def with_layer(self, owner: Owner, layer: Layer) -> "Cluster":
        """Return the cluster with what a release or cluster would declare; the same cluster if the owner differs."""
        if owner == self.owner:
            return replace(self, own_layer=layer)
        if owner == self.release.owner:
            return replace(self, release=replace(self.release, layer=layer))
        return self
