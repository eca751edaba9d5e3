"""Translation to Drydock's requests and from its tasks and findings; pure (contract drydock, sections 4, 7, 8, 10)."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.strategy.selectors import Selector, selects_every_node
from shipyard_api.observing.scrubbing import Scrubber, without_users
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import EarlierWork, JobAhead, JobId, Marker, Operation, Wipe, Work

SYSTEM = "Drydock"
LONGEST_DESIGN_REFERENCE = 128  # characters; a longer one makes the creation of a task fail with 500
# A task's results cut longer names, which would hide success.
LIMITS = ProvisionerLimits(
    SYSTEM,
    longest_name=32,
    preserves_storage=False,
    relabels=True,
    released_by_deploy=frozenset({"failed deployment"}),  # contract: drydock, 12, repeats
)
WHY_NO_STEPS = "its API takes none"
NO_STEPS = SupportedSteps.none(SYSTEM, WHY_NO_STEPS)
LARGEST_REVISION = 2**31 - 1
READABLE_SCHEMES = frozenset({"deckhand+http", "promenade+http", "http", "https", "file"})

CLOCK_SLACK = timedelta(minutes=5)  # how far two clocks may differ that nothing measures
DATE_SLACK = timedelta(seconds=2)  # the Date header has whole seconds and is older than its arrival

MOST_NODES = 3  # nodes named of the task that a queued one waits for

NODE_OPERATIONS = frozenset(
    {Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES, Operation.RELABEL_NODES}
)


def check_design_template(template: str) -> None:
    """Raise ValueError unless Drydock can follow, and store, the design address of every revision."""
    scheme, separator, _ = template.partition("://")
    shown = without_users(template)
    if not separator or scheme not in READABLE_SCHEMES:
        allowed = ", ".join(sorted(READABLE_SCHEMES))
        raise ValueError(f"Drydock cannot follow the design address {shown!r}; its scheme must be one of {allowed}")
    if "{revision}" not in template:
        raise ValueError(f"the design address {shown!r} lacks the revision: write {{revision}} in it")
    longest = len(design_reference(template, LARGEST_REVISION))
    if longest > LONGEST_DESIGN_REFERENCE:
        raise ValueError(
            f"the design address {shown!r} can reach {longest} characters; Drydock stores {LONGEST_DESIGN_REFERENCE}"
        )


# By MAAS's labels, as Drydock passes them on (contract: maas, 4).
_STATES: Mapping[str, MachineState] = {
    "deployed": MachineState.DEPLOYED,
    **dict.fromkeys(("deploying", "failed deployment"), MachineState.INSTALLING),
    **dict.fromkeys(
        (
            *("new", "commissioning", "failed commissioning", "missing", "ready", "reserved", "retired", "allocated"),
            *("releasing", "releasing failed", "disk erasing", "failed disk erasing"),
        ),
        MachineState.FREE,
    ),
    **dict.fromkeys(("broken", "rescue mode", "testing", "failed testing"), MachineState.OTHER),
}


def design_reference(template: str, revision: int) -> str:
    """Return the address of this revision of the design."""
    return template.replace("{revision}", str(revision))


def node_filter(selectors: Sequence[Selector]) -> dict[str, Any] | None:
    """Return the node filter for the selectors; None, which means every node to Drydock, if they select all.

    A union of intersections, in the selectors' order with sorted values, so that equal selectors give equal filters. A
    selector with several labels becomes one filter per label: any label may match, two with one key do not fit into
    one mapping, and Drydock's documentation (all must match) and code (any) disagree on larger mappings. No filter is
    without criteria: Drydock answers those with 500, and a task with one never ends.
    """
    if selects_every_node(selectors):
        return None
    filters: list[dict[str, Any]] = []
    for selector in selectors:
        criteria: dict[str, Any] = {
            "node_names": sorted(selector.node_names),
            "node_tags": sorted(selector.node_tags),
            "rack_names": sorted(selector.rack_names),
        }
        common = {"filter_type": "intersection"} | {key: values for key, values in criteria.items() if values}
        labelled = [common | {"node_labels": {key: value}} for key, value in sorted(selector.node_labels)]
        filters.extend(criteria for criteria in labelled or [common] if criteria not in filters)
    return {"filter_set_type": "union", "filter_set": filters}


def names_filter(names: Iterable[NodeName]) -> dict[str, Any]:
    """Return the node filter for exactly these nodes, at least one."""
    return {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": sorted(set(names))}],
    }


def task_body(marker: Marker, work: Work) -> dict[str, Any]:
    """Return the request body for the work.

    Raises Refused for work that Drydock would answer with 500, apply to wrong nodes, or never end: a missing or too
    long design address, no nodes where they are required, names too long for the results.
    """

    def refuse(why: str, *, whole_site: bool = False) -> Refused:
        return Refused(SYSTEM, work.operation.value, why, marker=marker, whole_site=whole_site)

    if not 0 < len(work.design) <= LONGEST_DESIGN_REFERENCE:
        length = len(work.design)
        raise refuse(f"the design address has {length} characters, allowed are 1 to 128", whole_site=True)
    body: dict[str, Any] = {"action": work.operation.value, "design_ref": work.design, "node_filter": None}
    if work.wipe is not Wipe.ALL:
        raise refuse("Drydock erases all disks of a machine and cannot keep any")
    if work.operation is Operation.REBUILD_NODES:
        raise refuse(f"Drydock cannot rebuild machines: {LIMITS.no_rebuild}")
    if work.operation is Operation.SERVICE_NODES:
        raise refuse(f"Drydock runs no steps on deployed machines: {LIMITS.no_service}")
    if work.operation is Operation.POWER_CYCLE_NODES:
        raise refuse(f"Drydock cannot power-cycle deployed machines: {LIMITS.no_reboot}")
    if work.steps:
        raise refuse(f"Drydock runs no deploy steps: {WHY_NO_STEPS}")
    if work.operation not in NODE_OPERATIONS:
        if work.nodes is not None:
            raise refuse("the operation is about the whole site and takes no nodes")
        return body
    if not work.nodes:
        raise refuse("no node is named; Drydock would select every node, or none and report success")
    if long := sorted(name for name in set(work.nodes) if LIMITS.too_long(name)):
        raise refuse(f"Drydock reports names of at most {LIMITS.longest_name} characters; longer: {', '.join(long)}")
    return body | {"node_filter": names_filter(work.nodes)}


def context_marker(marker: str) -> str | None:
    """Return the marker as the only form Drydock logs, a UUID of version 4, or None if it is not one."""
    try:
        value = uuid.UUID(marker)
    except ValueError:
        return None
    return str(value) if value.version == 4 else None


class Since(Struct, frozen=True):
    """When work was intended, on the clock that dates tasks, which may be ours, that of the answers or neither.

    ``likely``: no task of ours is older if one of these clocks is right. ``earliest``: nor if it is neither.
    """

    likely: datetime
    earliest: datetime

    @classmethod
    def intent(cls, intended_at: datetime, *, ours: datetime, theirs: datetime | None) -> "Since":
        """``theirs`` is the ``Date`` of an answer (None: not sent), ``ours`` our time at its arrival."""
        # A Date that is ahead proves nothing: a proxy may have set it.
        behind = min(timedelta(0), theirs - ours) if theirs is not None else timedelta(0)
        return cls(intended_at + behind - DATE_SLACK, intended_at + behind - CLOCK_SLACK)


def find_job(tasks: Iterable[JsonObject], work: Work, *, since: Since, known: Collection[JobId] = ()) -> JobId | None:
    """Return the requested task of this work that is not ``known``: the oldest since ``since.likely``, else the newest
    since ``since.earliest``.

    Drydock starts the oldest first, later duplicates find nodes already done; and the choice stays the same if more
    duplicates appear.
    """
    matching = sorted(
        (created, str(task.get("task_id")))
        for task in tasks
        if is_of(task, work)
        and task["task_id"] not in known
        and (created := created_at(task)) is not None
        and created >= since.earliest
    )
    later = [task for task in matching if task[0] >= since.likely]
    candidates = later[:1] or matching[-1:]
    return JobId(candidates[0][1]) if candidates else None


def earlier_work(
    tasks: Iterable[JsonObject], work: Work, *, since: Since, known: Collection[JobId]
) -> list[EarlierWork]:
    """Return the requested tasks of the same design on nodes of the work that are not ``known``, the oldest first."""
    earlier = []
    for task in tasks:
        created, nodes = created_at(task), _named(task.get("node_filter"))
        if created is None or created < since.earliest or not nodes or task["task_id"] in known:
            continue
        shared = nodes & frozenset(work.nodes or ())
        operation = next((candidate for candidate in NODE_OPERATIONS if candidate.value == task.get("action")), None)
        if shared and operation and task.get("parent_task_id") is None and task.get("design_ref") == work.design:
            likely = created >= since.likely
            earlier.append((created, EarlierWork(JobId(str(task["task_id"])), operation, tuple(sorted(nodes)), likely)))
    return [work for _, work in sorted(earlier, key=lambda pair: pair[0])]


def task_ahead(tasks: Iterable[JsonObject], job: JobId) -> JobAhead | None:
    """Return what a queued task waits for: the requested task that runs, else the oldest that is queued before it.

    Drydock runs one requested task at a time, oldest first (contract: drydock, section 12).
    """
    requested = [task for task in tasks if task.get("parent_task_id") is None and not has_ended(task)]
    requested_at = next((created_at(task) for task in requested if task.get("task_id") == job), None)
    others = [task for task in requested if task.get("task_id") != job and isinstance(task.get("task_id"), str)]
    running = [task for task in others if task.get("status") in ("running", "terminating")]
    older = [
        task for task in others if requested_at and (created := created_at(task)) is not None and created < requested_at
    ]
    first = min(running or older, key=lambda task: str(task.get("created")), default=None)
    return None if first is None else ahead_of(first)


def has_ended(task: JsonObject) -> bool:
    """Return whether the task is final."""
    return task.get("status") in ("complete", "terminated")


def ahead_of(task: JsonObject) -> JobAhead:
    """Return the task as the reason of a wait: its user, its action and its nodes."""
    named = sorted(_named(task.get("node_filter")) or ())
    nodes = f" of {in_short(named, MOST_NODES)}" if named else ""
    return JobAhead(JobId(str(task["task_id"])), str(task.get("created_by") or ""), f"{task.get('action')}{nodes}")


def is_of(task: JsonObject, work: Work) -> bool:
    """Return whether the task was requested (no subtask) for this operation, design and set of nodes."""
    if task.get("parent_task_id") is not None or not isinstance(task.get("task_id"), str):
        return False
    if task.get("action") != work.operation.value or task.get("design_ref") != work.design:
        return False
    wanted = None if work.nodes is None else frozenset(work.nodes)
    return _named(task.get("node_filter")) == wanted


def created_at(task: JsonObject) -> datetime | None:
    """Return when the task was created; Drydock omits the offset, which is UTC, except in the answer to POST."""
    try:
        created = datetime.fromisoformat(str(task.get("created")))
    except ValueError:
        return None
    return created.replace(tzinfo=UTC) if created.tzinfo is None else created.astimezone(UTC)


_NO_NAMES: frozenset[NodeName] = frozenset()


def _named(node_filter: object) -> frozenset[NodeName] | None:
    """Return the names in a filter made by ``names_filter``, None for no filter, no names for any other form."""
    if node_filter is None:
        return None
    match node_filter:
        case {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": [*names], **others}]}:
            return _NO_NAMES if any(others.values()) else frozenset(NodeName(str(name)) for name in names)
        case _:
            return _NO_NAMES


def condition(name: str, machine: JsonObject, scrubber: Scrubber) -> ObservedMachine:
    """Return a machine of ``GET /nodes``, with MAAS's label as status. Drydock shows no installations."""

    def text(key: str) -> str:
        return scrubber(str(machine.get(key) or "unknown"))

    label = text("status_name")
    state = _STATES.get(label.lower(), MachineState.UNKNOWN)
    return ObservedMachine(name, label, text("power_state"), state, str(machine.get("boot_mac") or "").lower())
