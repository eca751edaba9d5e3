"""What Kubernetes says of its nodes, in terms of the port. Pure."""

from collections.abc import Collection, Iterable

from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.observing.scrubbing import Scrubber

LONGEST_WHY = 500  # characters

_HOSTNAME = "kubernetes.io/hostname"


def readiness(
    objects: Iterable[JsonObject], nodes: Collection[NodeName], scrubber: Scrubber
) -> dict[NodeName, ObservedMember]:
    """Return the readiness of each of the nodes, from the Node objects of the whole cluster.

    An object is a node's if it has its name, in lower case as Kubernetes wants names, else if it is labelled as the
    host of that name.
    """
    by_name: dict[str, JsonObject] = {}
    by_host: dict[str, JsonObject] = {}
    for each in objects:
        metadata = _mapping(each.get("metadata"))
        by_name[str(metadata.get("name") or "")] = each
        by_host.setdefault(str(_mapping(metadata.get("labels")).get(_HOSTNAME) or "").lower(), each)
    return {node: _readiness(by_name.get(node.lower()) or by_host.get(node.lower()), scrubber) for node in nodes}


def _readiness(node: JsonObject | None, scrubber: Scrubber) -> ObservedMember:
    if node is None:
        return ObservedMember(ready=False, why="not in the cluster", joined=False)
    ready, why = _ready(node)
    metadata = _mapping(node.get("metadata"))
    info = _mapping(_mapping(node.get("status")).get("nodeInfo"))
    return ObservedMember(
        ready,
        "" if ready else one_line(scrubber(why), LONGEST_WHY),
        cordoned=_mapping(node.get("spec")).get("unschedulable") is True,
        uid=str(metadata.get("uid") or ""),
        machine=str(info.get("machineID") or ""),
        labels=_mapping(metadata.get("labels")),
    )


def _ready(node: JsonObject) -> tuple[bool, str]:
    """Return whether a node is ready, and if not, why."""
    leaving = _mapping(node.get("metadata")).get("deletionTimestamp")
    if leaving:
        return False, f"being deleted since {leaving}"
    conditions = _mapping(node.get("status")).get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        # By its type: the order of the list depends on other writers of conditions.
        if isinstance(condition, dict) and condition.get("type") == "Ready":
            return (True, "") if condition.get("status") == "True" else (False, _why(condition))
    return False, "in the cluster, but its kubelet has not said whether it is ready"


def _why(condition: JsonObject) -> str:
    reason = ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
    return reason or f"its condition Ready is {condition.get('status')}"


def one_line(text: str, longest: int) -> str:
    """Return the text in one line, without control characters, cut at a number of characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _mapping(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
