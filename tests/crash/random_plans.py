"""The plan of a random run: a site, the outcomes of its nodes, and all other failures, drawn from one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from shipyard_api.domain.actions import Control
from shipyard_simulators.ironic.conductor import Limits
from tests.factories import group_entry
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import Site

PREPARE, TEST, DEPLOY = 20, 5, 30  # seconds that a machine takes if nothing is wrong with it

Criteria = Mapping[str, int]


@dataclass(frozen=True)
class Group:
    """A group as it was meant, whatever selectors express it."""

    name: str
    critical: bool
    parents: tuple[str, ...]
    members: frozenset[str]
    criteria: Criteria


@dataclass(frozen=True)
class Episode:
    """Seconds after the beginning, from when till when the service mistreats requests in these ways."""

    begins: float
    ends: float
    faults: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Plan:
    """A run. ``losses``: when the peer loses its memory (forget) or falls and gets up again (stumble).

    ``kills``: how likely a worker dies at a checkpoint. ``workers``: each turn is delivered to all of them.
    ``overtaken``: the number of a checkpoint at which a worker is taken for dead. ``controls``: when an operator
    pauses, resumes or stops the action. ``retried``: whether it is retried if it failed. ``ahead``: seconds that the
    peer's clock is ahead of the site's.
    """

    seed: int
    peer: str
    groups: tuple[Group, ...]
    site: Site
    options: Mapping[str, Any] = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()
    losses: tuple[tuple[float, str], ...] = ()
    kills: float = 0.0
    workers: int = 1
    overtaken: int = -1
    controls: tuple[tuple[float, Control], ...] = ()
    retried: bool = False
    ahead: float = 0.0

    @property
    def modes(self) -> Mapping[str, Any]:
        """The section of the deployment configuration that the run was given."""
        return self.site.provisioner

    @property
    def calm(self) -> bool:
        """Whether nothing goes wrong but nodes: then it is certain what has to come of them, and when."""
        disturbed = (
            self.episodes or self.losses or self.kills or self.workers > 1 or self.overtaken >= 0 or self.controls
        )
        return not disturbed

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.peer} {dict(self.options)}, configuration {dict(self.modes)}"]
        for group in self.groups:
            after = f" after {', '.join(group.parents)}" if group.parents else ""
            critical = " (critical)" if group.critical else ""
            lines.append(f"  group {group.name}{critical}{after}: {sorted(group.members)} {dict(group.criteria)}")
        for rule in self.site.scenario.nodes:
            outcomes = {
                phase: f"{outcome.kind.value} {outcome.seconds or ''}".strip()
                for phase, outcome in rule.outcomes.items()
            }
            lines.append(f"  node {rule.pattern}: {outcomes}")
        for episode in self.episodes:
            lines.append(f"  from {episode.begins:.0f} s to {episode.ends:.0f} s: {list(episode.faults)}")
        lines += [f"  at {at:.0f} s the peer is made to {what}" for at, what in self.losses]
        lines += [f"  at {at:.0f} s an operator asks to {verb.value}" for at, verb in self.controls]
        lines += ["  retried if it fails"] if self.retried else []
        lines += [f"  the peer's clock is {self.ahead:+.0f} s ahead"] if self.ahead else []
        lines.append(
            f"  {self.workers} worker(s), killed at {self.kills:.0%} of the checkpoints, overtaken at {self.overtaken}"
        )
        return "\n".join(lines)


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed; it is the same each time."""
    operator, clock = Random(f"operator of {seed}"), Random(f"clock of {seed}")  # own dice, as of the modes
    plan = _undisturbed(seed)
    far = 240.0 if plan.peer == "maas" else 3600.0  # MAAS takes no signature that is five minutes old
    ahead = clock.choice((-far, -60.0, -5.0, 5.0, 60.0, far)) if clock.random() < 0.5 else 0.0
    return replace(plan, controls=_controls(operator), retried=operator.random() < 0.4, ahead=ahead)


