"""What to do with one node, decided from its state alone; pure (contract ironic-provisioner, section 14)."""

from collections.abc import Mapping, Sequence
from enum import Enum

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.templates import DeployStep
from shipyard_api.domain.markers import same_action
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Operation, Wipe

from .deploy_steps import has_passed
from .translate import Node, error_of


class Verb(Enum):
    """The verbs on a node; the values are Ironic's where it has one, and are stored in our marks."""

    MANAGE = "manage"
    INSPECT = "inspect"
    PROVIDE = "provide"
    DEPLOY = "active"
    UNDEPLOY = "deleted"
    CLEAN = "clean"
    REBUILD = "rebuild"
    SERVICE = "service"
    ABORT = "abort"
    END_MAINTENANCE = "end maintenance"
    POWER_OFF = "power off"
    POWER_ON = "power on"
    REMOVE = "remove"
    PUT_BACK = "put back"  # restores the fields changed for the job
    NOTE = "note"  # only writes our mark


class Done(Struct, frozen=True):
    """The node is in the state that the job wants."""


class Failed(Struct, frozen=True):
    """The node has failed in this job."""

    why: str


class Waiting(Struct, frozen=True):
    """The node is in transition, or cannot start one now."""

    why: str


class Do(Struct, frozen=True):
    """The node needs this verb next."""

    verb: Verb


Decision = Done | Failed | Waiting | Do


class NodePolicy(Struct, frozen=True):
    """The policy of an installation. ``inspect``: a prepare inspects hardware. ``undo_failed``: a prepare undoes failed
    deployments. ``remove``: this destroy deletes the node from Ironic.
    """

    inspect: bool = False
    undo_failed: bool = True
    remove: bool = False


class Job(Struct, frozen=True):
    """One piece of work on nodes.

    ``left_out``: the deploy steps that Ironic dropped, by node, where known. ``steps``: those to send, by node.
    ``again``: the nodes that it begins again with.
    """

    marker: str
    operation: Operation
    wipe: Wipe = Wipe.ALL
    policy: NodePolicy = NodePolicy()
    stopped: bool = False
    left_out: Mapping[NodeName, tuple[str, ...]] = field(default_factory=dict)
    steps: Mapping[NodeName, Sequence[DeployStep]] = field(default_factory=dict)
    again: frozenset[NodeName] = frozenset()


_PROTECTED = frozenset({Verb.UNDEPLOY, Verb.REBUILD})
_CLEAN_FAILURE = "clean failure"
_SERVICE_FAILURE = "service failure"
_UNDONE = frozenset({"available", "manageable", "enroll", "inspect failed"})
_SETTLES_FOR_PREPARE = frozenset({"verifying", "inspecting", "inspect wait", "cleaning", "clean wait", "deleting"})
_DEPLOYING = frozenset({"deploying", "wait call-back"})
_INTERRUPTIBLE = frozenset({"wait call-back", "clean wait", "inspect wait"})
_FAILED = frozenset({"deploy failed", "error", "clean failed", "inspect failed"})
_SERVICING = frozenset({"servicing", "service wait"})
_HELD = frozenset({"clean hold", "deploy hold", "service hold"})
_CAN_BE_UNDEPLOYED = frozenset(
    {
        *("active", "deploy failed", "error", "wait call-back", "rescue", "rescue wait", "rescue failed"),
        *("unrescue failed", "service wait", "service failed"),
    }
)
_SETTLES_FOR_DESTROY = frozenset(
    {*_SETTLES_FOR_PREPARE, "deploying", "adopting", "rescuing", "unrescuing", "servicing"},
)


def decide(node: Node | None, name: NodeName, job: Job) -> Decision:
    """Return what to do with a node of the job; a stopped job starts nothing."""
    if node is None:
        if job.operation is Operation.DESTROY_NODES:
            return Done()
        return Failed(f"{name} is not enrolled in Ironic, or not visible to Shipyard's user")
    if node.is_beyond(job.marker, job.operation):
        return Done()
    decision = _again(node, job) or _TABLES[job.operation](node, job)
    if isinstance(decision, Do) and decision.verb in _PROTECTED and node.protected:
        return Failed(f"{name} is protected in Ironic")
    if isinstance(decision, Do) and job.stopped and not _was_switched_off(node, job, decision.verb):
        return Failed(f"{name} was left {node.state} because the work was stopped")
    return decision


