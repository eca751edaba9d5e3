"""What to do about one machine, decided from what MAAS says of it now and from our marks on it; pure.

Contract maas, chapter 11, as three tables. Nothing is remembered elsewhere: whoever asks again, from the same state,
gets the same answer.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

from shipyard_api.ports.provisioner import Operation, Wipe


class Status(IntEnum):
    """The statuses of a machine (contract maas, 4); the numbers count, the labels have exceptions."""

    NEW = 0
    COMMISSIONING = 1
    FAILED_COMMISSIONING = 2
    MISSING = 3
    READY = 4
    RESERVED = 5
    DEPLOYED = 6
    RETIRED = 7
    BROKEN = 8
    DEPLOYING = 9
    ALLOCATED = 10
    FAILED_DEPLOYMENT = 11
    RELEASING = 12
    FAILED_RELEASING = 13
    DISK_ERASING = 14
    FAILED_DISK_ERASING = 15
    RESCUE_MODE = 16
    ENTERING_RESCUE_MODE = 17
    FAILED_ENTERING_RESCUE_MODE = 18
    EXITING_RESCUE_MODE = 19
    FAILED_EXITING_RESCUE_MODE = 20
    TESTING = 21
    FAILED_TESTING = 22


ABORTABLE = frozenset({Status.COMMISSIONING, Status.DEPLOYING, Status.DISK_ERASING, Status.TESTING})


class Owner(Enum):
    """Whose machine it is, in MAAS: that of the user whose key we have, of nobody, of another user."""

    US = "us"
    NOBODY = "nobody"
    OTHER = "other"


class Verb(Enum):
    """What can be begun on a machine; the values are for people."""

    COMMISSION = "commissioned"
    OVERRIDE_TESTS = "freed of its failed tests"
    DEPLOY = "deployed"
    RELEASE = "released"
    ERASE = "erased and released"
    ABORT = "aborted"
    POWER_OFF = "powered off"
    DELETE = "removed from MAAS"


@dataclass(frozen=True, slots=True)
class Machine:
    """What counts of a machine in MAAS. ``power``: on, off, unknown or error, as MAAS last saw it."""

    system_id: str
    hostname: str
    status: int
    label: str
    owner: str = ""
    locked: bool = False
    power: str = "unknown"
    tags: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """What our marks tell. ``begun``: this job has taken the machine on, so a failure is its own. ``stopped``: the job
    is to begin nothing any more.
    """

    begun: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What an operator decides. ``release_failed``: prepare releases machines that failed to deploy or to release;
    ``override_failed_testing``: prepare takes machines that failed their tests; ``keep_enlisted``: destroy leaves the
    machine in MAAS.
    """

    release_failed: bool = True
    override_failed_testing: bool = False
    keep_enlisted: bool = False


