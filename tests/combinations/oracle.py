"""What must be true of every run, judged by the peers' own logs, the row, and nothing that Shipyard computes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.combinations.budgets import budget_of
from tests.combinations.hosts import COMMANDS
from tests.combinations.model import SITE_ACTIONS, TEARING_DOWN, Row
from tests.combinations.site import GROUPS, NODES, OPEN_MINUTES, STEPS, Site, reason_of, removed_of, targets_of
from tests.simulated_peers import time_of

FIRST_STEP = "One of the first steps would fail"
CHECK = re.compile(r"(check_teardown|check_service|deployment_configuration|(preflight|validate_site_design)\..*)")
FINAL = {"deploy", "join"}  # phases of a row in which a node of a prepared group may fail
INTERNAL = re.compile(r"internal|Traceback|IntegrityError|psycopg|sqlalchemy|KeyError|AssertionError", re.IGNORECASE)
LETTERS = {"s": "success", "f": "failure", "p": "prepared", "n": "not_started"}


@dataclass(frozen=True)
class Asked:
    """An action that was created: when, what its plan was, and which nodes fail. ``stopped``: by an operator.

    ``erased``: the machines that the peer had erased before it, as often as it did. ``tasks``: how many tasks were
    started before it. ``finished``: those that earlier tries of it have run well. ``limits``: those that hold.
    """

    since: datetime
    plan: Mapping[str, Any]
    failing: Sequence[str]
    erased: Sequence[str]
    tasks: int
    limits: Mapping[str, int]
    finished: Set[tuple[str, str]] = frozenset()
    stopped: bool = False
    is_retry: bool = False


def complaints(site: Site, asked: Asked) -> list[str]:
    """Return what is wrong with the newest action, which has ended."""
    return [
        *_peers(site, asked),
        *_changed(site, asked),
        *_disks(site, asked),
        *_nodes(site, asked),
        *_groups(site, asked),
        *_policy(site, asked),
        *_burn_in(site),
        *_steps(site, asked),
        *_cluster(site, asked),
        *_software(site, asked),
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
        f"{one.node}: {one.phase} was begun, and it is no target"
        for one in begun
        if one.node not in targets_of(site.row)
    ]


def _changed(site: Site, asked: Asked) -> list[str]:
    """An update does to each server what its options say, and to no other one.

    Drydock is sent all nodes, and leaves deployed ones alone itself. A retry goes on with what is left.
    """
    row = site.row
    if row["action"] != "update_site":
        return []
    reinstalled = set(NODES[:1] if row["on_change"] == "reinstall" else ())
    serviced = {*NODES} - {*removed_of(row)} if row["on_change"] == "least" else set()
    expected = {"destroy": {*reinstalled, *removed_of(row)}, "service": serviced}
    if row["provisioner"] != "drydock":
        expected["deploy"] = reinstalled
    begun = {phase: set[str]() for phase in expected}
    for one in (*site.peer.begun(), *site.peer.destroyed()):
        if one.at >= asked.since and one.phase in begun:
            begun[one.phase].add(one.node)
    whole = not asked.stopped and not asked.is_retry
    return [
        f"{phase}: was begun on {sorted(nodes)}, and the options say {sorted(expected[phase])}"
        for phase, nodes in begun.items()
        if nodes - expected[phase] or (whole and nodes != expected[phase])
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
    """Each target ended as the action wants it, or carries its own reason."""
    action, state = site.row["action"], site.state().value
    if action in ("relabel_nodes", "update_software"):
        fails = site.row["software"] in ("first", "last") or asked.stopped
        return [] if state == "success" or fails else [f"the action ended {state}"]
    gone = NODES if action == "remove_server" else removed_of(site.row)
    up, said, causes = _up(site), _everything_said(site), _causes(site, asked)
    told = {node["name"]: node for node in site.get(f"/actions/{site.action}/nodes")["nodes"]}
    newest = {node["name"]: node["status"] for node in site.get("/nodes")["nodes"]}
    found = []
    for name in targets_of(site.row):
        status, detail = told.get(name, {}).get("status"), told.get(name, {}).get("detail") or ""
        # A retry of remove_server has no row of a server that an earlier try took down.
        wants_up = name not in gone
        is_done = status == "success" if wants_up else state == "success" or (status is None and name not in up)
        if is_done and (name in up) != wants_up:
            found.append(f"{name}: {status}, and the peers did not do it")
        if not is_done and _was_done(site, asked, name) and wants_up and not asked.stopped:
            found.append(f"{name}: {status}, and the peers did it")
        if newest.get(name) == "success" and name not in up:
            found.append(f"{name}: was taken down or failed, and GET /nodes says success")
        if not is_done and name in causes and not any(word in detail for word in causes[name]):
            found.append(f"{name}: failed since {causes[name]!r}, but its detail is {detail!r}")
        # A check that refuses before any node is known says why for all of them.
        is_said = bool(detail) if action in TEARING_DOWN else name in said or not told
        if not is_done and not asked.stopped and not is_said:
            found.append(f"{name}: is not done, and nothing says why")
    if state == "success" and causes and action in TEARING_DOWN:
        found.append(f"the action ended {state}, and {sorted(causes)} failed")
    return found


def _groups(site: Site, asked: Asked) -> list[str]:
    """However much goes on at once, all ends as in the serial run of the design: groups, and what is deployed."""
    if site.row["action"] != "deploy_site" or asked.stopped or asked.is_retry:
        return []
    if site.row["policy"] != "none" and asked.failing:
        return []
    nodes, groups = _serial(site.row, asked.failing)
    told = {node["name"]: node["status"] for node in site.get(f"/actions/{site.action}/nodes")["nodes"]}
    shown = {group["name"]: group["status"] for group in site.get(f"/actions/{site.action}/groups")["groups"]}
    found = [
        f"{name}: {told[name]}, and the serial run deploys it"
        for name, status in nodes.items()
        if status == "success" != told[name]
    ]
    return found + ([f"groups end {shown}, and those of the serial run {groups}"] if shown != groups else [])


def _policy(site: Site, asked: Asked) -> list[str]:
    """By the peer's log, a node begins only after those on which the policy lets it wait have succeeded."""
    policy, action = site.row["policy"], site.row["action"]
    if policy == "none" or action not in (*TEARING_DOWN, *SITE_ACTIONS, "service_server"):
        return []
    if policy != "canary" and site.row["force"] == "yes" and not asked.is_retry:
        return []  # it is passed
    if policy == "window":
        return _outside_of_windows(site, asked)
    if action in TEARING_DOWN:
        # A retry keeps the batches of the action, which was forced past its budgets.
        return _down_together(site, asked) if policy == "one" and site.row["force"] == "no" else []
    begun: dict[str, datetime] = {}
    for one in sorted(site.peer.begun(), key=lambda one: one.at):
        if one.at >= asked.since:
            begun.setdefault(one.node, one.at)
    # Drydock logs no end of a machine that it finds deployed.
    ends = [one for one in site.peer.ended() if one.at >= asked.since]
    failed = {one.node for one in ends if not one.ok}
    done = {one.node: one.at for one in ends if one.ok and one.phase in ("deploy", "service")}
    order = list(begun)
    before = {name: order[:place] for place, name in enumerate(order)}
    if site.row["policy"] == "canary":
        targeted = [
            [one for one in _members(group) if one in targets_of(site.row)] for group in GROUPS[site.row["groups"]]
        ]
        groups = [group for group in targeted if group]
        # A retry keeps a canary that is deployed, and begins it not again.
        kept = set(NODES) - begun.keys() if asked.is_retry else set()
        before = {name: [first] for first, *others in groups for name in others if name in begun and first not in kept}
    return [
        f"{name}: began before {first} was done"
        for name, firsts in before.items()
        for first in firsts
        if first not in begun or first in failed - done.keys() or done.get(first, begun[name]) > begun[name]
    ]


