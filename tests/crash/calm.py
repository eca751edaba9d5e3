"""The run in which nothing goes wrong, with a snapshot of the world at each of its checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.nodes import NodeName
from tests.fakes.cluster import FakeCluster
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


def joined() -> FakeCluster:
    cluster = FakeCluster()
    cluster.join(*(node for node in NODES if node != "n2"))
    return cluster


# Where nodes are streamed, who sends which node when depends on when one looks: then only how all ends must be alike.
PLANS = {
    "one after another": Plan(dict, World.ending),
    "joining a cluster": Plan(lambda: {"cluster": joined()}, World.ending),
    "all at once": Plan(
        lambda: {
            "configuration": {"max_parallel_groups": 9, "deploy_as_prepared": True, "max_nodes_in_flight": 4},
            "early": ("n0", "n1", "n3", "n5"),
        },
        World.outcome,
    ),
    "update_site": Plan(lambda: {"name": ActionName.UPDATE_SITE}, World.ending),
    "deploy steps": Plan(lambda: {"traits": TRAITS}, World.ending),
    "update_software": Plan(lambda: {"name": ActionName.UPDATE_SOFTWARE}, World.ending),
    "test_site": Plan(lambda: {"name": ActionName.TEST_SITE}, World.ending),
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
        last, self._last = self._last, (rows, [*world.provisioner.calls], len(asked), world.clock.at)
        self.moments.append(world.moment(rows) if self._last != last else None)

    def _delivered(self) -> None:
        self.deliveries.append((len(self.names), self.world.moment()))

    def before(self, chosen: int) -> tuple[World, int]:
        """Return the world as it was before the delivery in which this checkpoint is passed, and its number there."""
        passed, moment = max((one for one in self.deliveries if one[0] <= chosen), key=lambda one: one[0])
        return self.world.at(moment), chosen - passed
