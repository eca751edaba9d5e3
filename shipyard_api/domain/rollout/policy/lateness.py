"""Late nodes: a phase lasts longer with them than it usually does (product, section 13). It is shown, never judged."""

from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName

PERCENT = 95
"""The percent of the measured durations that are no longer than the usual one."""

LEAST = 20
"""The outcomes that a usual duration is measured from, at least: among fewer, no one in twenty can be slower."""

ANY = ""
"""In place of a hardware profile: all nodes together."""

Usual = Mapping[Phase, Mapping[str, float]]
"""How long a phase usually lasts with a node of a hardware profile, in seconds; ``ANY``: of all nodes together."""


class OnLate(Enum):
    """The treatment of a late node, once in an action; the values are the words of the deployment configuration."""

    NOTHING = "nothing"
    HOLD = "hold"
    POWER_CYCLE = "power_cycle"
    RETRY = "retry"


class Lateness(Struct, frozen=True):
    """When a node is late. ``models``: the hardware profiles of the nodes that have one."""

    usual: Usual
    models: Mapping[NodeName, str] = field(default_factory=dict)
    on_late: OnLate = OnLate.NOTHING

    def limit(self, phase: Phase, node: NodeName) -> float | None:
        """Return after how many seconds of a phase the node is late, None if nothing is known."""
        of_phase = self.usual.get(phase, {})
        return of_phase.get(self.models.get(node, ANY), of_phase.get(ANY))

    def late(self, phase: Phase, nodes: Iterable[NodeName], seconds: float) -> dict[NodeName, float]:
        """Return the late nodes of a phase that has lasted ``seconds``, each with its limit."""
        limits = ((node, self.limit(phase, node)) for node in nodes)
        return {node: limit for node, limit in limits if limit is not None and seconds > limit}