class Kind(Enum):
    """How a node stands in a job."""

    DONE = "done"
    WAIT = "wait"
    START = "start"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a machine; ``verb`` for START, ``why`` for FAIL."""

    kind: Kind
    verb: Verb | None = None
    why: str = ""


DONE, WAIT = Decision(Kind.DONE), Decision(Kind.WAIT)


def start(verb: Verb) -> Decision:
    """Begin something."""
    return Decision(Kind.START, verb)


def fail(why: str) -> Decision:
    """Give the node up."""
    return Decision(Kind.FAIL, why=why)


def decide_missing(operation: Operation) -> Decision:
    """Return what it means that MAAS does not know the machine."""
    return DONE if operation is Operation.DESTROY_NODES else fail("not enlisted in MAAS")


def decide(
    machine: Machine, owner: Owner, history: History, operation: Operation, rules: Rules, wipe: Wipe = Wipe.ALL
) -> Decision:
    """Return what to do about the machine."""
    joins_foreign = operation is Operation.PREPARE_NODES and machine.status == Status.COMMISSIONING
    if owner is Owner.OTHER and not joins_foreign:
        # MAAS gives a machine to whoever commissions it, for as long as that takes; to wait touches nothing.
        return fail(f"it is {machine.label} and belongs to the MAAS user {machine.owner}")
    if operation is Operation.PREPARE_NODES:
        decision = _prepare(machine, owner, history, rules)
    elif operation is Operation.DEPLOY_NODES:
        decision = _deploy(machine, owner, history)
    else:
        decision = _destroy(machine, owner, history, rules, wipe)
    if decision.verb is None:
        return decision
    if machine.locked:
        return fail(f"it is {machine.label} and locked in MAAS, so it cannot be {decision.verb.value}")
    if history.stopped:
        return fail(f"the job was stopped; it is {machine.label} and has not been {decision.verb.value}")
    return decision


def _prepare(machine: Machine, owner: Owner, history: History, rules: Rules) -> Decision:
    failed = fail(f"it is {machine.label}")
    match machine.status:
        case Status.READY:
            return DONE
        case Status.ALLOCATED | Status.DEPLOYED | Status.DEPLOYING if owner is Owner.US:
            return DONE
        case Status.COMMISSIONING | Status.TESTING | Status.DISK_ERASING | Status.RELEASING:
            return WAIT
        case Status.NEW | Status.FAILED_COMMISSIONING | Status.BROKEN:
            return failed if history.begun else start(Verb.COMMISSION)
        case Status.FAILED_TESTING:
            return start(Verb.OVERRIDE_TESTS) if rules.override_failed_testing else failed
        case Status.FAILED_DISK_ERASING if rules.release_failed:
            # Whoever released it wanted the disks erased, and that wish stands.
            return failed if history.begun else start(Verb.ERASE)
        case Status.FAILED_DEPLOYMENT | Status.FAILED_RELEASING if rules.release_failed:
            # Never with erasing, which nobody asked for: disks that a destroy was told to keep may be among them.
            return failed if history.begun else start(Verb.RELEASE)
        case _:
            return failed


def _deploy(machine: Machine, owner: Owner, history: History) -> Decision:
    status = machine.status
    if status == Status.READY or (status == Status.ALLOCATED and owner is Owner.US):
        if history.begun:
            return fail(f"its deployment was begun and then undone: it is {machine.label}")
        return start(Verb.DEPLOY)
    if owner is Owner.US and status == Status.DEPLOYING:
        return WAIT
    if owner is Owner.US and status == Status.DEPLOYED:
        return DONE
    return fail(f"it is {machine.label}")


def _destroy(machine: Machine, owner: Owner, history: History, rules: Rules, wipe: Wipe) -> Decision:
    release = start(Verb.ERASE if wipe is Wipe.ALL else Verb.RELEASE)
    match machine.status:
        case Status.COMMISSIONING | Status.TESTING | Status.DEPLOYING:
            return start(Verb.ABORT)
        case Status.ALLOCATED | Status.RESERVED | Status.BROKEN | Status.DEPLOYED | Status.FAILED_DEPLOYMENT:
            return release
        case Status.FAILED_DISK_ERASING | Status.FAILED_RELEASING:
            # A machine that still holds data is not removed: nobody would find it again.
            return fail(f"it is {machine.label}, its disks may still hold data") if history.begun else release
        case Status.RELEASING | Status.DISK_ERASING:
            return WAIT
        case Status.FAILED_TESTING if owner is Owner.US:
            return start(Verb.OVERRIDE_TESTS)  # what it was before shows then, and that may hold data
        case Status.NEW | Status.FAILED_COMMISSIONING | Status.READY | Status.FAILED_TESTING:
            if machine.power in ("on", "error"):
                return start(Verb.POWER_OFF)
            return DONE if rules.keep_enlisted else start(Verb.DELETE)
        case _:
            return fail(f"it is {machine.label}")


def holds_nothing_to_release(machine: Machine, owner: Owner) -> bool:
    """Say whether a destroy cannot erase the machine: MAAS erases only what somebody has."""
    idle = (Status.NEW, Status.FAILED_COMMISSIONING, Status.READY, Status.COMMISSIONING)
    return machine.status in idle or (machine.status == Status.FAILED_TESTING and owner is Owner.NOBODY)
