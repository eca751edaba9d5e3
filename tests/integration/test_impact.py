"""Random changes of a design before simulated peers: what the plan says of each node is what the peers' own logs show.

A run is a seed: changes of one to three values, of documents of any kind, of the task graph, of deploy templates and of
the machines, each followed by an update of the site, another one, and then a redeployment or an adoption of what was
left. Every third run is of the example of each kind; the others are of the example of the documentation and of real
sites, where their data is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest

from shipyard_api.domain.documents import BAREMETAL_NODE
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import Impact
from shipyard_api.domain.specification.kinds import KINDS, Aspect
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from tests.random_changes import CHANGES_OF, COMMITS, REDEPLOY, UPDATE, Planned, Run, WrittenRun, design, kinds
from tests.simulated_peers import PEERS

CHANGES = 2
LONG = 10
MOST_REDEPLOYED = 2
RUNS = 50
EXAMPLE = "example"
SITES = (EXAMPLE, "seaworthy", "small-site", "airsloop")


@dataclass(frozen=True)
class Played:
    """A run. ``number``: among those of its site on its provisioner; the first begins with the first kinds."""

    peer: str
    site: str
    number: int
    changes: int = LONG

    @property
    def id(self) -> str:
        """Its name."""
        return f"{self.site}-{self.peer}-{self.number}"

    def kinds(self, every: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return the kinds of each change: all of them one after another, from run to run."""
        at, found = self.number * LONG * 2, []
        for number in range(self.changes):
            some = Random(f"kinds {self.id} {number}").randint(1, 3)
            found.append([every[(at + step) % len(every)] for step in range(some)])
            at += some
        return found

    def begin(self, url: str) -> Run:
        """Return the site, deployed."""
        return Run.of(url, self.peer) if self.site == EXAMPLE else WrittenRun.of_site(url, self.peer, self.site)


_DEALT = tuple(product(SITES, PEERS))
LONG_RUNS = [Played(peer, site, turn) for turn in range(RUNS) for site, peer in _DEALT][:RUNS]
PLAYED = [
    pytest.param(Played("maas", EXAMPLE, 1, CHANGES), id="short"),  # the quickest of the three
    *(pytest.param(each, id=each.id, marks=pytest.mark.crash) for each in LONG_RUNS),
]


@pytest.mark.parametrize("played", PLAYED)
def test_what_a_plan_says_of_a_node_is_what_its_peers_show(module_database_url: str, played: Played) -> None:
    run = played.begin(module_database_url)
    try:
        run.commit()
        settle(run)
        for number, chosen in enumerate(played.kinds(run.kinds)):
            run.chance = Random(f"{played.id} {number}")
            check(run, chosen)
    finally:
        run.world.close()


@pytest.mark.parametrize("peer", PEERS)
def test_every_kind_is_changed(peer: str) -> None:
    every = sorted(kinds())
    chosen = [
        kind
        for each in LONG_RUNS
        if (each.peer, each.site) == (peer, EXAMPLE)
        for some in each.kinds(every)
        for kind in some
    ]
    assert {*chosen} == kinds()
    assert KINDS.keys() - kinds() == set()
    have = {entry["schema"] for entry in design()}
    assert kinds() - have - {BAREMETAL_NODE, *CHANGES_OF} == set()  # each has a document, or a change of its own


def settle(run: Run, *redeployed: str) -> None:
    """Let every other node have what the design says, and no task, as far as its record knows."""
    adopt = AdoptNodes(run.world.check().plan_steps, run.world.clock)
    nodes = [node for node in run.servers if node not in redeployed]
    adopt(nodes, run.revision(), Caller("tester", frozenset({"admin"}), "key"))


def check(run: Run, kinds_changed: Sequence[str]) -> None:
    """Change values of these kinds, and compare what the plan says with what the peers show."""
    run.change(kinds_changed)
    planned = run.plan()
    new, left = planned.new(), planned.left()
    about = f"{run.world.peer.name}: {json.dumps(run.changed)}: {planned}"
    assert planned.not_undone == any(run.had.get(node) for node in planned.with_tasks() - new), about
    story = run.act(UPDATE, **COMMITS)
    assert happened(story, "destroy") == set(), about
    assert labels_set(run, story) - new == planned.done(Aspect.LABELS) - new, about
    if run.world.peer.name != "drydock":  # which is sent all nodes, and leaves deployed ones alone itself
        assert happened(story, "prepare") | happened(story, "service") <= new, about
        assert happened(story, "deploy") == new, about
    assert joined(story) == new, about
    assert with_other_tasks(run, planned) - new == planned.with_tasks() - new, about
    # What was left is not forgotten: not after this action, and not after the next.
    for _ in range(2):
        now = run.plan()
        assert now.differing == left, about
        named = {node for node, record in run.world.nodes().items() if record.older}
        assert named == left.keys() - now.outside, about
        assert happened(run.act(UPDATE, **COMMITS), "destroy") == set(), about
        assert with_other_tasks(run, now) == set(), about
    gone = {node: impact for node, impact in left.items() if impact is Impact.NEW}  # and in no deployment group
    chosen: list[str] = []
    if left.keys() - gone and len(run.nodes) > 1 and run.chance.random() < 0.3:
        chosen = sorted(left.keys() - gone)[:MOST_REDEPLOYED]
        story = run.act(REDEPLOY, **{"target_nodes": ",".join(chosen), "target-revision": "committed"})
        assert happened(story, "destroy") == happened(story, "deploy") == set(chosen), about
    settle(run, *chosen, *gone)
    # No record knows of their tasks any more.
    ran = {NodeName(node) for node, commands in run.had.items() if commands}
    run.had.clear()
    planned = run.plan()
    assert planned.differing == gone | dict.fromkeys(ran - planned.outside, Impact.SOFTWARE), about


def with_other_tasks(run: Run, planned: Planned) -> set[str]:
    """Return the servers that have run other tasks in the newest action than in the one before, and note them."""
    ran = {node: run.world.ran().get(node, ()) for node in run.servers if node not in planned.outside}
    found = {node for node, commands in ran.items() if sorted(commands) != sorted(run.had.get(node, ()))}
    run.had.update(ran)
    return found


def happened(story: list[str], what: str) -> set[str]:
    return {line.split()[1] for line in story if line.split()[0] == what}


def joined(story: list[str]) -> set[str]:
    """Return the servers that were installed: their kubelets joined anew."""
    return {line.split()[-1] for line in story if line.startswith("node joined")}


def labels_set(run: Run, story: list[str]) -> set[str]:
    """Return the nodes whose labels were set since the action began."""
    if run.world.peer.name == "drydock":
        asked = (event for event in run.world.peer.events() if event["event"] == "task_requested")
        since = run.world.since.isoformat()
        return {
            name
            for event in asked
            if event["action"] == "relabel_nodes" and event["time"] > since
            for name in event["nodes"]
        }
    return {line.split()[-1] for line in story if line.startswith("set ")}
