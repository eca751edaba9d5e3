"""Drain plans and the health of etcd as tables. Pure."""

from collections.abc import Sequence

from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import JsonObject, counts_at, list_at, object_at, objects_at, parse_object, required
from shipyard_api.cli.output.status_text import message_lines

# Pods that need attention first, pods that a drain leaves alone last.
_ORDER = (
    "blocked-forever",
    "blocked-now",
    "evictable",
    "finished",
    "leaving",
    "unreachable",
    "daemon",
    "mirror",
)
_NOT_EVICTED = frozenset({"daemon", "mirror", "unreachable"})
_LOSSES = {"no-controller": "itself", "local-data": "local data"}


def drain_plan(text: str) -> Printout:
    """Return the plan of one node."""
    return plan_of(parse_object(text))


def plan_of(plan: JsonObject) -> Printout:
    """Return what becomes of each pod, what etcd still survives, and what forbids a teardown."""
    totals = counts_at(plan, "totals")
    counted = [f"{totals[name]} {name}" for name in _ORDER if totals.get(name)]
    about = [
        ("Drain Plan:", f"node/{required(plan, 'node')}{', cordoned' if plan.get('cordoned') else ''}"),
        ("Pods:", ", ".join(counted) or "none"),
        ("Lost:", _lost(objects_at(plan, "pods"))),
    ]
    parts: list[TextTable | str] = [fields(about), _pods(objects_at(plan, "pods"))]
    if etcd := objects_at(plan, "etcd"):
        parts.append(_etcd(etcd))
    if lines := message_lines(objects_at(plan, "findings")):
        parts.append("\n".join(lines))
    return sections(*parts)


def drains(entities: Sequence[JsonObject]) -> list[Printout]:
    """Return the drain plan of each server of a plan, or why it has none."""
    return [
        plan_of(object_at(entity, "plan"))
        if entity.get("plan")
        else Printout([fields([("Drain Plan:", f"node/{required(entity, 'node')}: none, {entity.get('why_none')}")])])
        for entity in entities
    ]


def etcd_health(text: str) -> Printout:
    """Return a line for each etcd cluster, and its members, those that are down first."""
    listed = objects_at(object_at(parse_object(text), "details"), "messageList")
    rows = [(cluster.get("name"), cluster.get("message"), _members(cluster)) for cluster in listed]
    return Printout([table(rows, ("Etcd Cluster", "Health", "Members"), gap=4)])


def _members(cluster: JsonObject) -> str:
    """Return the members of a cluster, each with what is wrong with it or its role."""
    members = sorted(objects_at(cluster, "members"), key=lambda member: member.get("state") == "healthy")
    roles = ("leader", "learner")
    states = ("" if member.get("state") == "healthy" else member.get("state") for member in members)
    words = [
        (member.get("name"), state, *filter(member.get, roles)) for member, state in zip(members, states, strict=True)
    ]
    return ", ".join(" ".join(map(str, filter(None, word))) for word in words) or "unknown"


def _pods(pods: Sequence[JsonObject]) -> TextTable:
    rows = [
        (
            f"{pod.get('namespace')}/{pod.get('name')}",
            pod.get("class"),
            pod.get("controller") or "none",
            _losses(pod),
            pod.get("message") or "",
        )
        for pod in sorted(pods, key=_place)
    ]
    return table(rows, ("Pod", "Class", "Controller", "Loses", "Why"), gap=2)


def _etcd(clusters: Sequence[JsonObject]) -> TextTable:
    rows = [
        (
            cluster.get("cluster"),
            cluster.get("health"),
            ", ".join(map(str, list_at(cluster, "members"))) or "none",
            _failures(cluster.get("survivable_failures")),
            _failures(cluster.get("survivable_failures_after")),
        )
        for cluster in clusters
    ]
    return table(rows, ("Etcd Cluster", "Health", "On the Node", "May Fail Now", "Without It"), gap=2)


def _failures(number: object) -> str:
    if not isinstance(number, int):
        return "unknown"
    return str(number) if number >= 0 else "no quorum"


def _lost(pods: Sequence[JsonObject]) -> str:
    losing = [pod for pod in pods if pod.get("class") not in _NOT_EVICTED and list_at(pod, "losses")]
    alone = sum("no-controller" in list_at(pod, "losses") for pod in losing)
    data = sum("local-data" in list_at(pod, "losses") for pod in losing)
    parts = [f"{alone} pod(s) without a controller"] if alone else []
    parts += [f"local data of {data} pod(s)"] if data else []
    return ", ".join(parts) or "nothing"


def _losses(pod: JsonObject) -> str:
    return ", ".join(_LOSSES.get(str(loss), str(loss)) for loss in list_at(pod, "losses"))


def _place(pod: JsonObject) -> tuple[int, str, str]:
    word = str(pod.get("class"))
    place = _ORDER.index(word) if word in _ORDER else len(_ORDER)
    return place, str(pod.get("namespace")), str(pod.get("name"))