def _was_switched_off(node: Node, job: Job, verb: Verb) -> bool:
    """Return whether the verb ends a power cycle that has begun: a stop leaves no server off."""
    mark = node.marked(job.marker, job.operation)
    return verb is Verb.POWER_ON and mark is not None and Verb.POWER_OFF.value in mark.tried


def begins_again(node: Node, job: Job) -> bool:
    """Return whether the next verb on the node is the first one of its second try."""
    mark = node.marked(job.marker, job.operation)
    if NodeName(node.name) not in job.again or mark is None or mark.begun_again:
        return False
    # Where an interrupted deployment is undone, the node is available after it.
    undone = node.state == "available" and job.operation is Operation.DEPLOY_NODES
    return node.state in _FAILED or undone


def _again(node: Node, job: Job) -> Decision | None:
    """Return the decision on a node whose work is to begin again; None if its table decides, as on all others.

    Ironic first interrupts what it does with the node. Nothing can be written on the node before that. The mark of the
    second try is written with its first verb, so there is no third one, whatever is repeated or forgotten.
    """
    mark = node.marked(job.marker, job.operation)
    deploys = job.operation is Operation.DEPLOY_NODES
    if mark is None or NodeName(node.name) not in job.again:
        return None
    if mark.begun_again:
        is_unsent = deploys and node.state == "deploy failed" and mark.tried.get(Verb.DEPLOY.value) == node.since
        return Do(Verb.DEPLOY) if is_unsent else None
    if begins_again(node, job):
        if not deploys:
            return _TABLES[job.operation](replace(node, mark=replace(mark, tried={})), job)
        why = _excluded(node, job) or _in_maintenance(node)
        return Failed(why) if why else Do(Verb.DEPLOY)
    if node.state in _INTERRUPTIBLE and not _excluded(node, job):
        return Do(Verb.ABORT)
    return Waiting(node.state) if deploys and node.state in _SETTLES_FOR_PREPARE else None


def not_at_work(node: Node | None, name: NodeName, job: Job) -> str:
    """Return why Ironic does not work on the node for this job, empty if it does."""
    decision = decide(node, name, job)
    if node is None or isinstance(decision, Failed):
        return decision.why if isinstance(decision, Failed) else f"{name} is not in Ironic"
    if isinstance(decision, Waiting) and node.marked(job.marker, job.operation):
        return ""
    return f"Ironic does not work on it for this job any more: it is {node.state}"


def interruption(node: Node, job: Job, version: int) -> Verb | None:
    """Return the verb that interrupts the current transition of a node of the job, or None if there is none."""
    if not node.marked(job.marker, job.operation):
        return None
    if node.state == "wait call-back":
        return Verb.ABORT if version >= _ABORTS_DEPLOYMENTS else Verb.UNDEPLOY
    return Verb.ABORT if node.state in {"clean wait", "inspect wait", "service wait"} else None


_ABORTS_DEPLOYMENTS = 110


def _prepare(node: Node, job: Job) -> Decision:
    if why := _excluded(node, job) or _in_maintenance(node, ignored_fault=_CLEAN_FAILURE):
        return Failed(why)
    inspected = not job.policy.inspect or _tried(node, job, Verb.INSPECT)
    steps = job.steps.get(NodeName(node.name), ())
    cleaned = _tried(node, job, Verb.CLEAN) or has_passed(node.mark, steps)
    match node.state:
        case "enroll":
            return _first_time(node, job, Verb.MANAGE)
        case "manageable" if node.maintenance and _tried(node, job, Verb.CLEAN):
            return Failed(f"{error_of(node)}; a step of its cleaning failed, and someone managed it since")
        case "available" | "manageable" if node.maintenance:
            return Do(Verb.END_MAINTENANCE)
        case "available":
            return Done() if inspected and cleaned else Do(Verb.MANAGE)
        case "manageable" if not inspected:
            return Do(Verb.INSPECT)
        case "manageable":
            return Do(Verb.PROVIDE if cleaned else Verb.CLEAN)
        case "inspect failed" if _tried(node, job, Verb.INSPECT):
            return Failed(error_of(node))
        case "inspect failed":
            return Do(Verb.INSPECT if job.policy.inspect else Verb.MANAGE)
        case "clean failed" if any(_tried(node, job, verb) for verb in (Verb.CLEAN, Verb.PROVIDE, Verb.UNDEPLOY)):
            return Failed(error_of(node))
        case "clean failed":
            return Do(Verb.MANAGE)
        case "deploy failed" | "error" if job.policy.undo_failed:
            return _first_time(node, job, Verb.UNDEPLOY)
        case "deploy failed" | "error":
            return Failed(error_of(node))
        case "active":
            return Done() if node.ours else Failed(f"{node.name} is active, but not by Shipyard")
        case state if state in _SETTLES_FOR_PREPARE:
            return Waiting(state)
    return Failed(_wrong_state(node))


