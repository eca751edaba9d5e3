"""The run in which nothing goes wrong, with a snapshot of the world at each of its checkpoints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.nodes import NodeName
from tests.factories import group_entry
from tests.fakes.cluster import FakeCluster
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.task_graphs import stage, task
from tests.world import Checkpoints, Moment, World

TRAITS = {
    "selectors": [{"node_names": ["n0", "n2", "n4"]}],
    "traits": ["CUSTOM_MIRROR"],
    "requested_traits": ["CUSTOM_MIRROR"],
}
NODES = [NodeName(f"n{number}") for number in range(6)]


@dataclass(frozen=True)
class Plan:
    """How a world is made, and what of its ending must not depend on what went wrong."""

    world: Callable[[], dict[str, Any]]
    ending: Callable[[World], Any]


def joined(*nodes: NodeName) -> FakeCluster:
    cluster = FakeCluster()
    cluster.join(*nodes)
    return cluster


ACCEPTANCE = [
    stage("test"),
    task("disk", stage="test", role="*"),
    task("net", stage="test", role="*"),
]
"""Two tasks that accept nodes, and that no other stage runs."""


def accepting() -> dict[str, Any]:
    """The groups of the world, where nodes must pass both tasks; one of the first fails one, one of the second too."""
    half = {"percent_successful_nodes": 50}
    first = group_entry("first", selectors=[{"rack_names": ["r1"]}], success_criteria=half, accept=["disk", "net"])
    second = group_entry("second", depends_on=["first"], selectors=[{"node_names": ["n3", "n5"]}], accept=["net"])
    failing = {("run disk", NodeName("n2")), ("run net", NodeName("n5"))}
    tasks = FakeRemoteTasks(polls=1, failing=failing, prints="no\nlink\n")
    return {"groups": [first, second], "graph": ACCEPTANCE, "tasks": tasks, "cluster": joined(*NODES)}


# Where nodes are streamed, who sends which node when depends on when one looks: then only how all ends must be alike.
PLANS = {
    "one after another": Plan(dict, World.ending),
    "joining a cluster": Plan(lambda: {"cluster": joined(*(node for node in NODES if node != "n2"))}, World.ending),
    "all at once": Plan(
        lambda: {
            "configuration": {"max_parallel_groups": 9, "deploy_as_prepared": True, "max_nodes_in_flight": 4},
            "early": ("n0", "n1", "n3", "n5"),
        },
        World.outcome,
    ),
    "acceptance tasks": Plan(accepting, World.ending),
    "update_site": Plan(lambda: {"name": ActionName("update_site")}, World.ending),
    "deploy steps": Plan(lambda: {"traits": TRAITS}, World.ending),
    "update_software": Plan(lambda: {"name": ActionName("update_software")}, World.ending),
    "test_site": Plan(lambda: {"name": ActionName("test_site")}, World.ending),
}


@dataclass
class Calm(Checkpoints):
    """The run in which nothing goes wrong, with how things were on the way.

    ``moments``: at each checkpoint, what a worker leaves that is killed there; None where nothing is different from the
    checkpoint before. ``deliveries``: before each delivery, with the number of checkpoints that were passed until then.
    """

    moments: list[Moment | None] = field(default_factory=list)
    deliveries: list[tuple[int, Moment]] = field(default_factory=list)

    @classmethod
    def of(cls, worlds: Callable[..., World], plan: Plan) -> Calm:
        """Play it."""
        self = cls()
        self.plan, self.world = plan, worlds(**plan.world())
        self._last: object = None
        self.world.run(self.world.worker(self), self._delivered)
        self.ending = plan.ending(self.world)
        return self

    def passed(self, name: str) -> None:
        super().passed(name)
        world = self.world
        rows, asked = world.rows(), world.cluster.asked if world.cluster else ()
        tasks = copy.deepcopy(world.tasks.__dict__) if world.tasks else None
        last, self._last = self._last, (rows, [*world.provisioner.calls], len(asked), world.clock.at, tasks)
        self.moments.append(world.moment(rows) if self._last != last else None)

    def _delivered(self) -> None:
        self.deliveries.append((len(self.names), self.world.moment()))

    def before(self, chosen: int) -> tuple[World, int]:
        """Return the world as it was before the delivery in which this checkpoint is passed, and its number there."""
        passed, moment = max((one for one in self.deliveries if one[0] <= chosen), key=lambda one: one[0])
        return self.world.at(moment), chosen - passed
