"""What to do with one machine, decided from its state in MAAS and from our tags on it; pure.

Contract maas, chapter 11, as three tables. Nothing is stored elsewhere: the same state always gives the same decision.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct

from shipyard_api.ports.provisioner import Operation, Wipe


class Status(IntEnum):
    """The statuses of a machine (contract maas, 4). Use the numbers; the labels have exceptions."""

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


RUNS_SCRIPTS = frozenset({Status.COMMISSIONING, Status.TESTING})


class Owner(Enum):
    """Who owns a machine in MAAS: the user of our API key, no one, or another user."""

    US = "us"
    NOBODY = "nobody"
    OTHER = "other"


class Verb(Enum):
    """The operations on a machine; the values are past participles for messages."""

    COMMISSION = "commissioned"
    OVERRIDE_TESTS = "freed of its failed tests"
    DEPLOY = "deployed"
    RUN_SCRIPTS = "commissioned with the scripts of a template"
    RELEASE = "released"
    ERASE = "erased and released"
    ABORT = "aborted"
    POWER_OFF = "powered off"
    SWITCH_OFF = "switched off, to be switched on again"
    SWITCH_ON = "switched on"
    DELETE = "removed from MAAS"


# The operations that must not be repeated, each with parts of the types of the events that it leaves.
TRACES: Mapping[Verb, tuple[str, ...]] = {
    Verb.COMMISSION: ("commission",),
    Verb.RUN_SCRIPTS: ("commission",),
    Verb.DEPLOY: ("deploy",),
    Verb.RELEASE: ("release", "releasing", "eras"),
    Verb.ERASE: ("release", "releasing", "eras"),
    Verb.SWITCH_OFF: ("powering off", "powering down", "power off"),
    Verb.SWITCH_ON: ("powering on", "powering up", "power on"),
}


def arrived(verb: Verb, events: Iterable[str]) -> bool:
    """Return whether types of events of a machine show that MAAS carried out the operation."""
    return any(trace in event.lower() for event in events for trace in TRACES[verb])


class Machine(Struct, frozen=True):
    """A machine in MAAS. ``power``: on, off, unknown or error, as MAAS last saw it.

    ``installation``: the number of its latest installation; empty before the first.
    """

    system_id: str
    hostname: str
    status: int
    label: str
    owner: str = ""
    locked: bool = False
    power: str = "unknown"
    tags: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    installation: str = ""


class History(Struct, frozen=True):
    """The tags of the job. ``claimed``: on the machine, so its failure is the job's own. ``stopped``: the job was
    aborted and starts nothing any more. ``wants_scripts``: a template asks for commissioning scripts, which
    ``started_scripts`` once. ``begun``: an operation that must not be repeated was about to begin on it;
    ``switches_on``: that of switching it on.
    """

    claimed: bool = False
    stopped: bool = False
    wants_scripts: bool = False
    started_scripts: bool = False
    begun: bool = False
    switches_on: bool = False


class Rules(Struct, frozen=True):
    """Rules from the settings. ``release_failed``: prepare releases machines that failed to deploy or to release;
    ``override_failed_testing``: prepare accepts machines that failed their tests; ``keep_enlisted``: this destroy
    leaves the machine enlisted in MAAS.
    """

    release_failed: bool = True
    override_failed_testing: bool = False
    keep_enlisted: bool = False


class Kind(Enum):
    """The state of a node in a job."""

    DONE = "done"
    WAIT = "wait"
    START = "start"
    FAIL = "fail"


class Decision(Struct, frozen=True):
    """What to do with a machine; ``verb`` for START, ``why`` for FAIL."""

    kind: Kind
    verb: Verb | None = None
    why: str = ""


DONE, WAIT = Decision(Kind.DONE), Decision(Kind.WAIT)


def start(verb: Verb) -> Decision:
    """Return the decision to start an operation."""
    return Decision(Kind.START, verb)


def fail(why: str) -> Decision:
    """Return the decision that the node has failed."""
    return Decision(Kind.FAIL, why=why)


def decide_missing(operation: Operation) -> Decision:
    """Return the decision for a node that MAAS has no machine for."""
    return DONE if operation is Operation.DESTROY_NODES else fail("not enlisted in MAAS")


def decide(
    machine: Machine, owner: Owner, history: History, operation: Operation, rules: Rules, wipe: Wipe = Wipe.ALL
) -> Decision:
    """Return what to do with the machine."""
    joins_foreign = operation is Operation.PREPARE_NODES and machine.status == Status.COMMISSIONING
    if owner is Owner.OTHER and not joins_foreign:
        # MAAS assigns a machine to the user who commissions it while that runs; waiting changes nothing.
        return fail(f"it is {machine.label} and belongs to the MAAS user {machine.owner}")
    if operation is Operation.PREPARE_NODES:
        decision = _prepare(machine, owner, history, rules)
    elif operation is Operation.DEPLOY_NODES:
        decision = _deploy(machine, owner, history)
    elif operation is Operation.POWER_CYCLE_NODES:
        decision = _power_cycle(machine, owner, history)
    else:
        decision = _destroy(machine, owner, history, rules, wipe)
    if decision.verb is None:
        return decision
    if machine.locked:
        return fail(f"it is {machine.label} and locked in MAAS, so it cannot be {decision.verb.value}")
    ends_power_cycle = decision.verb is Verb.SWITCH_ON and history.begun  # a stop leaves no server off
    if history.stopped and not ends_power_cycle:
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
            return failed if history.claimed else start(Verb.COMMISSION)
        case Status.FAILED_TESTING:
            return start(Verb.OVERRIDE_TESTS) if rules.override_failed_testing else failed
        case Status.FAILED_DISK_ERASING if rules.release_failed:
            # The release that failed was to erase the disks, so this one is, too.
            return failed if history.claimed else start(Verb.ERASE)
        case Status.FAILED_DEPLOYMENT | Status.FAILED_RELEASING if rules.release_failed:
            # Never with erasing: a destroy may have asked to keep some of these disks.
            return failed if history.claimed else start(Verb.RELEASE)
        case _:
            return failed


def _deploy(machine: Machine, owner: Owner, history: History) -> Decision:
    status = machine.status
    if status == Status.READY or (status == Status.ALLOCATED and owner is Owner.US):
        if history.claimed:
            return fail(f"its deployment was started and then undone: it is {machine.label}")
        return start(Verb.RUN_SCRIPTS if history.wants_scripts and not history.started_scripts else Verb.DEPLOY)
    if owner is Owner.US and status in RUNS_SCRIPTS and (history.wants_scripts or history.started_scripts):
        return WAIT
    if owner is Owner.US and status == Status.DEPLOYING:
        return WAIT
    if owner is Owner.US and status == Status.DEPLOYED:
        return DONE
    return fail(f"it is {machine.label}")


def _power_cycle(machine: Machine, owner: Owner, history: History) -> Decision:
    """Off and then on: MAAS has no request for both, and its drivers restart a machine that is on if asked for on."""
    if owner is not Owner.US or machine.status != Status.DEPLOYED:
        return fail(f"it is {machine.label}, and not deployed by Shipyard")
    if history.switches_on and machine.power == "on":
        return DONE
    if history.claimed and machine.power == "error":
        return fail(f"it is {machine.label}, and its power could not be switched {'on' * history.switches_on or 'off'}")
    if history.switches_on or machine.power == "off":
        return start(Verb.SWITCH_ON)
    return WAIT if history.claimed else start(Verb.SWITCH_OFF)


def _destroy(machine: Machine, owner: Owner, history: History, rules: Rules, wipe: Wipe) -> Decision:
    release = start(Verb.ERASE if wipe is Wipe.ALL else Verb.RELEASE)
    match machine.status:
        case Status.COMMISSIONING | Status.TESTING | Status.DEPLOYING:
            return start(Verb.ABORT)
        case Status.ALLOCATED | Status.RESERVED | Status.BROKEN | Status.DEPLOYED | Status.FAILED_DEPLOYMENT:
            return release
        case Status.FAILED_DISK_ERASING | Status.FAILED_RELEASING:
            # Removing a machine that still holds data would make it impossible to find.
            return fail(f"it is {machine.label}, its disks may still hold data") if history.claimed else release
        case Status.RELEASING | Status.DISK_ERASING:
            return WAIT
        case Status.FAILED_TESTING if owner is Owner.US:
            return start(Verb.OVERRIDE_TESTS)  # then MAAS shows its earlier status, which may mean data on its disks
        case Status.NEW | Status.FAILED_COMMISSIONING | Status.READY | Status.FAILED_TESTING:
            if machine.power in ("on", "error"):
                return start(Verb.POWER_OFF)
            return DONE if rules.keep_enlisted else start(Verb.DELETE)
        case _:
            return fail(f"it is {machine.label}")


def holds_nothing_to_release(machine: Machine, owner: Owner) -> bool:
    """Return whether a destroy cannot erase the machine: MAAS erases only allocated or deployed machines."""
    idle = (Status.NEW, Status.FAILED_COMMISSIONING, Status.READY, Status.COMMISSIONING)
    return machine.status in idle or (machine.status == Status.FAILED_TESTING and owner is Owner.NOBODY)
