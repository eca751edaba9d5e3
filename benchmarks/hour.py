"""An hour of a large site, in figures: ``python benchmarks/hour.py [--machines N] [--whole] [PROVISIONER ...]``.

1. **The whole stack.** API, one worker, Postgres and a simulated provisioner as processes; 10,000 machines in 40
   groups, eight of them at once, deployed as they are prepared. Everything runs ``--speed`` (30) times as fast as
   machines do, the intervals of polls and chores included, for one hour of the site. What the worker does in real time
   (heartbeats, the queue, the sweep) is measured before, by an idle stack at the pace of machines: its share of the run
   is subtracted, and that of a real hour added.
2. **The engine alone**, in virtual time, with a provisioner that is a table of durations: 10,000 and 100,000 machines.
   ``real pace`` is an hour of the site with the default intervals, ``zero latency`` the whole rollout of a provisioner
   that needs no time. Nothing is sent, so this has no share of reading answers.

Without ``--whole`` the zero-latency rollout of 100,000 machines and the run of Drydock are left out: the rest takes
less than ten minutes on a quiet machine. ``--minutes``: a part of the hour.

Reported are the CPU of the worker and of Postgres as a share of one core, peak memory, requests and bytes a poll, and
the growth of the database. Exits 1 if a run of the whole stack with 10,000 machines exceeds 2 % of a core, 250 MB, or
20 requests a poll, or the idle stack 2 transactions a second. What the benchmark asks the server is not among these.

The intervals of the worker are those of an installation up to a speed of 30.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import installation
import large_site
import loop
import psycopg2
from psycopg2.extensions import make_dsn, parse_dsn
from timed_sites import Group, timed

from shipyard_api.cli import stack

HOUR, SETTLE, IDLE = 3600.0, 20.0, 60.0  # seconds of the site, of wall clock
MACHINES, SPEED, ENGINE_ALONE = 10_000, 30.0, (10_000, 100_000)
MOST_SHARE, MOST_MEGABYTES, MOST_REQUESTS, MOST_IDLE_TRANSACTIONS = 0.02, 250.0, 20.0, 2.0
IN_FLIGHT = {"max_parallel_groups": 8, "deploy_as_prepared": True}


@dataclass(frozen=True)
class Processes:
    """CPU seconds so far, of the worker and of Postgres."""

    worker: float
    postgres: float

    @classmethod
    def of(cls, parent: int, url: str) -> Processes:
        """Measure the worker among the children of a program, and the server of this database (Linux)."""
        with psycopg2.connect(beside(url)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW data_directory")
            (directory,) = cursor.fetchone() or ("",)
        postmaster = int(Path(directory, "postmaster.pid").read_text().split()[0])
        known = parents()
        (worker,) = (pid for pid, one in known.items() if one == parent and is_worker(pid))
        # Sessions that have ended count for the postmaster.
        sessions = sum(cpu(pid) for pid, one in known.items() if one == postmaster)
        return cls(cpu(worker), cpu(postmaster, children=True) + sessions)


def parents() -> Mapping[int, int]:
    """Return the parent of each process (Linux)."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(stat.parent.name)] = int(fields[1])
    return found


def is_worker(pid: int) -> bool:
    try:
        return b"shipyard_api.programs.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def cpu(pid: int, *, children: bool = False) -> float:
    """Return the CPU seconds of a process so far; with those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(one) for one in fields[11 : 15 if children else 13]) / os.sysconf("SC_CLK_TCK")


def database_bytes(url: str) -> int:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone() or (0,)
        return int(size)


def beside(url: str) -> str:
    """Return the address of another database of the server: what is asked there is no transaction of the service."""
    return make_dsn(url, dbname="postgres")


def transactions(url: str) -> int:
    time.sleep(1.5)  # Postgres publishes its counters once a second
    with psycopg2.connect(beside(url)) as connection, connection.cursor() as cursor:
        name = parse_dsn(url)["dbname"]
        cursor.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s", [name])
        (count,) = cursor.fetchone() or (0,)
        return int(count)


@dataclass(frozen=True)
class Hour:
    """What an hour of the site costs. ``share``, ``postgres``, ``idle``: of a core; ``growth``: MB of the database."""

    share: float
    postgres: float
    idle: float
    idle_transactions: float
    megabytes: float
    polls: int
    requests: float
    kilobytes: float
    growth: float
    nodes: int


def play(provisioner: str, machines: int, speed: float, seconds: float) -> Hour:
    """Deploy the site for so many seconds of its time and return what an hour costs."""
    rates, idle_transactions = idle(provisioner)
    text = large_site.design(machines, large_site.Plan(provisioner, mode=IN_FLIGHT))
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site.yaml")
        site.write_text(text)
        with stack.running(Path("calm"), speed, provisioner, site) as access:
            url, parent = access["database_url"], access["pid"]
            api = large_site.Api(access["url"], access["token"])
            large_site.load(api, text)
            size, before, began = database_bytes(url), Processes.of(parent, url), time.monotonic()
            action = api.send("POST", "actions", json.dumps({"name": "deploy_site"}).encode(), "application/json")
            time.sleep(seconds / speed)
            wall, after = time.monotonic() - began, Processes.of(parent, url)
            growth = database_bytes(url) - size
            # Drydock's simulator logs what became of tasks, not requests.
            events = large_site.served(access["simulators"][provisioner]) if provisioner in large_site.LOOKS else []
            megabytes = large_site.worker_peak(parent)
            nodes = done(url, action["id"])
    played = wall * speed
    used = [after.worker - before.worker - rates[0] * wall, after.postgres - before.postgres - rates[1] * wall]
    shares = [one / played + rate for one, rate in zip(used, rates, strict=True)]
    polls = large_site.looks(provisioner, events) if provisioner in large_site.LOOKS else []
    read = sum(
        event["sent"]
        for event in events
        if event["method"] == "GET" and event["path"] in large_site.LOOKS.get(provisioner, ())
    )
    return Hour(
        shares[0],
        shares[1],
        rates[0],
        idle_transactions,
        megabytes,
        len(polls),
        sum(polls) / len(polls) if polls else 0.0,
        read / 1000 / len(polls) if polls else 0.0,
        growth * HOUR / played / 1e6,
        nodes,
    )


def idle(provisioner: str) -> tuple[tuple[float, float], float]:
    """Return what worker and Postgres need of a core in real time while nothing happens, and transactions a second."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site.yaml")
        site.write_text(large_site.design(large_site.GROUPS, large_site.Plan(provisioner)))
        with stack.running(Path("calm"), 1.0, provisioner, site) as access:
            url, parent = access["database_url"], access["pid"]
            time.sleep(SETTLE)  # the start is not idle
            count, began, before = transactions(url), time.monotonic(), Processes.of(parent, url)
            time.sleep(IDLE)
            after, seconds = Processes.of(parent, url), time.monotonic() - began
            rates = (after.worker - before.worker) / seconds, (after.postgres - before.postgres) / seconds
            count = transactions(url) - count
            return rates, count / (time.monotonic() - began)


