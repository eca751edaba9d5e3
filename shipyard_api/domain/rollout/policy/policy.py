"""The rollout policy of a site as a value (product, section 13)."""

from collections.abc import Mapping, Sequence
from enum import Enum
from math import ceil

from msgspec import Struct, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Budget
from shipyard_api.domain.rollout.policy.gates import Gate, GateKind
from shipyard_api.domain.rollout.policy.waves import Waves
from shipyard_api.domain.rollout.policy.windows import Windows


class Rule(Enum):
    """A kind of rule, which has a meaning for some actions; the values are the keys of a policy."""

    WAVES = "waves"
    BUDGETS = "budgets"
    WINDOWS = "windows"
    LATE = "late"


EVERY_RULE = frozenset(Rule)

ON_SERVERS = frozenset({Rule.BUDGETS, Rule.WINDOWS})
"""The rules for an action on named servers: a wave of them has no meaning."""


class Policy(Struct, frozen=True):
    """What a design says under ``physical_provisioner.policy``; what is left out is None or empty.

    ``chosen``: the nodes that the selectors of waves match, by the wave's name. ``topology``: of each node, the values
    of the labels that budgets name. ``seconds``: how long a phase may take, for windows. All three are found when an
    action is created and are frozen with it. ``teardown``: how long one server may take to be taken down;
    ``leave``: the part of it in which no other server leaves; both 0 for an action that takes none down.
    """

    waves: Waves | None = None
    budgets: tuple[Budget, ...] = ()
    windows: Windows | None = None
    chosen: Mapping[str, frozenset[NodeName]] = field(default_factory=dict)
    topology: Mapping[NodeName, Mapping[str, str]] = field(default_factory=dict)
    seconds: Mapping[Phase, float] = field(default_factory=dict)
    teardown: float = 0.0
    leave: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that budgets count by."""
        return tuple(dict.fromkeys(budget.by for budget in self.budgets if budget.by))

    def length(
        self, nodes: int, at_once: int | None, gates: Sequence[Gate] = (), *, turns: int = 1, taken_down: int = 0
    ) -> float:
        """Return the seconds that a number of nodes takes from its preparation to the end of its deployment.

        ``at_once``: how many may be in flight. Of gates, only a soak has a length that is known. ``turns``: how many
        they take at least. ``taken_down``: how many of the nodes are taken down before they are prepared.
        """
        turns = max(turns, ceil(nodes / at_once) if at_once else 1)
        soaks = sum(gate.seconds for gate in gates if gate.kind is GateKind.SOAK)
        first = min(turns, taken_down)  # in each turn, one server takes all of its time, and others wait for it
        down = first * self.teardown + (taken_down - first) * self.leave
        return turns * sum(self.seconds.values()) + down + soaks
