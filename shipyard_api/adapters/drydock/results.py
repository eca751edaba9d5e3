"""Reports from Drydock's tasks, corrected by MAAS; pure (contract drydock, sections 5 to 7)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject, member, objects
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Operation, Work

from .translate import SYSTEM

MOST_MESSAGES = 5  # per node and per job: attempts repeat the same messages

_STATES = {
    "requested": JobState.QUEUED,
    "queued": JobState.QUEUED,
    "running": JobState.RUNNING,
    "terminating": JobState.RUNNING,
    "complete": JobState.ENDED,
    "terminated": JobState.ENDED,
}


class Machine(Enum):
    """What MAAS's status of a machine means for a node that Drydock reports as prepared."""

    FIT = "fit"
    SETTLING = "settling"
    UNFIT = "unfit"
    UNCLEAR = "unclear"


def read_report(job: JobId, work: Work, task: JsonObject) -> JobReport:
    """Return the task's report: succeeded = sent ∩ successes − failures; when it has ended, all others failed.

    Until then, only the nodes in its lists are certain. Work without nodes is ok on ``success`` alone; a site prepared
    in part is ``partial_success``. Raises Unavailable for an invalid task object.
    """
    state = _STATES.get(str(task.get("status")))
    result = task.get("result")
    if state is None or not isinstance(result, Mapping):
        detail = f"task {job} lacks a valid status or result"
        raise Unavailable(SYSTEM, "report", detail)
    ended = state is JobState.ENDED
    notes = [str(result[key]) for key in ("message", "reason") if result.get(key)]
    if task.get("status") == "terminated":
        notes.append("the task was terminated in Drydock")
    if work.nodes is None:
        ok = task.get("status") == "complete" and result.get("status") == "success"
        if ended and not ok:
            notes.append(f"the task ended with {result.get('status')}")
        return JobReport(job, state, ok, message="; ".join(notes))
    sent = frozenset(work.nodes)
    good, bad = _names(result.get("successes")), _names(result.get("failures"))
    succeeded = (sent & good) - bad
    failed = sent - succeeded if ended else sent & bad
    reasons: dict[NodeName, str] = {}
    for node in failed if ended else ():
        if node in good:
            reasons[node] = "Drydock lists the node as succeeded and as failed"
        elif node not in bad:
            reasons[node] = "Drydock ended without a result for the node"
    ok = ended and not failed
    return JobReport(job, state, ok, succeeded, failed, reasons, "; ".join(notes))


def explain(report: JobReport, work: Work, task: JsonObject) -> JobReport:
    """Return the report with reasons from the task's messages and its ``subtask_errors``.

    Errors about a failed node become its reason, errors about a node that succeeded later are dropped, and all others
    go into the job's message. After a destroy, errors about nodes that succeeded stay as a warning: Drydock deletes a
    machine whose erase failed and counts it as destroyed (contract drydock, 7, trap 6).
    """
    result = task.get("result")
    subtasks = task.get("subtask_errors")
    results = [result, *(subtasks.values() if isinstance(subtasks, Mapping) else ())]
    by_node: defaultdict[NodeName, list[str]] = defaultdict(list)
    others: list[str] = []
    unerased: dict[NodeName, str] = {}
    for message in sorted(_errors(results), key=lambda message: str(message.get("ts"))):
        node = NodeName(str(message.get("context")) if message.get("context_type") == "node" else "")
        about = by_node[node] if node in report.failed else others
        text = str(message.get("message"))
        if node in report.succeeded:
            unerased[node] = text
        elif text not in about:
            about.append(text)
    reasons = dict(report.reasons)
    for node, texts in by_node.items():
        reasons[node] = "; ".join([*filter(None, [reasons.get(node)]), *texts[-MOST_MESSAGES:]])
    notes = [*filter(None, [report.message]), *others[-MOST_MESSAGES:]]
    if unerased and work.operation is Operation.DESTROY_NODES:
        nodes = ", ".join(f"{node} ({text})" for node, text in sorted(unerased.items()))
        notes.append(f"removed from MAAS after a failed erase, their disks may still hold data: {nodes}")
    return replace(report, reasons=reasons, message="; ".join(notes))


def with_note(report: JobReport, note: str) -> JobReport:
    """Return the report with a note appended to its message."""
    return replace(report, message=f"{report.message}; {note}" if report.message else note)


def machine(status_name: str) -> Machine:
    """Return what MAAS's status label means after a prepare (contract drydock, 7, trap 5)."""
    word = status_name.lower()
    if word in {"ready", "allocated", "deploying", "deployed"}:
        return Machine.FIT
    if word in {"commissioning", "testing"}:
        return Machine.SETTLING
    if word == "broken" or word.startswith("failed") or word.endswith("failed"):
        return Machine.UNFIT
    return Machine.UNCLEAR


def settle(report: JobReport, machines: Mapping[str, str]) -> JobReport:
    """Return the report of a prepare, corrected by the status labels of the machines in MAAS, by host name.

    Drydock reports a node as prepared while its commissioning runs or has failed: the first keeps the job running, the
    second fails the node. For nodes that MAAS does not list, or with an unclear status, Drydock's report counts. While
    the task runs, only nodes that are fit in MAAS are certain.
    """
    seen = {node: machine(machines[node]) if node in machines else Machine.UNCLEAR for node in report.succeeded}
    fit = frozenset(node for node, what in seen.items() if what is Machine.FIT)
    if report.state is not JobState.ENDED:
        return replace(report, succeeded=fit)
    notes = [report.message] if report.message else []
    settling = sorted(node for node, what in seen.items() if what is Machine.SETTLING)
    unclear = sorted(node for node, what in seen.items() if what is Machine.UNCLEAR)
    unfit = {node: machines[node] for node, what in seen.items() if what is Machine.UNFIT}
    reasons = {node: f"Drydock reports success, but in MAAS it is {status}" for node, status in unfit.items()}
    if settling:
        waiting = ", ".join(f"{node} ({machines[node]})" for node in settling)
        notes.append(f"Drydock's task has ended, MAAS is not done with {waiting}")
    if unclear:
        unconfirmed = ", ".join(f"{node} ({machines.get(node, 'not listed')})" for node in unclear)
        notes.append(f"reported by Drydock, not confirmed by MAAS: {unconfirmed}")
    failed = report.failed.union(unfit)
    return replace(
        report,
        state=JobState.RUNNING if settling else JobState.ENDED,
        ok=not settling and not failed,
        succeeded=report.succeeded.difference(unfit, settling),
        failed=failed,
        reasons={**report.reasons, **reasons},
        message="; ".join(notes),
    )


def _names(listed: object) -> frozenset[NodeName]:
    return frozenset(NodeName(str(name)) for name in listed) if isinstance(listed, list) else frozenset()


def _errors(results: Iterable[Any]) -> Iterable[JsonObject]:
    """Yield the error messages in these result objects."""
    for result in results:
        yield from (message for message in objects(member(result, "details", "messageList")) if message.get("error"))