def done(url: str, action: str) -> int:
    """Return how many nodes of the action are deployed."""
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM action_nodes WHERE action_id = %s AND status = 'success'", [action])
        (count,) = cursor.fetchone() or (0,)
        return int(count)


def engine_alone(machines: int, *, instant: bool) -> None:
    """Print what the engine and Postgres need for a rollout without a provisioner, or for an hour of it."""
    groups = [
        Group(f"group{at:03}", [f"n{at:03}-{one:03}" for one in range(250)], ["group000"] if at else [])
        for at in range(machines // 250)
    ]
    site = timed(f"{machines} machines", groups, 1)
    with installation.database() as database:
        patient: Mapping[str, object] = {**IN_FLIGHT, "prepare_node_timeout": 86_400, "deploy_timeout": 86_400}
        clock = loop.VirtualClock()
        run = loop.Run.of(database, site, patient, clock, instant=instant)
        began, started, turns = time.monotonic(), process_time(), 0
        for _ in run.turns():
            turns += 1
            if not instant and clock.seconds > HOUR:
                break
        seconds, used = time.monotonic() - began, process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    what = "zero latency, to the end" if instant else "real pace, an hour"
    share = f"{used:.1f} s of CPU in {seconds:.1f} s" if instant else f"{100 * used / clock.seconds:.2f} % of a core"
    print(f"  {machines:>7,} machines, {what}: {share}, {turns} turns, {peak:.0f} MB", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=MACHINES)
    parser.add_argument("--speed", type=float, default=SPEED)
    parser.add_argument("--minutes", type=float, default=HOUR / 60)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--engine", metavar="MACHINES,INSTANT", help="used by the benchmark itself")
    parser.add_argument("provisioners", nargs="*", metavar="PROVISIONER")
    options = parser.parse_args(arguments)
    if options.engine:
        machines, _, instant = options.engine.partition(",")
        engine_alone(int(machines), instant=instant == "instant")
        return 0
    exceeded = []
    print(f"{options.machines:,} machines, an hour at {options.speed:g} times the pace of machines")
    print(
        f"{'':<9}{'worker %':>9}{'postgres %':>12}{'idle %':>8}{'idle tx/s':>11}{'MB':>6}{'polls':>7}"
        f"{'requests':>10}{'kB a poll':>11}{'MB an hour':>12}{'MB a day':>10}{'deployed':>10}"
    )
    for name in options.provisioners or ["ironic", "maas", *(["drydock"] if options.whole else [])]:
        hour = play(name, options.machines, options.speed, 60 * options.minutes)
        print(
            f"{name:<9}{100 * hour.share:>9.2f}{100 * hour.postgres:>12.2f}{100 * hour.idle:>8.2f}"
            f"{hour.idle_transactions:>11.1f}{hour.megabytes:>6.0f}{hour.polls:>7}{hour.requests:>10.1f}"
            f"{hour.kilobytes:>11,.0f}{hour.growth:>12.1f}{24 * hour.growth:>10.0f}{hour.nodes:>10,}",
            flush=True,
        )
        if options.machines <= MACHINES:
            exceeded += [
                f"{name}: {what}"
                for what, is_above in (
                    (f"{100 * hour.share:.2f} % of a core", hour.share > MOST_SHARE),
                    (f"{hour.megabytes:.0f} MB", hour.megabytes > MOST_MEGABYTES),
                    (f"{hour.requests:.1f} requests a poll", hour.requests > MOST_REQUESTS),
                    (f"{hour.idle_transactions:.1f} idle tx/s", hour.idle_transactions > MOST_IDLE_TRANSACTIONS),
                )
                if is_above
            ]
    print("the engine and Postgres without a provisioner", flush=True)
    for machines in ENGINE_ALONE:
        for pace in ("real", "instant"):
            if pace == "real" or options.whole or machines == ENGINE_ALONE[0]:
                # A process of its own: its peak of memory is that of one run.
                os.spawnl(os.P_WAIT, sys.executable, sys.executable, __file__, "--engine", f"{machines},{pace}")
    for line in exceeded:
        print(f"TOO MUCH: {line}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