def _undisturbed(seed: int) -> Plan:
    """Return the plan without what operators do."""
    random = Random(f"random run {seed}")
    peer = random.choice(sorted(PEERS))
    nodes: dict[str, dict[str, Any]] = {
        f"n{number:02}": {"rack": f"r{random.randint(1, 3)}", "tags": [], "labels": {}}
        for number in range(random.randint(1, 25))
    }
    groups, entries = groups_of(random, nodes)
    interval = random.choice((10, 10, 30))
    never = peer != "drydock" or random.random() < 0.2
    configuration = {
        "prepare_node_interval": interval,
        "deploy_interval": interval,
        "prepare_node_timeout": random.choice((60, 90, 200)),
        "deploy_timeout": random.choice((60, 90, 200)),
        **modes(Random(f"modes of {seed}")),  # its own dice: what else happens in a run does not depend on them
    }
    if peer == "drydock" and never:
        # What never ends there keeps its queue closed for ever; each look at it from there on would be one too many.
        configuration |= {"prepare_node_interval": 7200, "deploy_interval": 7200}
    played = scenario(
        outcomes_of(random, list(nodes), never=never),
        {"verify_nodes": 5, "prepare_nodes": PREPARE, "test_machines": TEST, "deploy_nodes": DEPLOY},
        region={"deployments_at_once": random.randint(2, 6)} if peer == "maas" and random.random() < 0.1 else {},
    )
    site = Site(nodes, played, entries, configuration)
    options: dict[str, Any] = {}
    if peer == "ironic" and random.random() < 0.15:
        options["limits"] = Limits(deploying=random.randint(2, 6), cleaning=50, workers=random.randint(5, 300))
    if random.random() < 0.3:
        return Plan(seed, peer, groups, site, options)
    losses = tuple(
        sorted(
            (random.uniform(20, 250), random.choice(("forget", "stumble")))
            for _ in range(random.choice((0, 0, 0, 1, 1, 2)))
        )
    )
    if peer == "maas" and losses:
        options["keeps"] = True
    return Plan(
        seed,
        peer,
        groups,
        site,
        options,
        episodes=_episodes(random, peer),
        losses=losses,
        kills=random.choice((0.0, 0.0, 0.01, 0.03, 0.1)),
        workers=random.choice((1, 1, 1, 2)),
        overtaken=random.randint(5, 120) if random.random() < 0.2 else -1,
    )


def modes(random: Random) -> dict[str, Any]:
    """Return the keys of the deployment configuration that say how much is done at once; a third say nothing."""
    if random.random() < 1 / 3:
        return {}
    return {
        "max_parallel_groups": random.choice((1, 2, 3, 8)),
        "deploy_as_prepared": random.random() < 0.5,
        "max_nodes_in_flight": random.choice((0, 0, 1, 3, 8)),
    }


def _controls(random: Random) -> tuple[tuple[float, Control], ...]:
    """Return what an operator does: most do nothing, others pause up to three times, and some stop it."""
    if random.random() < 0.5:
        return ()
    verbs: list[tuple[float, Control]] = []
    at = random.uniform(0, 80)
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        verbs.append((at, Control.PAUSE))
        at += random.choice((1, 20, 70, 300))
        verbs.append((at, Control.UNPAUSE))
        at += random.uniform(1, 100)
    if not verbs or random.random() < 0.4:
        verbs.append((at, Control.STOP))
    return tuple(verbs)


def groups_of(random: Random, nodes: dict[str, dict[str, Any]]) -> tuple[tuple[Group, ...], list[dict[str, Any]]]:
    """Return the groups, in the order of the document, and how they stand there; nodes get the tags they need."""
    names = [f"g{number}" for number in range(random.randint(1, 8))]
    order = random.sample(names, len(names))  # parents come first in this one, which nobody else knows
    found = {}
    for place, name in enumerate(order):
        parents = tuple(parent for parent in order[:place] if random.random() < 0.3)
        members, selectors = _members(random, name, nodes)
        criteria = _criteria(random, len(members))
        group = Group(name, random.random() < 0.4, parents, members, criteria)
        entry = group_entry(name, critical=group.critical, depends_on=list(parents), selectors=selectors)
        if criteria or random.random() < 0.5:
            entry["success_criteria"] = dict(criteria)
        found[name] = group, entry
    return tuple(found[name][0] for name in names), [found[name][1] for name in names]