def _touched(site: Site, asked: Asked) -> dict[str, datetime]:
    """Return when each node was first touched, by the logs of the provisioner, of Kubernetes and of Promenade."""
    first: dict[str, datetime] = {}
    # A retry brings a server back that was taken down before, and may release its machine first, whatever the windows.
    brings_back = asked.is_retry and site.row["action"] in TEARING_DOWN
    begun = () if brings_back else (*site.peer.begun(), *site.peer.destroyed())
    log = [(one.at, one.node) for one in begun]
    changes = (one for one in site.cluster_events() if one["event"] == "node_changed" and one["cordoned"])
    log += [(time_of(one), one["node"]) for one in changes]
    calls = site.promenade.events() if site.promenade else []
    log += [(time_of(one), one["path"].split("/")[-2]) for one in calls if one.get("path", "").endswith("/drain")]
    for at, node in sorted(log):
        if at >= asked.since:
            first.setdefault(node, at)
    return first


def _outside_of_windows(site: Site, asked: Asked) -> list[str]:
    late = {node: at for node, at in _touched(site, asked).items() if at.minute >= OPEN_MINUTES}
    return [f"{node}: was touched at {at}, when no window was open" for node, at in late.items()]


def _down_together(site: Site, asked: Asked) -> list[str]:
    """One server is down at a time: the next begins when the one before is deployed, or destroyed for good."""
    touched, removes = _touched(site, asked), site.row["action"] == "remove_server"
    ended = site.peer.destroyed() if removes else [one for one in site.peer.ended() if one.ok and one.phase == "deploy"]
    done = {one.node: one.at for one in ended if one.at >= asked.since}
    return [
        f"{node}: began while {before} was down"
        for before, node in pairwise(sorted(touched, key=touched.__getitem__))
        if before not in done or done[before] > touched[node]
    ]


