"""The words of a scenario: what becomes of nodes, of tasks, of requests, and how it all should end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class NodeOutcomeKind(Enum):
    """What becomes of a node in one phase."""

    OK = "ok"
    FAIL = "fail"
    NEVER = "never"
    SLOW = "slow"
    BOTH_LISTS = "both_lists"
    NEITHER_LIST = "neither_list"
    FALSE_SUCCESS = "false_success"
    REFUSE = "refuse"
    FLAPS = "flaps"
    HOLD = "hold"


class TaskOutcomeKind(Enum):
    """What becomes of a task as a whole."""

    OK = "ok"
    FAIL = "fail"
    PARTIAL = "partial"
    NEVER = "never"
    SLOW = "slow"


class FaultAction(Enum):
    """How the service mistreats a request."""

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
    """What becomes of one node in one phase, why, and after how many seconds (None: the usual time).

    ``times``: only so many attempts go this way, later ones are fine (None: all of them).
    """

    kind: NodeOutcomeKind
    reason: str = ""
    seconds: float | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class NodeRule:
    """The outcomes, by phase, of the nodes whose name matches a shell pattern."""

    pattern: str
    outcomes: Mapping[str, NodeOutcome]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What becomes of every task of one action."""

    kind: TaskOutcomeKind
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ServiceFault:
    """Requests that the service mistreats; method and path are shell patterns, the path may leave out the API prefix.

    ``first``: only so many matching requests are at risk (None: all); ``probability`` applies to each of them.
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
    """How the region controller of MAAS differs from one that has room for all and nothing set.

    ``deployments_at_once``: those begun while so many are under way fail (None: no limit). ``erase_on_release``: the
    setting of the whole site that no call overrides. ``filters_of_old_releases``: some filters are ignored.
    """

    requests_at_once: int = 16
    deployments_at_once: int | None = None
    erase_on_release: bool = False
    filters_of_old_releases: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedGroup:
    """How a deployment group should end."""

    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """How an action over this scenario should end; simulators only carry it for whoever plays the scenario."""

    verdict: str
    groups: Mapping[str, ExpectedGroup] = field(default_factory=dict)
