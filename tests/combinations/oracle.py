"""What must be true of every run, judged by the peers' own logs, the row, and nothing that Shipyard computes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.combinations.model import TARGETED, Row
from tests.combinations.site import NODES, Site, reason_of

INTERNAL = re.compile(r"internal|Traceback|IntegrityError|psycopg|sqlalchemy|KeyError|AssertionError", re.IGNORECASE)
LETTERS = {"s": "success", "f": "failure", "p": "prepared", "n": "not_started"}


@dataclass(frozen=True)
class Asked:
    """An action that was created: when, what its plan was, and for which nodes. ``stopped``: an operator did.

    ``erased``: the machines that the peer had erased before it, as often as it did.
    """

    since: datetime
    plan: Mapping[str, Any]
    targets: Sequence[str]
    erased: Sequence[str]
    stopped: bool = False


def complaints(site: Site, asked: Asked) -> list[str]:
    """Return what is wrong with the newest action, which has ended."""
    return [
        *_peers(site, asked),
        *_disks(site, asked),
        *_nodes(site, asked),
        *_faces(site),
        *_plan(site, asked),
        *_internal(site),
    ]


def _peers(site: Site, asked: Asked) -> list[str]:
    """Nothing is done twice, and nothing to other nodes."""
    begun = [one for one in (*site.peer.begun(), *site.peer.destroyed()) if one.at >= asked.since]
    times = Counter((one.phase, one.node) for one in begun)
    found = [f"{node}: {phase} was begun {count} times" for (phase, node), count in times.items() if count > 1]
    return found + [
        f"{one.node}: {one.phase} was begun, and it is no target" for one in begun if one.node not in asked.targets
    ]


def _disks(site: Site, asked: Asked) -> list[str]:
    """A rebuild or preserve-local-storage erases nothing, and a rebuild undeploys nothing."""
    if site.row["wipe"] == "replace":
        return []
    erased = Counter(site.peer.erased()) - Counter(asked.erased)
    found = [f"{name}: was erased, and its disks were to be kept" for name in sorted(erased)]
    if site.row["wipe"] == "rebuild":
        found += [f"{one.node}: a rebuild took it down" for one in site.peer.destroyed() if one.at >= asked.since]
    return found


def _nodes(site: Site, asked: Asked) -> list[str]:
    """Each target ended deployed or carries its own reason."""
    if site.row["action"] == "relabel_nodes":
        return [] if site.state().value == "success" else [f"the action ended {site.state().value}"]
    if site.row["action"] == "remove_server":
        return _removed(site, asked)
    ended = [one for one in site.peer.ended() if one.at >= asked.since]
    last = {one.node: one for one in ended}
    deployed = {one.node for one in ended if one.phase == "deploy" and one.ok}
    up = _up(site)
    told = {node["name"]: node for node in site.get(f"/actions/{site.action}/nodes")["nodes"]}
    newest = {node["name"]: node for node in site.get("/nodes")["nodes"]}
    said = _everything_said(site)
    found = []
    for name in asked.targets:
        status, detail = told.get(name, {}).get("status"), told.get(name, {}).get("detail") or ""
        if status == "success" and name not in up:
            found.append(f"{name}: success, and the provisioner did not deploy it")
        if status != "success" and name in deployed and not asked.stopped:
            found.append(f"{name}: {status}, and the provisioner deployed it")
        if newest[name]["status"] == "success" and name not in up:
            found.append(f"{name}: was taken down or failed, and GET /nodes says success")
        if status != "success" and name in last and not last[name].ok and reason_of(name) not in detail:
            found.append(f"{name}: failed since {reason_of(name)!r}, but its detail is {detail!r}")
        if status != "success" and name not in said and not asked.stopped:
            found.append(f"{name}: is not deployed, and nothing says why")
    return found


def _removed(site: Site, asked: Asked) -> list[str]:
    """Each target was taken down, and no view shows it as deployed."""
    found = [] if site.state().value == "success" else [f"the action ended {site.state().value}"]
    up, newest = _up(site), {node["name"]: node["status"] for node in site.get("/nodes")["nodes"]}
    found += [f"{name}: was not taken down" for name in asked.targets if name in up]
    return found + [
        f"{name}: was taken down, and GET /nodes says success"
        for name in asked.targets
        if newest.get(name) == "success"
    ]


def _up(site: Site) -> set[str]:
    """Return the nodes that are deployed, by the peer's log: nothing took them down since."""
    log = [(one.at, one.node, one.phase == "deploy" and one.ok) for one in site.peer.ended()]
    log += [(one.at, one.node, False) for one in site.peer.destroyed()]
    newest = {node: is_deployed for _, node, is_deployed in sorted(log)}
    return {node for node, is_deployed in newest.items() if is_deployed}


