"""The vocabulary of a scenario: outcomes of nodes and tasks, faults of the service, and the expected result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType


class NodeOutcomeKind(Enum):
    """How a phase of a node can end."""

    OK = "ok"
    FAIL = "fail"
    NEVER = "never"
    SLOW = "slow"
    BOTH_LISTS = "both_lists"
    NEITHER_LIST = "neither_list"
    FALSE_SUCCESS = "false_success"
    SILENT_BOOT_ACTION = "silent_boot_action"
    REFUSE = "refuse"
    FLAPS = "flaps"
    HOLD = "hold"
    LOSE = "lose"
    REBOOT = "reboot"
    FULL = "full"


_ENDS = (NodeOutcomeKind.OK, NodeOutcomeKind.FAIL, NodeOutcomeKind.NEVER, NodeOutcomeKind.SLOW)

PHASES: Mapping[str, tuple[NodeOutcomeKind, ...]] = MappingProxyType(
    {
        "prepare": (*_ENDS, NodeOutcomeKind.BOTH_LISTS, NodeOutcomeKind.NEITHER_LIST, NodeOutcomeKind.FALSE_SUCCESS),
        "deploy": (*_ENDS, NodeOutcomeKind.NEITHER_LIST, NodeOutcomeKind.SILENT_BOOT_ACTION, NodeOutcomeKind.REFUSE),
        "destroy": (
            NodeOutcomeKind.OK,
            NodeOutcomeKind.FAIL,
            NodeOutcomeKind.NEVER,
            NodeOutcomeKind.SLOW,
            NodeOutcomeKind.FALSE_SUCCESS,
        ),
        # Only in MAAS: the single steps of a machine.
        "test": _ENDS,
        "erase": _ENDS,
        "release": (*_ENDS, NodeOutcomeKind.REFUSE),
        "delete": (NodeOutcomeKind.OK, NodeOutcomeKind.REFUSE),
        "bmc": (*_ENDS, NodeOutcomeKind.FLAPS),
        # Only in Ironic, which has a state for each of them.
        "verify": _ENDS,
        "inspect": _ENDS,
        "clean": (*_ENDS, NodeOutcomeKind.HOLD),
        "steps": (*_ENDS, NodeOutcomeKind.HOLD),
        "agent": (*_ENDS, NodeOutcomeKind.HOLD),
        "service": (*_ENDS, NodeOutcomeKind.HOLD),
        # Only in Kubernetes: whether the machine becomes a node, and whether the node becomes ready.
        "join": (NodeOutcomeKind.OK, NodeOutcomeKind.NEVER, NodeOutcomeKind.SLOW),
        "ready": (NodeOutcomeKind.OK, NodeOutcomeKind.NEVER, NodeOutcomeKind.SLOW, NodeOutcomeKind.FLAPS),
        # Only of hosts: connections over SSH, and tasks.
        "connect": (NodeOutcomeKind.OK, NodeOutcomeKind.NEVER, NodeOutcomeKind.SLOW, NodeOutcomeKind.REFUSE),
        "task": (*_ENDS, NodeOutcomeKind.LOSE, NodeOutcomeKind.REBOOT, NodeOutcomeKind.FULL),
    }
)

# The name of a node may hold its outcome, so a test or a demonstration needs no scenario file.
NAMED_OUTCOMES: tuple[tuple[str, str, NodeOutcomeKind], ...] = tuple(
    (f"{word}-{phase}", phase, kind)
    for phase in PHASES
    for word, kind in (
        ("fails", NodeOutcomeKind.FAIL),
        ("slow", NodeOutcomeKind.SLOW),
        ("never", NodeOutcomeKind.NEVER),
        ("refuses", NodeOutcomeKind.REFUSE),
        ("flaps", NodeOutcomeKind.FLAPS),
        ("holds", NodeOutcomeKind.HOLD),
        ("loses", NodeOutcomeKind.LOSE),
        ("reboots", NodeOutcomeKind.REBOOT),
        ("full", NodeOutcomeKind.FULL),
    )
    if kind in PHASES[phase] and phase != "destroy" and (phase, kind) != ("deploy", NodeOutcomeKind.REFUSE)
)


class TaskOutcomeKind(Enum):
    """How a whole task can end."""

    OK = "ok"
    FAIL = "fail"
    PARTIAL = "partial"
    NEVER = "never"
    SLOW = "slow"


class FaultAction(Enum):
    """What the service does to a request."""

    ERROR = "error"
    HANG = "hang"
    DROP = "drop"
    DELAY = "delay"
    ERROR_AFTER_EFFECT = "error_after_effect"
    DROP_AFTER_EFFECT = "drop_after_effect"
    TRUNCATE = "truncate"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """The planned outcome of one phase of a node.

    ``seconds``: its duration (None: the usual one). ``times``: the number of attempts that it applies to; later
    attempts succeed (None: all attempts).
    """

    kind: NodeOutcomeKind
    reason: str = ""
    seconds: float | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class NodeRule:
    """The outcomes, by phase, of nodes whose names match a shell pattern."""

    pattern: str
    outcomes: Mapping[str, NodeOutcome]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The planned outcome of every task of one action."""

    kind: TaskOutcomeKind
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ServiceFault:
    """Requests that the service fails on purpose.

    ``method`` and ``path`` are shell patterns; the path may omit the API prefix. ``probability`` applies to each
    matching request. ``first``: the number of matching requests at risk (None: all).
    """

    method: str
    path: str
    action: FaultAction
    status: int = 500
    seconds: float = 600
    probability: float = 1
    first: int | None = None


@dataclass(frozen=True, slots=True)
class RegionTraits:
    """How a MAAS region differs from an idle one with default settings.

    ``deployments_at_once``: deployments beyond this number fail (None: no limit). ``erase_on_release``: a site setting
    that no call overrides. ``filters_of_old_releases``: some filters are ignored. ``seconds_a_machine``: the region's
    time for each machine of an answer.
    """

    requests_at_once: int = 16
    deployments_at_once: int | None = None
    erase_on_release: bool = False
    filters_of_old_releases: bool = False
    seconds_a_machine: float = 0.0


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """The expected end of a deployment group, or of a node."""

    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected end of an action under this scenario. Simulators do not use it; the demo does."""

    verdict: str
    groups: Mapping[str, ExpectedEnd] = field(default_factory=dict)
    nodes: Mapping[str, ExpectedEnd] = field(default_factory=dict)
