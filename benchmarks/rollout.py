"""The growth of planning and running a strategy with the site: ``python benchmarks/rollout.py``.

Checks, selects and rolls out four sites of one shape in memory: 1 group per 100 nodes, each node in about 2 groups,
every group with up to 3 random parents, selectors by rack and tag, by label, and by name. Reports the time per node
relative to the smallest site: 1.0 is linear. Then come shapes that break naive algorithms: a layered graph with 8^30
paths, and a chain and a cycle of 20,000 groups.

Exits 1 if a node of a larger site costs more than twice a node of the smallest. A single stage may cost four times as
much, because a large site outgrows the processor's caches, which alone can double the cost of a lookup. A quadratic
stage would cost eight times as much at the largest size. What Python's garbage collector takes is a line of its own,
and not judged: a pass through all objects falls into whichever stage it falls, and into none of a small site.
"""

import gc
import random
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import process_time
from typing import Any, TypeVar

from shipyard_api.domain.findings import errors
from shipyard_api.domain.groups import Verdict
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.moves import Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import GroupName, Strategy, check_groups, check_members, parse_strategy

T = TypeVar("T")

SIZES = ((125, 12_500), (250, 25_000), (500, 50_000), (1_000, 100_000))
ROUNDS = 5
LIMIT = 2.0
STAGE_LIMIT = 4.0
FAILING = 0.01