def _faces(site: Site) -> list[str]:
    """The views of the API agree."""
    action, path = site.action, f"/actions/{site.action}"
    entity, report, overview = site.get(path), site.get(f"{path}/report"), site.get(f"{path}/overview")
    nodes = site.get(f"{path}/nodes")["nodes"]
    seen = {
        "GET action": entity["dag_status"],
        "report": report["action"]["dag_status"],
        "overview": overview["action"]["dag_status"],
    }
    found = [f"the state differs: {seen}"] if len(set(seen.values())) > 1 else []
    reported = {node["name"]: (node["status"], node["reason"], node["detail"]) for node in report["nodes"]}
    listed = {node["name"]: (node["status"], node["reason"], node["detail"]) for node in nodes}
    if reported != listed:
        found.append(f"nodes differ: report {reported}, list {listed}")
    letters = [LETTERS.get(letter, letter) for letter in overview["nodes"]["letters"]]
    if letters != [status for _, (status, *_) in sorted(listed.items())]:
        found.append(f"nodes differ: overview {letters}, list {listed}")
    groups = {group["name"]: (group["status"], group["reason"]) for group in site.get(f"{path}/groups")["groups"]}
    for name, shown in (("report", report), ("overview", overview)):
        if groups != (other := {group["name"]: (group["status"], group["reason"]) for group in shown["groups"]}):
            found.append(f"groups differ: {name} {other}, list {groups}")
    if not any(one["kind"] == "action_ended" for one in site.events()):
        found.append(f"the event stream has no end of {action}: {sorted({one['kind'] for one in site.events()})}")
    return found


def _plan(site: Site, asked: Asked) -> list[str]:
    """What was planned is what happened."""
    plan, entity = asked.plan, site.get(f"/actions/{site.action}/report")["action"]
    found = []
    if plan["refused"]:
        found.append(f"the plan says that it is refused ({plan['refused']['title']}), and it was not")
    if plan["revision"] != entity["committed_rev_id"]:
        found.append(f"planned with revision {plan['revision']}, done with {entity['committed_rev_id']}")
    steps = [step["id"] for step in site.get(f"/actions/{site.action}")["steps"] if "." in step["id"]]
    if missing := [step for step in steps if step not in plan["steps"]]:
        found.append(f"steps that no plan has: {missing}")
    return found


def _internal(site: Site) -> list[str]:
    """An internal error never appears."""
    return [
        f"an internal error is shown: {line}" for line in _everything_said(site).splitlines() if INTERNAL.search(line)
    ]


def _everything_said(site: Site) -> str:
    """All that is shown of the newest action."""
    entity = site.get(f"/actions/{site.action}?verbosity=5")
    notes = [note.get("note", "") for part in (entity, *entity["steps"]) for note in part["notes"]]
    report = site.get(f"/actions/{site.action}/report")
    groups = [f"{group['name']}: {group['detail']}" for group in report["groups"]]
    nodes = [f"{node['name']}: {node['reason']} {node['detail']}" for node in report["nodes"] if node["detail"]]
    return "\n".join(
        [*notes, *groups, *nodes, *(step["detail"] or "" for step in report["failed_steps"]), site.journal()]
    )


def targets_of(row: Row) -> Sequence[str]:
    """Return the nodes that the action of the row is about."""
    return NODES[: int(row["targets"])] if row["action"] in TARGETED else NODES


def failing(row: Row) -> Sequence[str]:
    """Return the targets that fail in this row."""
    targets = targets_of(row)
    return {"none": (), "first": targets[:1], "last": targets[-1:], "all": targets}[row["fails"]]