def _deploy(node: Node, job: Job) -> Decision:
    if why := _excluded(node, job):
        return Failed(why)
    if node.ours and node.state in {"active", *_DEPLOYING}:
        return _deployed(node, job)
    if node.state == "active":
        return Failed(f"{node.name} is active, but not by Shipyard")
    if why := _in_maintenance(node):
        return Failed(why)
    if node.state == "available" and _tried(node, job, Verb.DEPLOY):
        return Failed(f"{node.name} was deployed and is available again: someone undid the deployment")
    if node.state == "available":
        return Do(Verb.DEPLOY)
    if node.state == "deploy failed" and node.ours and not _claimed(node, job):
        return Failed(f"{error_of(node)} (from earlier work; prepare the node first)")
    if node.state == "deploy failed":
        return Failed(error_of(node))
    return Failed(_wrong_state(node))


def _rebuild(node: Node, job: Job) -> Decision:
    """Once only: the mark distinguishes a node that is still active from one that is active again."""
    if why := _excluded(node, job):
        return Failed(why)
    if not node.ours:
        return Failed(f"{node.name} is {node.state}, and not deployed by Shipyard: there is nothing to rebuild")
    if node.state in {"active", "deploy failed", "error"} and not _tried(node, job, Verb.REBUILD):
        why = _in_maintenance(node)
        return Failed(why) if why else Do(Verb.REBUILD)
    if node.state in {"active", *_DEPLOYING}:
        return _deployed(node, job)
    return Failed(error_of(node) if node.state in {"deploy failed", "error"} else _wrong_state(node))


def _service(node: Node, job: Job) -> Decision:
    """Once only, as a rebuild. A service that failed earlier is begun again; its maintenance is Ironic's own."""
    if why := _excluded(node, job):
        return Failed(why)
    if not node.ours:
        return Failed(f"{node.name} is {node.state}, and not deployed by Shipyard: there is nothing to service")
    if node.state in {"active", "service failed"} and not _tried(node, job, Verb.SERVICE):
        if why := _in_maintenance(node, ignored_fault=_SERVICE_FAILURE):
            return Failed(why)
        return Do(Verb.END_MAINTENANCE if node.maintenance else Verb.SERVICE)
    if node.state in _SERVICING:
        return Waiting(node.state)
    if node.state == "active":
        return Done()
    return Failed(error_of(node) if node.state == "service failed" else _wrong_state(node))


def _power_cycle(node: Node, job: Job) -> Decision:
    """Off and then on, once only: a node that is on is cycled if the mark says that it was switched on for the job.

    Ironic's one request for both leaves no trace until its end, so a lost one could not be told from one that is done.
    """
    if why := _excluded(node, job) or _in_maintenance(node):
        return Failed(why)
    if not node.ours:
        return Failed(f"{node.name} is {node.state}, and not deployed by Shipyard: it is not power-cycled")
    if node.state != "active":
        return Failed(_wrong_state(node))
    mark = node.marked(job.marker, job.operation)
    is_switched_on = mark is not None and Verb.POWER_ON.value in mark.tried
    if node.power_target:
        return Waiting(f"its power changes to {node.power_target}")
    if is_switched_on and node.power == "power on":
        return Done()
    if is_switched_on and node.last_error:
        return Failed(f"{error_of(node)}; it could not be powered on")
    return Do(Verb.POWER_ON) if is_switched_on or node.power == "power off" else _powered_off(node, job)


def _deployed(node: Node, job: Job) -> Decision:
    """Return the decision on a deployment, which waits for its end: only then can the mark record a dropped step, and
    without that record the next report would call it a success.
    """
    if node.state != "active":
        return Waiting(node.state)
    if (mark := node.marked(job.marker, job.operation)) and mark.unsupported:
        return Failed(f"{node.name}: not supported by the node: {', '.join(mark.unsupported)}")
    return Do(Verb.NOTE) if job.left_out.get(NodeName(node.name)) else Done()


