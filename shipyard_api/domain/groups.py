"""Deployment groups in a rollout: phases, statuses and the verdict. Enum values are the words on the wire."""

from enum import Enum


class Phase(Enum):
    """The two phases of a group."""

    PREPARE = "prepare"
    DEPLOY = "deploy"


class PhaseStatus(Enum):
    """The state of one phase of a group."""

    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    STOPPED = "stopped"


class GroupStatus(Enum):
    """How far a group has come."""

    NOT_STARTED = "not_started"
    PREPARING = "preparing"
    DEPLOYING = "deploying"
    SUCCESS = "success"
    FAILED = "failed"


class Reason(Enum):
    """Why a group failed; ``prepare`` and ``deploy`` name the phase that missed its criteria.

    ``refused``: the provisioner rejected the submission of its nodes.
    ``queue_timeout``: the provisioner queued a phase for too long and never began it.
    """

    PREPARE = "prepare"
    DEPLOY = "deploy"
    DEPENDENCY = "dependency"
    TIMEOUT = "timeout"
    QUEUE_TIMEOUT = "queue_timeout"
    REFUSED = "refused"
    STOPPED = "stopped"


class Verdict(Enum):
    """The outcome of a rollout."""

    SUCCESS = "success"
    FAILED = "failed"