@dataclass
class Stopwatch:
    """Seconds of processor time by stage, in the order in which the stages first ran; of several rounds the fastest.

    ``collecting``: those of the garbage collector in all rounds, which the stages are without.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    collecting: float = 0.0
    _began: float = 0.0

    def run(self, stage: str, work: Callable[[], T]) -> T:
        start = process_time() - self.collecting
        result = work()
        taken = process_time() - self.collecting - start
        self.seconds[stage] = min(taken, self.seconds.get(stage, taken))
        return result

    def collected(self, phase: str, _info: object) -> None:
        """Note that the collector begins or stops; for ``gc.callbacks``."""
        if phase == "start":
            self._began = process_time()
        else:
            self.collecting += process_time() - self._began


def random_site(groups: int, nodes: int) -> tuple[dict[str, Any], list[Node]]:
    """Return the data of a strategy and the machines it is for, always the same for one size."""
    dice = random.Random(groups)
    machines = [
        Node(
            NodeName(f"node{number:06}"),
            rack=f"rack{number % groups:04}",
            tags=frozenset({"control" if number % 10 == 0 else "compute", "metal"}),
            labels=frozenset({("wave", f"w{dice.randrange(groups):04}"), ("vendor", f"v{number % 3}")}),
        )
        for number in range(nodes)
    ]
    entries = [
        {
            "name": f"group{number:04}",
            "critical": number % 4 == 0,
            "depends_on": [f"group{up:04}" for up in sorted(dice.sample(range(number), min(3, number)))],
            "selectors": [
                {"rack_names": [f"rack{number:04}"], "node_tags": ["control", "compute"]},
                {"node_labels": [{"wave": f"w{number:04}"}], "node_tags": ["metal"]},
                {"node_names": [f"node{dice.randrange(nodes):06}"]},
            ],
            "success_criteria": {"percent_successful_nodes": 80, "maximum_failed_nodes": nodes},
        }
        for number in range(groups)
    ]
    dice.shuffle(entries)
    return {"groups": entries}, machines


def select_all(strategy: Strategy, inventory: Inventory) -> dict[GroupName, frozenset[NodeName]]:
    return {group.name: select(group.selectors, inventory) for group in strategy.groups}


def run(rollout: Rollout, failing: frozenset[NodeName] = frozenset()) -> int:
    """Play the rollout to its end and return the number of moves."""
    moves = 0
    while (move := rollout.next_move()) is not None:
        rollout.start(move)
        if move.nodes:
            rollout.finish(move, Outcome(frozenset(move.nodes) - failing))
        moves += 1
    return moves


def play(watch: Stopwatch, data: dict[str, Any], machines: list[Node], failing: frozenset[NodeName]) -> str:
    """Go through all stages once, and return a line about what came of it."""
    wrong = watch.run("check", lambda: errors(check_groups(data)))
    strategy = watch.run("parse", lambda: parse_strategy(data))
    inventory = watch.run("index", lambda: Inventory.of(machines))
    members = watch.run("select", lambda: select_all(strategy, inventory))
    watch.run("members", lambda: check_members(strategy, members))
    rollout = watch.run("set up", lambda: Rollout(strategy, members))
    moves = watch.run("roll out", lambda: run(rollout, failing))
    assert not wrong
    assert rollout.done
    memberships = sum(map(len, members.values()))
    succeeded = sum(status.value == "success" for status in rollout.groups.values())
    return f"{memberships:,} memberships, {moves:,} moves, {succeeded:,} of {len(rollout.groups):,} groups succeeded"


def measure(groups: int, nodes: int) -> tuple[dict[str, float], str]:
    """Return the seconds of each stage for a site of this size, and a line about what came of it."""
    data, machines = random_site(groups, nodes)
    dice = random.Random(nodes)
    failing = frozenset(machine.name for machine in machines if dice.random() < FAILING)
    watch = Stopwatch()
    outcome = ""
    for _ in range(ROUNDS):
        gc.collect()
        gc.callbacks.append(watch.collected)
        outcome = play(watch, data, machines, failing)
        gc.callbacks.remove(watch.collected)
    return watch.seconds, f"{outcome}; the collector {watch.collecting / ROUNDS * 1e3:.0f} ms a round"


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def growth() -> Iterator[str]:
    """Print the table of sizes; yield what grows faster than the site."""
    first: Mapping[str, float] = {}
    for groups, nodes in SIZES:
        seconds, outcome = measure(groups, nodes)
        seconds["total"] = sum(seconds.values())
        first = first or seconds
        units = nodes / SIZES[0][1]
        print(f"\n{groups:,} groups × {nodes:,} nodes ({outcome}); peak {peak_megabytes():.0f} MB so far")
        print(f"  {'stage':<10}{'ms':>10}{'µs/node':>10}{'per unit, against the smallest':>34}")
        for stage, taken in seconds.items():
            ratio = taken / first[stage] / units
            print(f"  {stage:<10}{taken * 1e3:>10.1f}{taken / nodes * 1e6:>10.2f}{ratio:>34.2f}")
            if ratio > (LIMIT if stage == "total" else STAGE_LIMIT):
                yield f"{stage} at {nodes:,} nodes costs {ratio:.2f} times as much a node as at {SIZES[0][1]:,}"


def plain(name: str, parents: list[str]) -> dict[str, Any]:
    return {"name": name, "critical": True, "depends_on": parents, "selectors": []}


def diamond(layers: int, width: int) -> list[dict[str, Any]]:
    """Return groups in layers, each of which waits for every group of the layer before."""
    return [
        plain(f"{layer}.{column}", [f"{layer - 1}.{above}" for above in range(width)] if layer else [])
        for layer in range(layers)
        for column in range(width)
    ]


def shapes() -> None:
    """Print how the awkward graphs fare."""
    print("\nawkward graphs")
    chain = [plain(f"g{number}", [f"g{number - 1}"] if number else []) for number in range(20_000)]
    for title, entries in (
        ("diamond, 30 layers of 8, fully connected", diamond(30, 8)),
        ("chain of 20,000 groups", chain),
        ("the same chain, written backwards", chain[::-1]),
    ):
        watch = Stopwatch()
        wrong = watch.run("check", partial(check_groups, {"groups": entries}))
        strategy = parse_strategy({"groups": entries})
        members = {group.name: frozenset({NodeName(f"n{group.name}")}) for group in strategy.groups}
        moves = watch.run("roll out", partial(run, Rollout(strategy, members)))
        failed = Rollout(strategy, members)
        first = failed.next_move()
        assert first is not None
        failed.start(first)
        watch.run("fail all", partial(failed.finish, first, Outcome(timed_out=True)))
        assert not wrong
        assert moves == 2 * len(entries)
        assert failed.verdict() is Verdict.FAILED
        print(f"  {title:<42}" + "  ".join(f"{stage} {taken * 1e3:.1f} ms" for stage, taken in watch.seconds.items()))
    circle = [plain("g0", ["g19999"]), *chain[1:]]
    watch = Stopwatch()
    (finding,) = watch.run("check", lambda: check_groups({"groups": circle}))
    named = finding.diagnostic.count(", ") + 1
    print(f"  {'circle of 20,000 groups':<42}check {watch.seconds['check'] * 1e3:.1f} ms, path of {named:,} groups")
    print(f"    {finding.message[:120]} …")


def main() -> int:
    too_fast = list(growth())
    shapes()
    print(f"\npeak memory {peak_megabytes():.0f} MB")
    for line in too_fast:
        print(f"NOT LINEAR: {line}")
    if not too_fast:
        print(f"linear: a node costs at most {LIMIT} times as much in the largest site as in the smallest")
    return 1 if too_fast else 0


if __name__ == "__main__":
    sys.exit(main())
