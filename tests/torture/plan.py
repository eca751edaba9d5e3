"""What a seed decides: a site, its policy, what operators do, and every fault, each with its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from shipyard_simulators.scenario import Scenario
from tests.combinations.model import OPTIONS, Row
from tests.combinations.site import TEMPLATE
from tests.crash.random_plans import groups_of, modes, outcomes_of
from tests.simulated_peers import PEERS, scenario
from tests.torture.faults import KINDS

HOLDS = ("all", "no_deployment", "no_teardown", "no_criteria")
BUSY = 140.0  # seconds that an action lasts at least, as a rule
DURATIONS = {
    "verify_nodes": 5,
    "prepare_nodes": 40,
    "test_machines": 5,
    "deploy_nodes": 60,
    "destroy_nodes": 20,
    "join_nodes": 20,
    "ready_nodes": 20,
    "stop_pods": 3,
    "stop_kubelet": 4,
    "lose_nodes": 4,
}


@dataclass(frozen=True)
class Deed:
    """Something that happens at a time, in seconds since the beginning."""

    at: float
    kind: str
    value: Any = None


@dataclass(frozen=True)
class Plan:
    """A run. ``row``: which peers the site has. ``fates``: how its machines behave. ``quiet``: when faults have ended.

    ``actions``: what is created, each when the one before has ended. ``faults`` and ``operators``: in order of time.
    ``retries``: how likely an action is retried that has failed.
    """

    seed: int
    row: Row
    workers: int
    nodes: Mapping[str, Mapping[str, Any]]
    groups: Sequence[Mapping[str, Any]]
    section: Mapping[str, Any]
    scenario: Scenario
    actions: Sequence[tuple[str, Mapping[str, Any]]]
    faults: Sequence[Deed]
    operators: Sequence[Deed]
    quiet: float
    retries: float
    ahead: float

    def __str__(self) -> str:
        row = {name: value for name, value in self.row.items() if value != OPTIONS[name][0]}
        lines = [f"seed {self.seed}: {self.row['provisioner']}, {len(self.nodes)} nodes, {self.workers} workers, {row}"]
        lines += [f"  configuration {dict(self.section)}"]
        for group in self.groups:
            after = f" after {', '.join(group['depends_on'])}" if group["depends_on"] else ""
            critical = " (critical)" if group["critical"] else ""
            lines.append(
                f"  group {group['name']}{critical}{after}: {group['selectors']} {group.get('success_criteria', {})}"
            )
        for rule in self.scenario.nodes:
            fates = {phase: f"{one.kind.value} {one.seconds or ''}".strip() for phase, one in rule.outcomes.items()}
            lines.append(f"  node {rule.pattern}: {fates}")
        lines += [f"  action {name} {dict(parameters)}" for name, parameters in self.actions]
        deeds = sorted([*self.faults, *self.operators], key=lambda deed: deed.at)
        lines += [f"  at {deed.at:.0f} s {deed.kind} {deed.value or ''}".rstrip() for deed in deeds]
        return "\n".join([*lines, f"  no fault begins after {self.quiet:.0f} s"])


def plan_of(seed: int, provisioner: str = "") -> Plan:
    """Return the plan of a seed; it is the same each time."""
    random = Random(f"torture {seed}")
    peer = provisioner or random.choice(sorted(PEERS))
    nodes: dict[str, dict[str, Any]] = {
        f"n{number:02}": {"rack": f"r{random.randint(1, 3)}", "tags": [], "labels": {}}
        for number in range(1, random.choice((1, 2, 3, 4, 6, 9, 12)) + 1)
    }
    _, groups = groups_of(random, nodes)
    section = {
        "prepare_node_interval": 10,
        "deploy_interval": 10,
        "prepare_node_timeout": random.choice((120, 300, 900)),
        "deploy_timeout": random.choice((120, 300, 900)),
        **modes(random),
    }
    row = {name: values[0] for name, values in OPTIONS.items()}
    row |= {"action": "deploy_site", "provisioner": peer, **_peers(Random(f"peers of {seed}"), peer)}
    others = Random(f"operators of {seed}")
    actions = [("deploy_site", {}), *_later_actions(others, list(nodes), row)]
    policy = _policy(Random(f"policy of {seed}"))
    quiet = len(actions) * random.choice((150.0, 300.0, 600.0))
    faults = _faults(Random(f"faults of {seed}"), peer, len(actions) * BUSY)
    return Plan(
        seed=seed,
        row=row,
        workers=random.choice((1, 2, 3)),
        nodes=nodes,
        groups=groups,
        section={**section, **policy},
        scenario=scenario(outcomes_of(random, list(nodes), never=False), DURATIONS),
        actions=actions,
        faults=[deed for deed in faults if deed.kind != "clock set" or "windows" not in policy.get("policy", {})],
        operators=_deeds(others, list(nodes), quiet),
        quiet=quiet,
        retries=others.choice((0.0, 0.5, 1.0)),
        ahead=random.choice((0.0, 0.0, 0.0, -60.0, -5.0, 5.0, 60.0)),
    )


def _peers(random: Random, provisioner: str) -> Row:
    """Return what else the site has: a cluster, etcd members, a task graph, templates, a design store of its own."""
    chosen = {
        "cluster": random.choice(("none", "kubernetes")),
        "software": random.choice(("none", "none", "runs")),
        "store": random.choice(("embedded", "embedded", "embedded", "deckhand")),
        "templates": "none",
        "burn_in": "no",
    }
    if provisioner == "ironic":
        chosen |= {"templates": random.choice(("none", "requested")), "burn_in": random.choice(("no", "no", "yes"))}
    if chosen["cluster"] == "none":
        chosen["cluster"] = random.choice(("none", "none", "promenade"))
    elif random.random() < 0.5:
        chosen["etcd"] = "members"
    return chosen


def _policy(random: Random) -> Mapping[str, Any]:
    """Return a rollout policy: half of the sites have none."""
    if random.random() < 0.5:
        return {}
    policy: dict[str, Any] = {}
    if random.random() < 0.5:
        gates: list[dict[str, Any]] = random.choice(
            ([], [{"soak": 90}], [{"approval": True}], [{"approval": True, "limit": 300, "at_limit": "go_on"}])
        )
        policy["waves"] = [{"name": "canary", "nodes": 1, "gates": gates}]
        policy["stop_after_bad_waves"] = random.choice((1, 2))
        policy["waves_over"] = random.choice(("group", "action"))
    if random.random() < 0.5:
        policy["budgets"] = [{"name": "racks", "by": "rack", "max_unavailable": random.choice((1, 2))}]
    if random.random() < 0.4:
        opens = [("09:00", 15), ("09:25", 20), ("10:00", 40), ("11:00", 60), ("13:00", 600)]
        policy["windows"] = {
            "open": [{"zone": "UTC", "start": start, "minutes": minutes} for start, minutes in opens],
            "fits": random.choice(("group", "wave", "server")),
            "durations": {"prepare": 45, "deploy": 65},
        }
    return {"policy": policy} if policy else {}


def _later_actions(random: Random, nodes: Sequence[str], row: Row) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return what follows the deployment of the site; "commit" is a new design."""
    kinds = ["redeploy", "redeploy", "update", "again"]
    kinds += ["remove"] if row["cluster"] != "none" else []
    kinds += ["relabel"] if row["cluster"] == "kubernetes" else []
    kinds += ["service", "rebuild"] if row["templates"] == "requested" else []
    kinds += ["software"] if row["software"] == "runs" else []
    actions: list[tuple[str, Mapping[str, Any]]] = []
    for number in range(random.choice((0, 1, 1, 2, 3))):
        named = {"target_nodes": ",".join(sorted(random.sample(list(nodes), random.randint(1, min(2, len(nodes))))))}
        drained = {**named, "force": "true"}
        if row["cluster"] != "none":
            drained |= {"drain-timeout": 60, "grace-period": 10}
        match random.choice(kinds):
            case "redeploy":
                actions.append(("redeploy_server", {**drained, "max_parallel_nodes": random.choice((1, 2))}))
            case "rebuild":
                actions.append(("redeploy_server", {**drained, "mode": "rebuild"}))
            case "remove":
                actions.append(("remove_server", drained))
            case "relabel":
                actions += [("commit", {"newer": f"yes-{number}"}), ("relabel_nodes", named)]
            case "service":
                actions.append(("service_server", {**drained, "template": TEMPLATE}))
            case "software":
                actions.append(("update_software", {}))
            case "update":
                actions += [("commit", {"newer": f"yes-{number}"}), ("update_site", {})]
            case _:
                actions.append(("deploy_site", {}))
    return actions


