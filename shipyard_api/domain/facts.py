"""What a rollout tells: how groups, their phases and their nodes stand, and each change as a fact (seed 000).

Facts are journalled, logged and shown; the words of the enums are those of the wire.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shipyard_api.domain.criteria import Shortfall
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy import GroupName, Strategy


class Phase(Enum):
    """The two phases of a group."""

    PREPARE = "prepare"
    DEPLOY = "deploy"


class GroupStatus(Enum):
    """How far a group has come; the values are the words on the wire."""

    NOT_STARTED = "not_started"
    PREPARING = "preparing"
    DEPLOYING = "deploying"
    SUCCESS = "success"
    FAILED = "failed"


class Reason(Enum):
    """Why a group failed; ``prepare`` and ``deploy`` name the phase whose criteria were missed."""

    PREPARE = "prepare"
    DEPLOY = "deploy"
    DEPENDENCY = "dependency"
    TIMEOUT = "timeout"
    STOPPED = "stopped"


class Verdict(Enum):
    """How the rollout as a whole ended."""

    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class GroupChanged:
    """Fact: a group has a new status."""

    group: GroupName
    status: GroupStatus
    phase: Phase | None = None
    reason: Reason | None = None
    detail: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesChanged:
    """Fact: nodes that a move sent have a new status; ``reasons`` holds what the provisioner said of failed ones."""

    group: GroupName
    phase: Phase
    status: NodeStatus
    nodes: tuple[NodeName, ...]
    timed_out: bool = False
    reasons: Mapping[NodeName, str] = field(default_factory=dict)


class PhaseStatus(Enum):
    """How a phase of a group stands; the values are the words on the wire."""

    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class MembersKnown:
    """Fact: which nodes each group holds, as the provisioner selected them; groups in the order of the document."""

    strategy: Strategy
    members: Mapping[GroupName, frozenset[NodeName]]


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """Fact: the nodes of a move were handed to the provisioner, which calls the work ``job``."""

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]
    job: str
    batch: int = 1


@dataclass(frozen=True, slots=True)
class PhaseRunning:
    """Fact: the provisioner was seen to be at the work; until then it waited in its queue, which has its own limit."""

    group: GroupName
    phase: Phase
    batch: int = 1


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """Fact: the provisioner is done with a move, or we are done waiting for it."""

    group: GroupName
    phase: Phase
    status: PhaseStatus
    message: str = ""
    batch: int = 1


@dataclass(frozen=True, slots=True)
class JoinAwaited:
    """Fact: the provisioner is done with these nodes of a deploy; they count once they are ready in Kubernetes."""

    group: GroupName
    nodes: tuple[NodeName, ...]
    batch: int = 1


@dataclass(frozen=True, slots=True)
class JobStarted:
    """Fact: the provisioner accepted work on the site as a whole, and calls it ``job``."""

    operation: str
    job: str


@dataclass(frozen=True, slots=True)
class WorkLeftBehind:
    """Fact: we stopped waiting for work that the provisioner may still be at; ``nodes`` is None for the whole site."""

    operation: str
    job: str
    design: str
    nodes: tuple[NodeName, ...] | None
    why: str


@dataclass(frozen=True, slots=True)
class NodesKept:
    """Fact: nodes that an earlier action deployed, and that this one leaves alone."""

    nodes: tuple[NodeName, ...]
    action: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Fact: something that people who look at the action should know; ``kind`` is a word or two on what it is about."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """Fact: a peer has given no answer, ``attempt`` times by now, and the step asks again ``pause`` seconds later."""

    attempt: int
    why: str
    pause: float


@dataclass(frozen=True, slots=True)
class RolloutEnded:
    """Fact: no group can move any more. Names by status, in the order of the document and of the names."""

    verdict: Verdict
    groups: Mapping[GroupStatus, tuple[GroupName, ...]]
    nodes: Mapping[NodeStatus, tuple[NodeName, ...]]
    critical: tuple[GroupName, ...] = ()

    @property
    def headline(self) -> str:
        """What happened, in constant words."""
        return "rollout ended"

    @property
    def words(self) -> dict[str, object]:
        """The report as plain words, for the journal and the log."""
        return {
            "verdict": self.verdict.value,
            "groups": {status.value: list(names) for status, names in self.groups.items()},
            "nodes": {status.value: list(names) for status, names in self.nodes.items()},
            "critical": list(self.critical),
        }


Fact = GroupChanged | NodesChanged | MembersKnown | PhaseStarted | PhaseRunning | PhaseEnded | JoinAwaited