def _members(
    random: Random, name: str, nodes: dict[str, dict[str, Any]]
) -> tuple[frozenset[str], list[dict[str, Any]]]:
    """Return nodes of a group and selectors that mean exactly them."""
    some = random.sample(sorted(nodes), random.randint(1, min(len(nodes), 8)))
    match random.choice(("names", "names", "tags", "labels", "racks", "union", "names in racks", "all", "nobody")):
        case "all":
            return frozenset(nodes), random.choice(([], [{}]))
        case "nobody":
            return frozenset(), [{"node_tags": ["nobody"]}]
        case "racks":
            racks = random.sample(("r1", "r2", "r3"), random.randint(1, 2))
            return frozenset(node for node in nodes if nodes[node]["rack"] in racks), [{"rack_names": racks}]
        case "names in racks":
            members = frozenset(node for node in some if nodes[node]["rack"] == "r1")
            return members, [{"node_names": some, "rack_names": ["r1"]}]
        case "tags":
            for node in some:
                nodes[node]["tags"].append(f"in-{name}")
            return frozenset(some), [{"node_tags": [f"in-{name}"]}]
        case "labels":
            for node in some:
                nodes[node]["labels"][f"in-{name}"] = "yes"
            return frozenset(some), [{"node_labels": [{f"in-{name}": "yes"}]}]
        case "union":
            tagged = some[len(some) // 2 :]
            for node in tagged:
                nodes[node]["tags"].append(f"in-{name}")
            return frozenset(some), [{"node_names": some[: len(some) // 2 + 1]}, {"node_tags": [f"in-{name}"]}]
        case _:
            return frozenset(some), [{"node_names": some}]


def _criteria(random: Random, members: int) -> dict[str, int]:
    thresholds = {
        "percent_successful_nodes": random.choice((0, 25, 50, 67, 75, 90, 100)),
        "minimum_successful_nodes": random.randint(0, members + (random.random() < 0.1)),
        "maximum_failed_nodes": random.randint(0, members),
    }
    if random.random() < 0.3:
        return {}
    return {name: threshold for name, threshold in thresholds.items() if random.random() < 0.4}


def outcomes_of(random: Random, nodes: list[str], *, never: bool) -> dict[str, dict[str, Any]]:
    """Return what becomes of nodes that do not simply succeed. One that hangs may be done long after its time."""
    troubled = random.choice((0.0, 0.1, 0.25, 0.4))
    outcomes: dict[str, dict[str, Any]] = {}
    for node in nodes:
        if random.random() >= troubled:
            continue
        phase = random.choice(("prepare", "deploy"))
        match random.choice(("fail", "fail", "fail", "fail", "slow", "slow", "quick", "late", "hang")):
            case "fail":
                outcomes[node] = {phase: "fail", "reason": "as planned"}
            case "slow":
                outcomes[node] = {phase: "ok", "seconds": random.randint(40, 55)}
            case "late":
                outcomes[node] = {phase: "ok", "seconds": random.randint(60, 400)}
            case "quick":
                outcomes[node] = {phase: "ok", "seconds": random.randint(1, 10)}
            case _ if never:
                outcomes[node] = {phase: "never"}
            case _:
                outcomes[node] = {phase: "ok", "seconds": random.randint(400, 1500)}
    return outcomes


def _episodes(random: Random, peer: str) -> tuple[Episode, ...]:
    episodes, begins = [], random.uniform(0, 60)
    for _ in range(random.choice((0, 1, 2, 3, 4))):
        ends = begins + random.choice((5, 15, 40, 90))
        episodes.append(Episode(begins, ends, [fault_of(random, peer) for _ in range(random.randint(1, 3))]))
        begins = ends + random.uniform(1, 120)
    return tuple(episodes)


def fault_of(random: Random, peer: str) -> dict[str, Any]:
    actions = ["error", "error", "drop", "drop_after_effect", "error_after_effect", "delay", "hang", "truncate"]
    if peer == "maas":
        actions.append("pause")  # it has stored everything, and answers only after some time
    action = random.choice(actions)
    fault: dict[str, Any] = {
        "method": random.choice(("*", "*", "GET", "POST", "PUT", "PATCH")),
        "action": action,
        "probability": random.choice((0.1, 0.3, 0.6, 1.0)),
    }
    if "error" in action:
        fault["status"] = random.choice((500, 502, 503, 504, 429) if action == "error" else (500, 502, 504))
    if action in ("delay", "hang", "pause"):
        fault["seconds"] = random.randint(20, 60) if action == "hang" else random.randint(1, 15)
        fault["first"] = random.randint(1, 3)
    elif random.random() < 0.5:
        fault["first"] = random.randint(1, 6)
    return fault