def _destroy(node: Node, job: Job) -> Decision:
    if why := _excluded(node, job):
        return Failed(why)
    again = _cleaned_again(node, job)
    if again or node.state in {"clean failed", "adopt failed"}:
        return again or Failed(f"{error_of(node)}; the disks may hold data")
    if node.state == "service failed" and node.maintenance and node.fault == _SERVICE_FAILURE:
        return Do(Verb.END_MAINTENANCE)  # Ironic set it, and a node in maintenance could not be deployed again
    if why := _in_maintenance(node):
        return Failed(why)
    if node.state in _CAN_BE_UNDEPLOYED:
        return _first_time(node, job, Verb.UNDEPLOY)
    if node.state in _SETTLES_FOR_DESTROY:
        return Waiting(node.state)
    if node.state not in _UNDONE:
        return Failed(_wrong_state(node))
    if node.power == "power on" or node.power_target:
        return _powered_off(node, job)
    if node.mark and node.mark.kept:
        return Do(Verb.PUT_BACK)
    return Do(Verb.REMOVE) if job.policy.remove else Done()


def _cleaned_again(node: Node, job: Job) -> Decision | None:
    """Return the next verb on a node whose cleaning failed in earlier work, None if it is no such node (any more)."""
    if node.state == "clean failed":
        tried = _tried(node, job, Verb.PROVIDE) or _tried(node, job, Verb.UNDEPLOY)
        why = _in_maintenance(node, ignored_fault=_CLEAN_FAILURE)
        return None if tried else Failed(why) if why else Do(Verb.MANAGE)
    if node.state != "manageable" or not _tried(node, job, Verb.MANAGE):
        return None
    if why := _in_maintenance(node, ignored_fault=_CLEAN_FAILURE):
        return Failed(why)
    return Do(Verb.END_MAINTENANCE if node.maintenance else Verb.PROVIDE)


def _powered_off(node: Node, job: Job) -> Decision:
    if node.power_target:
        return Waiting("powering off")
    mark = node.marked(job.marker, job.operation)
    # Power changes leave the state as it is: only the error distinguishes a failure from a request that never arrived.
    if mark and Verb.POWER_OFF.value in mark.tried and node.last_error:
        return Failed(f"{error_of(node)}; it could not be powered off")
    return Do(Verb.POWER_OFF)


_TABLES = {
    Operation.PREPARE_NODES: _prepare,
    Operation.DEPLOY_NODES: _deploy,
    Operation.DESTROY_NODES: _destroy,
    Operation.REBUILD_NODES: _rebuild,
    Operation.SERVICE_NODES: _service,
    Operation.POWER_CYCLE_NODES: _power_cycle,
}


def _tried(node: Node, job: Job, verb: Verb) -> bool:
    """Return whether this job has applied the verb and the node has changed state since."""
    mark = node.marked(job.marker, job.operation)
    return mark is not None and mark.tried.get(verb.value, node.since) != node.since


def _first_time(node: Node, job: Job, verb: Verb) -> Decision:
    """Return the verb, or Failed if this job has applied it already."""
    return Failed(error_of(node)) if _tried(node, job, verb) else Do(verb)


def _claimed(node: Node, job: Job) -> bool:
    """Return whether the job, or another of its action, made the instance on the node."""
    return node.claimed_by(job.marker) or (node.mark is not None and same_action(node.mark.claim, job.marker))


def _excluded(node: Node, job: Job) -> str:
    if node.mark and job.marker in node.mark.after:
        return f"{node.name} belongs to later work of Shipyard now ({node.mark.marker})"
    if (mark := node.marked(job.marker, job.operation)) and mark.refused:
        return mark.refused
    return f"{node.name} belongs to instance {node.instance}, which is not Shipyard's" if node.foreign else ""


def _in_maintenance(node: Node, *, ignored_fault: str = "") -> str:
    """Return why maintenance excludes a node. Maintenance set by a person is never ended here."""
    if not node.maintenance or (ignored_fault and node.fault == ignored_fault):
        return ""
    reason = "; ".join(part for part in (node.fault, node.maintenance_reason) if part)
    return f"{node.name} is in maintenance: {reason or 'no reason given'}"


def _wrong_state(node: Node) -> str:
    if node.state in _HELD:
        return f"{node.name} is in {node.state}: it waits for an operator"
    error = f" ({' '.join(node.last_error.split())})" if node.last_error else ""
    return f"{node.name} is {node.state or 'in no state'}, and this work cannot continue from there{error}"
