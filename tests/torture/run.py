"""``./dev torture``: play seeds, and say what was wrong with them."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.databases import Databases, Run
from tests.torture.clock import NoTimePasses
from tests.torture.judge import breaches, broken_turns
from tests.torture.operators import Operators
from tests.torture.plan import Plan, plan_of
from tests.torture.record import PAGE, Total, keep, page, read
from tests.torture.strikes import STRIKES
from tests.torture.world import World

HOUR = 3600.0
STRAGGLE = 2 * HOUR  # after that nothing goes on at a peer
SHOWN = 3  # complaints of a seed, unless it is verbose
MOST = 400  # characters of a line of a story
LIVENESS = 24 * HOUR  # seconds after the last fault in which every accepted action ends; windows open within them


@dataclass
class Played:
    """What came of a seed. ``virtual``: the seconds that its site lived; ``took``: those of the wall clock."""

    plan: Plan
    text: str
    complaints: Sequence[str]
    faults: Sequence[str]
    virtual: float
    deliveries: int
    took: float


def played(url: str, plan: Plan) -> Played:
    """Play a plan to its end and beyond, and judge it."""
    began = time.monotonic()
    with broken_turns() as broken, closing(World(url, plan, STRIKES)) as world:
        try:
            _live(world)
        except (Exception, NoTimePasses):  # noqa: BLE001  # it is a finding, like any other
            world.complaints.append(traceback.format_exc())
        text = _history(world)
        complaints = [*world.complaints, *broken, *breaches(text)]
        virtual, took = world.clock.seconds, time.monotonic() - began
        return Played(plan, text, complaints, world.struck, virtual, world.deliveries, took)


def _history(world: World) -> str:
    plan = world.plan
    header = {
        "commit": commit(),
        "seed": plan.seed,
        "provisioner": plan.row["provisioner"],
        "settle": world.settings.engine.settle_seconds,
    }
    peers = {plan.row["provisioner"]: world.peer.events()}
    if world.apiserver:
        peers["kubernetes"] = world.cluster_events()
    return world.history.text(header, peers, world.foreign)


def _live(world: World) -> None:
    """Let a site live until every action has ended, and whatever goes on after that."""
    if world.row["templates"] == "requested":
        world.keep_template()
    if world.row["software"] == "runs":
        world.task_graph()
    world.commit()
    for deed in world.plan.faults:
        world.later(deed.at, partial(world.due, deed))
    operators = Operators(world)
    if not world.play(until=operators.is_over, most=world.plan.quiet + LIVENESS):
        world.complaints.append(f"these do not end: {world.open_actions()}")
    if lost := set(world.accepted) - world.actions_there():
        world.complaints.append(f"these were accepted, and are gone: {sorted(lost)}")
    world.peer.play(())
    if not world.play(until=lambda: not world.stragglers(), most=STRAGGLE):
        world.complaints.append(f"these are stragglers still: {world.stragglers()}")


@cache
def commit() -> str:
    """Return the commit of the checkout."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main(arguments: list[str] | None = None) -> int:
    """Return the exit code: 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="./dev torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="play this seed (default: 1)")
    parser.add_argument("--seeds", type=int, default=1, help="play so many seeds, from that one on")
    parser.add_argument("--hours", type=float, default=0.0, help="play seeds, from that one on, for so long")
    parser.add_argument("--provisioner", choices=["drydock", "ironic", "maas"], default="")
    parser.add_argument("--without", default="", help="leave these kinds of faults out, divided by commas")
    parser.add_argument("--history", type=Path, help="write the history of the last seed into this file")
    parser.add_argument("--failed", type=Path, help="keep the histories of seeds that fail in this directory")
    parser.add_argument("--record", action="store_true", help="add the run to the record, and write docs/torture.md")
    parser.add_argument("--page", action="store_true", help="write docs/torture.md from the record, and play nothing")
    parser.add_argument("--verbose", action="store_true", help="print the plan and the story of each seed")
    given = parser.parse_args(arguments)
    if given.page:
        PAGE.write_text(page(read()), encoding="utf-8")
        return 0
    run = Run.begin()
    try:
        with Databases(run.directory).migrated() as url:
            return _seeds(url, given)
    finally:
        run.end()


def _seeds(url: str, given: argparse.Namespace) -> int:
    """Play seeds, one after another; print what came of each, and of all of them."""
    began, total = time.monotonic(), Total(commit(), given.seed)
    with ended_by_signals() as is_ended:
        while total.seeds < given.seeds or time.monotonic() - began < given.hours * HOUR:
            if is_ended.is_set():
                break
            _seed(url, given, total)
    if total.seeds > 1:
        print(total, flush=True)
    if given.record:
        keep(total)
    return 1 if total.failed else 0


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """Let Ctrl-C and SIGTERM end the run after its seed, so that what it played is recorded."""
    ended = threading.Event()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _seed(url: str, given: argparse.Namespace, total: Total) -> None:
    """Play the next seed; print what came of it."""
    plan = plan_of(given.seed + total.seeds, given.provisioner)
    left = [deed for deed in plan.faults if deed.kind not in given.without.split(",")]
    result = played(url, replace(plan, faults=left))
    _count(total, result)
    _print(result, verbose=given.verbose)
    if given.history:
        given.history.write_text(result.text, encoding="utf-8")
    if given.failed and result.complaints:
        given.failed.mkdir(parents=True, exist_ok=True)
        (given.failed / f"{plan.seed}.jsonl").write_text(result.text, encoding="utf-8")
        (given.failed / f"{plan.seed}.txt").write_text("\n".join([str(plan), *result.complaints]), encoding="utf-8")


def _count(total: Total, result: Played) -> None:
    plan = result.plan
    total.seeds += 1
    total.node_hours = round(total.node_hours + len(plan.nodes) * result.virtual / HOUR, 3)
    total.deliveries += result.deliveries
    total.provisioners[plan.row["provisioner"]] += 1
    total.faults.update(result.faults)
    if result.complaints:
        total.failed[str(plan.seed)] = result.complaints[0].partition("\n")[0]


def _print(result: Played, *, verbose: bool) -> None:
    if verbose:
        print(result.plan)
        print(*map(_sentence, map(json.loads, result.text.splitlines()[1:])), sep="\n")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(result.faults).items()))
    print(
        f"seed {result.plan.seed} ({result.plan.row['provisioner']}): {len(result.plan.nodes)} nodes, "
        f"{result.virtual:.0f} virtual s, {result.deliveries} deliveries, {kinds or 'no fault'}; "
        f"{'WRONG' if result.complaints else 'right'}, {result.took:.1f} s",
        flush=True,
    )
    shown = result.complaints if verbose else result.complaints[:SHOWN]
    for complaint in shown:
        print("   ", complaint.replace("\n", "\n    "), flush=True)
    if left := len(result.complaints) - len(shown):
        print(f"    and {left} more", flush=True)


def _sentence(entry: Mapping[str, Any]) -> str:
    """Return an entry of a history as a line that people read."""
    known = [str(entry[name]) for name in ("operation", "type", "phase") if name in entry]
    known += [",".join(entry.get("nodes", ())), "EFFECT" if entry.get("effect") else ""]
    known += [
        f"epoch {entry['epoch']}" if "epoch" in entry else "",
        f"marker {entry['marker'][-12:]}" if "marker" in entry else "",
    ]
    said = {key: value for key, value in entry.get("value", {}).items() if value not in ("", [], None, {})}
    line = " ".join(filter(None, [f"{entry['time']:9.3f}", entry["process"], *known, str(said) if said else ""]))
    return line if len(line) < MOST else f"{line[:MOST]} …"


if __name__ == "__main__":
    sys.exit(main())