def _deeds(random: Random, nodes: Sequence[str], quiet: float) -> Sequence[Deed]:
    """Return what operators do at their own time: some do nothing."""
    deeds = []
    for kind, likely in (("pause", 0.3), ("stop", 0.2), ("hold", 0.3), ("create", 0.2)):
        while random.random() < likely:
            at = random.uniform(0, quiet)
            if kind == "pause":
                deeds += [Deed(at, "pause"), Deed(at + random.choice((1, 20, 70, 300)), "unpause")]
            elif kind == "hold":
                value = {"node": random.choice(nodes), "class": random.choice(HOLDS)}
                deeds += [Deed(at, "hold", value), Deed(at + random.choice((10, 100, 600)), "release")]
            elif kind == "create":
                action = random.choice(("deploy_site", "redeploy_server"))
                named = {"target_nodes": random.choice(nodes), "force": "true"} if action != "deploy_site" else {}
                deeds.append(Deed(at, "create", {"action": (action, named)}))
            else:
                deeds.append(Deed(at, kind))
    return sorted(deeds, key=lambda deed: deed.at)


def _faults(random: Random, peer: str, busy: float) -> Sequence[Deed]:
    """Return the faults of a run: a few kinds of them, so that runs differ, each several times."""
    kinds = [kind for kind in KINDS.values() if kind.most and peer in kind.peers]
    chosen = random.sample(kinds, random.randint(1, min(5, len(kinds))))
    deeds = []
    for kind in chosen:
        for _ in range(random.randint(1, kind.most)):
            at = random.uniform(0, busy)
            deeds.append(Deed(at, kind.name, kind.drawn(random, peer)))
    return sorted(deeds, key=lambda deed: deed.at)
