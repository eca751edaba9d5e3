"""What the API costs, compared with a bare Falcon route: ``python benchmarks/api.py [--quick] [--baseline CHECKOUT]``.

On an embedded Postgres with 10,000 actions, each with 11 steps and some lines of the journal, gunicorn serves the API
as it is shipped, and beside it the bare application of ``bare_api.py``: same workers, same threads. Both are asked by
processes of their own over connections that stay open, in turns, so that other work on the machine hits both alike.

- GET of one action: against one question for its row by its key. Of actions that did not change since they were last
  asked for, and ("anew") of actions that have all just changed, so that nothing of what was rendered can be used.
- GET of all actions: against one question for the columns of the same 10,000 rows, answered as JSON. Ours has the
  steps and the notes of each as well, six times as many bytes; the ratio is one of answers a second.
- POST of a small collection: against one INSERT. Ours reads YAML, compares with what is there and makes a revision; one
  at a time, since a second one meanwhile is a 409.
- GET of one action while 1,000 idle connections and 100 unfinished uploads are open: against the same without them.
- With ``--baseline``, the same requests to the API of another checkout, over WSGI, in the same turns.
- 200 callers at once, and 50,000 requests with what the workers hold in memory along the way.

Exits with 1 if a GET comes to less than 0.7 of its bare route, or 0.4 where the action has just changed, if there is
any 5xx or no answer, if bystanders make the p99 of a GET a fifth longer, or if memory grows by more than a tenth after
the first fifth of the requests.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from http_load import Load, play, together
from many_actions import ACTIONS, STEPS, prepared
from served import ROOT, THREADS, WORKERS, gunicorn, megabytes

from shipyard_api.storage.unit_of_work import connect
from shipyard_simulators.embedded_postgres import server

LEAST, LEAST_ANEW, MOST_GROWTH, MOST_DELAY = 0.7, 0.4, 0.1, 1.2
IDLE, UPLOADS = 1000, 100
ANY = range(1, ACTIONS + 1)
MANY = range(1, ACTIONS + 1, ACTIONS // 1000)
SOME = range(1, ACTIONS + 1, ACTIONS // 200)


@dataclass(frozen=True)
class Plan:
    """What is asked of both, by how many at once; ``before`` is done before each round of ours."""

    name: str
    path: str
    ids: Sequence[int]
    callers: int
    least: float = 0.0
    is_post: bool = False
    before: Callable[[], None] | None = None


def compared(plan: Plan, loads: Sequence[Load], seconds: float, rounds: int) -> tuple[str, float, int]:
    """Return a line of the table; the median of the ratios of rounds in which ours and the bare route were asked, one
    after the other; and how many of our answers were a 5xx or none. A third load is that of the baseline.
    """
    turns = []
    for _ in range(rounds):
        turn = []
        for load in loads:
            if plan.before and load is not loads[1]:
                plan.before()
            turn.append(play(load, plan.callers, seconds=seconds))
        turns.append(turn)
    ratios = [statistics.median(turn[0].rate / turn[side].rate for turn in turns) for side in range(1, len(loads))]
    sides = [together([turn[side] for turn in turns]) for side in range(len(loads))]
    answers = " |".join(
        f"{one.rate:>9.1f}{one.at(0.5):>9.1f}{one.at(0.99):>9.1f}{one.errors:>7}{one.size / 1e6:>9.3f}" for one in sides
    )
    failed = sum(number for code, number in sides[0].codes.items() if code >= 500 or code == 0)
    return f"{plan.name:<36}{answers} |{' '.join(f'{one:>6.2f}' for one in ratios)}", ratios[0], failed


@contextlib.contextmanager
def bystanders(load: Load) -> Iterator[None]:
    """Open connections that ask nothing, and uploads that do not go on, for the length of the block."""
    upload = (
        f"POST /api/v1.0/configdocs/bench HTTP/1.1\r\nHost: bench\r\nX-Auth-Token: {load.token}\r\n"
        "Content-Type: application/x-yaml\r\nContent-Length: 1000\r\n\r\n---\n"
    ).encode()
    with contextlib.ExitStack() as stack:
        for number in range(IDLE + UPLOADS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", load.port), timeout=60))
            if number < UPLOADS:
                one.sendall(upload)
        time.sleep(1.5)  # until the server has accepted all of them
        yield


def beside_bystanders(load: Load, seconds: float, rounds: int) -> float:
    """Print and return how much longer a GET takes beside them, as the median of the ratios of p99."""
    pairs = []
    for _ in range(rounds):
        alone = play(load, 16, seconds=seconds)
        with bystanders(load):
            pairs.append((alone, play(load, 16, seconds=seconds)))
    ratio = statistics.median(beside.at(0.99) / alone.at(0.99) for alone, beside in pairs)
    alone, beside = (together([pair[side] for pair in pairs]) for side in (0, 1))
    print(
        f"GET action beside {IDLE:,} idle connections and {UPLOADS} unfinished uploads: p99 {beside.at(0.99):.1f} ms, "
        f"alone {alone.at(0.99):.1f} ms, ratio {ratio:.2f}; {beside.rate:.0f} and {alone.rate:.0f} a second"
    )
    return ratio


@contextlib.contextmanager
def baseline(checkout: Path, url: str) -> Iterator[tuple[int, str]]:
    """Serve the API of another checkout, over WSGI, on a database of its own; yields port and token."""
    engine = connect(url, pool_size=1)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("CREATE DATABASE baseline"))
    engine.dispose()
    own = sa.make_url(url).set(database="baseline").render_as_string(hide_password=False)
    script = "import sys; sys.path.insert(0, 'benchmarks'); import api; print(api.prepared(sys.argv[1]))"
    environ = {**os.environ, "PYTHONPATH": str(checkout)}
    made = subprocess.run(
        [sys.executable, "-c", script, own], cwd=checkout, env=environ, check=True, capture_output=True, text=True
    )
    with gunicorn("shipyard_api.wsgi:app", own, chdir=checkout, root=checkout) as (port, _):
        yield port, made.stdout.split()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="A tenth of the load: shows that it runs, not what it costs."
    )
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="Compare with this checkout, over WSGI.")
    options = parser.parse_args()
    is_quick = options.quick
    seconds, rounds, number = (1.0, 1, 5_000) if is_quick else (2.5, 5, 50_000)
    missed = []
    # What was started is stopped, also when somebody has enough of waiting.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    v1 = "/api/v1.0"
    with contextlib.ExitStack() as stack:
        postgres = stack.enter_context(
            server.temporary({"fsync": "off", "synchronous_commit": "off", "max_connections": "200"})
        )
        token = prepared(postgres.url)
        port, master = stack.enter_context(gunicorn("shipyard_api.programs.asgi:app", postgres.url, chdir=ROOT))
        bare_port, _ = stack.enter_context(gunicorn("bare_api:app", postgres.url, chdir=ROOT / "benchmarks"))
        other = stack.enter_context(baseline(options.baseline.resolve(), postgres.url)) if options.baseline else None
        one, all_, post = f"{v1}/actions", f"{v1}/actions", f"{v1}/configdocs/bench?buffermode=replace"
        load = os.getloadavg()[0]
        print(f"{ACTIONS:,} actions of {STEPS} steps; {WORKERS} workers of {THREADS} threads; other load {load:.1f}")
        head = f"{'a second':>9}{'p50 ms':>9}{'p99 ms':>9}{'errors':>7}{'MB':>9}"
        names = ["ours", "bare", *(["baseline"] if other else [])]
        print(f"{'':<36}{' |'.join(head for _ in names)} | ratios")
        print(f"{'':<36}{' |'.join(f'{name:>43}' for name in names)} |")
        changed = sa.text("UPDATE actions SET epoch = epoch")
        url = sa.make_url(postgres.url)
        databases = [postgres.url, *([url.set(database="baseline").render_as_string(False)] if other else [])]
        engines = [connect(one, pool_size=1) for one in databases]

        def change() -> None:
            for engine in engines:
                with engine.begin() as connection:
                    connection.execute(changed)

        def warm() -> None:
            """Let both workers render everything that is asked for."""
            for served, secret in [(port, token), *([other] if other else [])]:
                play(Load(served, secret, all_), 16, number=32)
                play(Load(served, secret, one, SOME), 16, number=8 * len(SOME))

        plans = [
            Plan("GET action, 16 callers", one, SOME, 16, LEAST, before=warm),
            Plan("GET action, 200 callers", one, SOME, 200, LEAST, before=warm),
            Plan("GET action, anew, 16 callers", one, ANY, 16, LEAST_ANEW, before=change),
            Plan("GET actions, 2 callers", all_, (), 2, LEAST, before=warm),
            Plan("GET actions, 16 callers", all_, (), 16, LEAST, before=warm),
            Plan("GET actions?limit=100, 16 callers", f"{all_}?limit=100", (), 16, before=warm),
            Plan("POST configdocs, 1 caller", post, (), 1, is_post=True),
        ]
        for plan in plans:
            servers = [(port, token), (bare_port, token), *([other] if other else [])]
            loads = [Load(served, secret, plan.path, plan.ids, plan.is_post) for served, secret in servers]
            line, ratio, failed = compared(plan, loads, seconds, rounds)
            print(line, flush=True)
            if ratio < plan.least:
                missed.append(f"{plan.name}: {ratio:.2f} of the bare route, at least {plan.least}")
            if failed:
                missed.append(f"{plan.name}: {failed} times a 5xx or no answer")
        warm()
        if (delay := beside_bystanders(Load(port, token, one, SOME), seconds, rounds)) > MOST_DELAY:
            missed.append(f"GET action beside bystanders: p99 is {delay:.2f} times as long")
        cold, bare_cold = [], []
        for _ in range(rounds):
            change()
            cold += play(Load(port, token, all_), 1, number=1).seconds
            bare_cold += play(Load(bare_port, token, all_), 1, number=1).seconds
        middle, bare_middle = statistics.median(cold), statistics.median(bare_cold)
        print(
            f"GET actions, anew: one list of all of them, each of which has changed, {1000 * middle:,.0f} ms, bare "
            f"{1000 * bare_middle:,.0f} ms, ratio {bare_middle / middle:.2f}"
        )
        for engine in engines:
            engine.dispose()
        print(f"{number:,} requests for one of {len(MANY):,} actions, from 200 callers:")
        grown: list[float] = []
        codes: Counter[int] = Counter()
        for done in range(5):
            answers = play(Load(port, token, one, MANY), 200, number=number // 5, processes=2)
            codes += answers.codes
            held = megabytes(master)
            grown.append(sum(held))
            print(
                f"{(done + 1) * number // 5:>9,}  p50 {answers.at(0.5):6.1f} ms  p99 {answers.at(0.99):6.1f} ms"
                f"  worst {answers.at(1.0):6.1f} ms  workers hold {' + '.join(f'{one:.1f}' for one in held)} MB"
            )
        print(f"answers: {dict(codes)}")
        if sum(count for code, count in codes.items() if code >= 500 or code == 0):
            missed.append(f"not every request was answered: {dict(codes)}")
        if grown[-1] > grown[0] * (1 + MOST_GROWTH):
            missed.append(f"the workers grew from {grown[0]:.1f} to {grown[-1]:.1f} MB")
    for line in missed:
        print(f"TOO MUCH: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
