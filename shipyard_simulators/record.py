"""A simulator's own log as entries of a history of a run: what it did to machines, and which requests went wrong.

Entries are numbered from 1 within a peer. ``effect`` marks the ones that did something to a machine, and no machine may
have two of the same operation in one action. The time of an entry is under ``at``, as the log has it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from shipyard_simulators.request_log import EVENT

Entry = dict[str, Any]

_DRYDOCK_TASKS = {"prepare_nodes": "prepare", "deploy_nodes": "deploy", "destroy_nodes": "destroy"}
_DRYDOCK_ENDS = {"node_prepared": "ok", "node_deployed": "ok", "node_destroyed": "ok", "node_failed": "fail"}
_MAAS_BEGINS = {"Commissioning": "prepare", "Deploying": "deploy", "Disk erasing": "destroy", "Releasing": "destroy"}
_MAAS_ENDS = {
    "Ready": "ok",
    "Failed commissioning": "fail",
    "Failed testing": "fail",
    "Deployed": "ok",
    "Failed deployment": "fail",
    "Failed disk erasing": "fail",
}
_IRONIC_VERBS = {
    "provide": "prepare",
    "active": "deploy",
    "rebuild": "deploy",
    "service": "service",
    "deleted": "destroy",
}
_IRONIC_ENDS = {
    ("cleaning", "available"): ("prepare", "ok"),
    ("cleaning", "clean failed"): ("prepare", "fail"),
    ("clean wait", "clean failed"): ("prepare", "fail"),
    ("verifying", "enroll"): ("prepare", "fail"),
    ("deploying", "active"): ("deploy", "ok"),
    ("deploying", "deploy failed"): ("deploy", "fail"),
    ("wait call-back", "deploy failed"): ("deploy", "fail"),
    ("servicing", "active"): ("service", "ok"),
    ("servicing", "service failed"): ("service", "fail"),
}
_KUBERNETES = {"kubelet_stopped": "stop-kubelet", "node_removed": "remove-node"}


def entries(peer: str, events: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    """Yield the entries of a peer's log. ``peer``: drydock, maas, ironic or kubernetes; of others, only the faults."""
    read = {"drydock": _drydock, "maas": _maas, "ironic": _ironic, "kubernetes": _kubernetes}.get(peer, _nothing)
    numbers = count(1)
    for event in events:
        yield from _faults(peer, event)
        for entry in read(event):
            yield {"at": event["time"], "process": peer, **entry, "entry": next(numbers)}


def _nothing(_event: Mapping[str, Any]) -> Iterator[Entry]:
    yield from ()


def _begun(operation: str, nodes: Iterable[str], **value: object) -> Entry:
    begun: Entry = {"operation": operation, "type": "invoke", "nodes": list(nodes), "effect": True}
    return begun | ({"value": value} if value else {})


def _ended(operation: str, outcome: str, node: str, reason: object) -> Entry:
    ended: Entry = {"operation": operation, "type": outcome, "nodes": [node]}
    return ended | ({"value": {"reason": reason}} if reason else {})


def _drydock(event: Mapping[str, Any]) -> Iterator[Entry]:
    match event:
        case {"event": "task_requested", "action": action} if action in _DRYDOCK_TASKS:
            yield _begun(_DRYDOCK_TASKS[action], event["nodes"] or (), job=event["task_id"])
        case {"event": "node_started", "phase": phase, "node": node}:
            yield {"operation": "started", "type": "info", "nodes": [node], "phase": phase}
        case {"event": name, "phase": phase, "node": node} if name in _DRYDOCK_ENDS:
            yield _ended(phase, _DRYDOCK_ENDS[name], node, event.get("reason"))


def _maas(event: Mapping[str, Any]) -> Iterator[Entry]:
    if event["event"] != "machine" or event["kind"] != "status":
        return
    node, before, after = event["machine"], event["from"], event["to"]
    operation = _MAAS_BEGINS.get(after)
    if after == "Commissioning" and before == "Failed commissioning":
        # The mark follows the operation: a machine that failed before it had the mark is commissioned once more.
        yield {"operation": "prepare", "type": "info", "nodes": [node], "value": {"again": True}}
    elif operation and (operation != "destroy" or event["cause"]["user"]):
        yield _begun(operation, [node])
    elif after in _MAAS_ENDS and before in _OF_MAAS:
        yield _ended(_OF_MAAS[before], _MAAS_ENDS[after], node, event["text"] if "Failed" in after else "")
        if after == "Ready" and _OF_MAAS[before] == "destroy":
            yield _ended("prepare", "ok", node, "")  # a machine that is released stays commissioned


_OF_MAAS = {**_MAAS_BEGINS, "Testing": "prepare"}


def _ironic(event: Mapping[str, Any]) -> Iterator[Entry]:
    match event:
        case {"event": "verb", "verb": verb, "node": node} if verb in _IRONIC_VERBS:
            yield _begun(_IRONIC_VERBS[verb], [node])
        case {"event": "node_state", "before": before, "state": state, "node": node}:
            if (before, state) in _IRONIC_ENDS:
                yield _ended(*_IRONIC_ENDS[before, state], node, "")


def _kubernetes(event: Mapping[str, Any]) -> Iterator[Entry]:
    match event:
        case {"event": name, "node": node} if name in _KUBERNETES:
            yield _begun(_KUBERNETES[name], [node])
        case {"event": "node_joined", "node": node}:
            yield {"operation": "join", "type": "ok", "nodes": [node]}
        case {"event": "node_changed", "node": node, "cordoned": cordoned}:
            yield {"operation": "cordon", "type": "info", "nodes": [node], "value": {"cordoned": cordoned}}


def _faults(peer: str, event: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the fault that a request met."""
    met = {EVENT: event.get("fault"), "request_faulted": event.get("action")}.get(event["event"])
    if met:
        value = {"peer": peer, "method": event["method"], "path": event["path"]}
        yield {"at": event["time"], "process": "fault", "operation": met, "type": "info", "value": value}