def _burn_in(site: Site) -> list[str]:
    """By the peer's log, each node passed one burn-in before it was first deployed, and none if there is none.

    The next try repeats the one during which its action was stopped. An update tests a server again that it has
    destroyed.
    """
    tested: dict[str, int] = {}
    deployed: set[str] = set()
    found = []
    for one in site.peer.events():
        if (one.get("before"), one.get("state")) == ("cleaning", "manageable"):
            tested[one["node"]] = tested.get(one["node"], 0) + 1
            found += [f"{one['node']}: burned in after it was deployed"] if one["node"] in deployed else []
        elif one.get("verb") == "deleted" and site.row["action"] == "update_site":
            deployed.discard(one["node"])
            tested.pop(one["node"], None)
        elif one.get("verb") == "active" and one["node"] not in deployed:
            deployed.add(one["node"])
            usual = int(site.row["burn_in"] == "yes")
            repeated = usual and site.row["control"] == "stop"
            if (times := tested.get(one["node"], 0)) not in (usual, usual + repeated):
                found.append(f"{one['node']}: was burned in {times} times before it was deployed")
    return found


def _members(group: Mapping[str, Any]) -> Sequence[str]:
    return sorted(group["selectors"][0]["node_names"])


def _serial(row: Row, failing: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return how nodes and groups end if one group after another is prepared and deployed (design: seed 000)."""
    nodes, groups = dict.fromkeys(NODES, "not_started"), {}
    for group in GROUPS[row["groups"]]:
        members, wanted = group["selectors"][0]["node_names"], group["success_criteria"]
        is_well = all(groups[parent] == "success" for parent in group["depends_on"])
        for phases, before, after in (({"prepare"}, "not_started", "prepared"), (FINAL, "prepared", "success")):
            fails = failing if row["phase"] in phases else ()
            for name in members if is_well else ():
                if nodes[name] == before:
                    nodes[name] = "failure" if name in fails else after
            good = [name for name in members if nodes[name] in (after, "success")]
            least = wanted.get("minimum_successful_nodes", 0) if "maximum_failed_nodes" in wanted else len(members)
            is_well = is_well and len(members) - wanted.get("maximum_failed_nodes", 0) <= len(good) >= least
        groups[group["name"]] = "success" if is_well else "failed"
    return nodes, groups


def _cluster(site: Site, asked: Asked) -> list[str]:
    """Nothing is taken out of the cluster twice, and a drain in vain lasts as long as its limit."""
    events = [one for one in site.cluster_events() if time_of(one) >= asked.since]
    asked_for = [
        (one["method"], one["path"])
        for one in events
        if one["event"] == "request" and one["status"] in (200, 201) and _takes_out(one["method"], one["path"])
    ]
    stopped = [("stop the kubelet of", one["node"]) for one in events if one["event"] == "kubelet_stopped"]
    times = Counter([*asked_for, *stopped])
    found = [f"{what} {where}: {count} times" for (what, where), count in times.items() if count > 1]
    if asked.stopped or site.row["phase"] != "drain" or site.row["action"] not in TEARING_DOWN:
        return found
    limit = asked.limits.get("drain-timeout", 0)
    for name in set(asked.failing) & _cordoned(site, asked):
        moments = [time_of(one) for one in events if one["event"] == "node_changed" and one["node"] == name]
        lasted = (moments[-1] - moments[0]).total_seconds()
        if not limit <= lasted <= limit + 30:
            found.append(f"{name}: its drain was given up after {lasted:g} s, and it may take {limit} s")
    return found


def _takes_out(method: str, path: str) -> bool:
    return (method == "POST" and path.endswith("/eviction")) or (method == "DELETE" and "/nodes/" in path)


def _software(site: Site, asked: Asked) -> list[str]:
    """Each task runs once on each deployed node, in its order; a retry repeats none that has succeeded there."""
    begun = site.hosts.begun[asked.tasks :]
    times = Counter(begun)
    found = [f"{node}: {command!r} was started {count} times" for (command, node), count in times.items() if count > 1]
    for command, node in times.keys() & asked.finished:
        found.append(f"{node}: {command!r} had succeeded, and was started again")
    if site.row["software"] == "none" or site.row["action"] not in (*SITE_ACTIONS, "update_software"):
        return found + [f"{node}: {command!r} was started" for command, node in begun]
    state, done = site.state().value, site.hosts.done
    nodes = {node["name"] for node in site.get(f"/actions/{site.action}/nodes")["nodes"] if node["status"] == "success"}
    nodes = set(NODES) if site.row["action"] == "update_software" else nodes
    if state == "success":
        found += [
            f"{node}: {one!r} did not run" for node in sorted(nodes) for one in COMMANDS if (one, node) not in done
        ]
    elsewhere = {node for _, node in begun} - nodes
    found += [f"{node}: is not deployed, and tasks were started" for node in sorted(elsewhere)]
    for node in NODES:
        order = [command for command, where in begun if where == node]
        if order != sorted(order):
            found.append(f"{node}: its tasks began in the order {order}")
    failed = {node for command, node in times if (command, node) not in done and not asked.stopped}
    if failed and state == "success":
        found.append(f"a task failed on {sorted(failed)}, and the action ended {state}")
    said = _everything_said(site) if failed else ""
    return found + [f"{node}: a task failed, and nothing says so" for node in sorted(failed) if node not in said]


def _steps(site: Site, asked: Asked) -> list[str]:
    """The steps of the template run once on each node that they are meant for, in their order."""
    if site.row["provisioner"] != "ironic":
        return []
    services = site.row["action"] == "service_server"
    kind = "service" if services else "deploy"
    ran: dict[str, list[str]] = {}
    for one in site.peer.events():
        is_ours = one.get("kind") == kind and time_of(one) >= asked.since
        if is_ours and one["event"] == "step" and one["step"].removeprefix("bios.") in STEPS:
            ran.setdefault(one["node"], []).append(one["step"].removeprefix("bios."))
    wanted = services or site.row["templates"] == "requested"
    done = {one.node for one in site.peer.ended() if one.at >= asked.since and one.phase == kind and one.ok}
    expected = {name: list(STEPS) for name in done if wanted}
    return [
        f"{name}: ran the steps {ran.get(name, [])}, not {expected.get(name, [])}"
        for name in sorted(done | ran.keys())
        if (name in done and ran.get(name, []) != expected.get(name, [])) or len(ran.get(name, ())) > len(STEPS)
    ]


def _was_done(site: Site, asked: Asked, name: str) -> bool:
    """Return whether the action deployed or serviced this node, which has joined."""
    work = "service" if site.row["action"] == "service_server" else "deploy"
    done = {one.node for one in site.peer.ended() if one.at >= asked.since and one.phase == work and one.ok}
    return name in _up(site) and name in done


def _causes(site: Site, asked: Asked) -> dict[str, Sequence[str]]:
    """Return why nodes failed by the peers' logs: their detail must have one of these words."""
    last = {one.node: one for one in site.peer.ended() if one.at >= asked.since}
    # A stop counts for all that Shipyard has not heard of until then, and what it leaves may fail later.
    stopped = ["stopped by"] if asked.stopped else []
    found: dict[str, Sequence[str]] = {name: [reason_of(name), *stopped] for name, one in last.items() if not one.ok}
    if asked.is_retry and site.row["provisioner"] == "drydock":
        # Drydock only releases a machine whose deployment has failed: the next retry deploys it.
        found = {name: [reason_of(name), "MAAS says Failed deployment"] for name in found}
    if site.apiserver:
        deployed = {name for name, one in last.items() if one.phase == "deploy" and one.ok}
        found |= {name: ["not ready in Kubernetes", *stopped] for name in deployed - _ready(site)}
    if not asked.stopped and site.row["phase"] == "teardown":
        begun = {one.node for one in site.peer.destroyed() if one.at >= asked.since}
        found |= {name: [reason_of(name)] for name in asked.failing if name in begun}
    if not asked.stopped and site.row["phase"] == "drain":
        found |= {name: [budget_of(name)] for name in asked.failing if name in _cordoned(site, asked)}
        found |= {name: [reason_of(name)] for name in asked.failing if name in _refused_drains(site, asked)}
    return found


def _refused_drains(site: Site, asked: Asked) -> set[str]:
    """Return the nodes that Promenade did not drain."""
    events = site.promenade.events() if site.promenade else []
    failed = (one for one in events if time_of(one) >= asked.since and one.get("status") == 500)
    return {one["path"].split("/")[-2] for one in failed if one["path"].endswith("/drain")}


def _cordoned(site: Site, asked: Asked) -> set[str]:
    """Return the nodes that were cordoned since then."""
    changes = [one for one in site.cluster_events() if one["event"] == "node_changed" and time_of(one) >= asked.since]
    return {one["node"] for one in changes if one["cordoned"]}


def _ready(site: Site) -> set[str]:
    """Return the nodes that are ready in the cluster, by the API server's log."""
    states = ("node_reported", "node_removed")
    newest = {one["node"]: one.get("status") for one in site.cluster_events() if one["event"] in states}
    return {node for node, status in newest.items() if status == "True"}


def _up(site: Site) -> set[str]:
    """Return the nodes that are deployed by the provisioner's log, and ready in the cluster if there is one."""
    log = [(one.at, one.node, one.phase in ("deploy", "service") and one.ok) for one in site.peer.ended()]
    log += [(one.at, one.node, False) for one in site.peer.destroyed()]
    newest = {node: is_deployed for _, node, is_deployed in sorted(log)}
    deployed = {node for node, is_deployed in newest.items() if is_deployed}
    return deployed & _ready(site) if site.apiserver else deployed


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
    if plan["refused"] and plan["refused"]["title"] != FIRST_STEP:
        found.append(f"the plan says that it is refused ({plan['refused']['title']}), and it was not")
    failed = {step["id"] for step in site.get(f"/actions/{site.action}")["steps"] if step["state"] == "failed"}
    if bool(plan["refused"]) != any(map(CHECK.fullmatch, failed)) and not asked.stopped:
        found.append(f"the plan says {plan['refused']}, and these steps failed: {sorted(failed)}")
    if plan["revision"] != entity["committed_rev_id"]:
        found.append(f"planned with revision {plan['revision']}, done with {entity['committed_rev_id']}")
    steps = [step["id"] for step in site.get(f"/actions/{site.action}")["steps"] if "." in step["id"]]
    if missing := [step for step in steps if step not in plan["steps"]]:
        found.append(f"steps that no plan has: {missing}")
    return found + _order(site, asked)


def _order(site: Site, asked: Asked) -> list[str]:
    """The plan names each node that is worked on, in the order in which its groups begin one after another."""
    groups = asked.plan["groups"]
    if not groups:
        return []
    sends = {node: place for place, group in reversed(list(enumerate(groups))) for node in group["sends"]}
    log = [one for one in site.peer.begun() if one.at >= asked.since and one.phase in ("deploy", "service")]
    begun = [one.node for one in sorted(log, key=lambda one: one.at)]
    found = [f"{node}: was worked on, and the plan sends it not" for node in begun if node not in sends]
    places = [sends[node] for node in begun if node in sends]
    if site.row["pipeline"] == "serial" and places != sorted(places):
        found.append(f"the nodes were worked on in the order {begun}, and the plan has {groups}")
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
