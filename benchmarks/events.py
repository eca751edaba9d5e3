"""The cost of event streams: ``python benchmarks/events.py [--listeners N]``.

One process of the API, as it is shipped, on an embedded Postgres; 1,000 listeners in another process; a third asks for
one action again and again over one connection. Entries of the journal are committed one by one, ten a second.

- **Delay:** from the end of the commit to the arrival at each listener.
- **A bystander:** a GET of one action, alone, while all listeners open their streams, beside idle listeners, and while
  events are sent.
- **Memory** of the process before and with the listeners; connections that LISTEN; transactions of the database while
  nothing happens.
- **Catching up:** all listeners come back at once with an old cursor, as after a restart.

Exits 1 if an event is lost or repeated, if there is more than one LISTEN, if idle listeners cause more than two
transactions a second, or if a request of the bystander takes more than a second while all streams are opened.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from http_load import Load, play
from served import ROOT, cpu_seconds, gunicorn, megabytes

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_simulators.embedded_postgres import server

EVENTS, PAUSE, IDLE_SECONDS, BEFORE = 100, 0.1, 5.0, 500
OPENING_SECONDS = 4.0  # in which all listeners open their streams
MOST_MILLISECONDS = 1000.0  # a request of anybody, whatever others ask
MOST_TRANSACTIONS = 2.0
ACTION = "01M7XV7VKPMDHXJVA7WM000001"
_ID = re.compile(rb"^id: (\d+)\nevent: ", re.MULTILINE)
_ADD = sa.text(
    "INSERT INTO journal (action_id, epoch, step_id, kind, at, worker, facts) "
    "SELECT :action, 1, 'preflight', 'noted', now(), 'w', "
    "json_build_object('topic', 'Bench', 'text', 'a note of usual length about group compute and its nodes') "
    "FROM generate_series(1, :number) RETURNING id"
)


@dataclass
class Heard:
    """When each event arrived at each listener, by its id; on the clock that all processes share."""

    opened: float = 0.0
    arrived: dict[int, list[float]] = field(default_factory=dict)


class _Body:
    """An answer in chunks, as it comes."""

    def __init__(self) -> None:
        self.has_begun = False
        self._raw = bytearray()
        self._text = bytearray()

    def events(self, piece: bytes) -> list[int]:
        """Return the ids of the events that are complete with this piece."""
        assert piece, "the server has closed a stream"
        self._raw += piece
        if not self.has_begun:
            head, _, rest = self._raw.partition(b"\r\n\r\n")
            assert b" 200 " in head, head
            self.has_begun, self._raw = True, rest
        while (end := self._raw.find(b"\r\n")) > 0 and len(self._raw) >= (size := int(self._raw[:end], 16)) + end + 4:
            self._text += self._raw[end + 2 : end + 2 + size]
            del self._raw[: end + size + 4]
        whole, _, left = self._text.rpartition(b"\n\n")
        self._text = left
        return [int(one[1]) for one in _ID.finditer(whole)]


@dataclass
class Listeners:
    """Listeners in a process of their own, who listen until each has the event ``until``."""

    port: int
    token: str
    number: int
    path: str

    @contextmanager
    def listening(self) -> Iterator[tuple[multiprocessing.Queue[Heard], multiprocessing.Queue[int]]]:
        heard: multiprocessing.Queue[Heard] = multiprocessing.Queue()
        until: multiprocessing.Queue[int] = multiprocessing.Queue()
        child = multiprocessing.Process(target=self._listen, args=(heard, until))
        child.start()
        yield heard, until
        child.join(60)

    def _listen(self, heard: multiprocessing.Queue[Heard], until: multiprocessing.Queue[int]) -> None:
        found, watched, last = Heard(opened=time.monotonic()), selectors.DefaultSelector(), 0
        request = f"GET {self.path} HTTP/1.1\r\nHost: bench\r\nX-Auth-Token: {self.token}\r\n\r\n".encode()
        streams = [socket.create_connection(("127.0.0.1", self.port), timeout=60) for _ in range(self.number)]
        bodies = {stream: _Body() for stream in streams}
        for stream in streams:
            stream.sendall(request)
            watched.register(stream, selectors.EVENT_READ)
        begun = done = 0
        while not last or done < self.number:
            for key, _ in watched.select(0.05):
                ready = key.fileobj
                assert isinstance(ready, socket.socket)
                body, now = bodies[ready], time.monotonic()
                if not body.has_begun:
                    begun += 1
                    if begun == self.number:
                        heard.put(found)
                for one in body.events(ready.recv(1 << 18)):
                    found.arrived.setdefault(one, []).append(now)
                    done += one == last
            if not last and not until.empty():
                last = until.get()
                done = len(found.arrived.get(last, ()))
        heard.put(found)


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listeners", type=int, default=1000)
    number = parser.parse_args(arguments).listeners
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, number + 500)), hard))
    with server.temporary({}) as running:
        engine = connect(running.url, pool_size=2)
        migrations.upgrade(engine, ROOT / "migrations")
        with engine.begin() as connection:
            connection.execute(
                sa.text(
                    "INSERT INTO actions (id, name, parameters, user_name, context_marker, exclusive, inputs, state, "
                    "ended_at) VALUES (:action, 'deploy_site', '{}', 'ann', 'x', true, '{}', 'success', now())"
                ),
                {"action": ACTION},
            )
        _, token = ApiTokens(Store(engine, ProcrastinateWakeup())).create("benchmark", "admin")
        with gunicorn("shipyard_api.programs.asgi:app", running.url, chdir=ROOT, workers=1) as (port, master):
            code = measure(engine, port, master, token, number)
        engine.dispose()
    return code


def measure(engine: sa.Engine, port: int, master: int, token: str, number: int) -> int:
    """Print the figures of a served API; return the exit code."""
    bystander = Load(port, token, f"/api/v1.0/actions/{ACTION}")
    alone, (before,) = play(bystander, 1, seconds=3), megabytes(master)
    with Listeners(port, token, number, "/events").listening() as (heard, until):
        opening = play(bystander, 1, seconds=OPENING_SECONDS)
        heard.get(timeout=60)
        time.sleep(1)
        at_first, began = _transactions(engine), time.monotonic()
        time.sleep(IDLE_SECONDS)
        idle_rate = (_transactions(engine) - at_first - 1) / (time.monotonic() - began)
        connections = _scalar(engine, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
        beside_idle, (held,) = play(bystander, 1, seconds=3), megabytes(master)
        used = cpu_seconds(master)
        committed = _commit(engine)
        time.sleep(1)
        used = cpu_seconds(master) - used
        results: multiprocessing.Queue[Any] = multiprocessing.Queue()
        load = multiprocessing.Process(target=_report, args=(bystander, results))
        load.start()
        time.sleep(0.5)
        committed |= _commit(engine)
        until.put(max(committed))
        live = heard.get(timeout=120)
        busy_at = results.get(timeout=60)
        load.join()
    delays = sorted(1000 * (at - committed[one]) for one, all_at in live.arrived.items() for at in all_at)
    (after,) = megabytes(master)
    with engine.begin() as connection:
        entries = connection.execute(_ADD, {"action": ACTION, "number": BEFORE}).scalars().all()
    time.sleep(5)  # the server drops the tasks of connections that are gone after 3 s
    path = f"/events?last_event_id={min(entries) - 1}"
    with Listeners(port, token, number, path).listening() as (heard, until):
        until.put(max(entries))
        coming_back = play(bystander, 1, seconds=OPENING_SECONDS)
        heard.get(timeout=60)
        caught_up = heard.get(timeout=120)
    seconds = max(caught_up.arrived[max(entries)]) - caught_up.opened
    whole = all(len(live.arrived.get(one, ())) == number for one in committed) and all(
        len(caught_up.arrived.get(one, ())) == number for one in entries
    )
    print(f"{number} listeners on one process, {2 * EVENTS} events, {len(delays)} arrivals")
    print(f"  processor time of an arrival: {1e6 * used / EVENTS / number:.0f} us")
    print(f"  commit to arrival: p50 {_at(delays, 0.5):.1f}, p99 {_at(delays, 0.99):.1f}, at most {delays[-1]:.1f} ms")
    firsts = [1000 * (min(all_at) - committed[one]) for one, all_at in live.arrived.items()]
    print(f"  commit to the first arrival: p50 {statistics.median(firsts):.1f} ms")
    for name, p50, p99 in (
        ("alone", alone.at(0.5), alone.at(0.99)),
        ("beside idle listeners", beside_idle.at(0.5), beside_idle.at(0.99)),
        ("while events are sent", *busy_at),
    ):
        print(f"  GET of an action {name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    held_up = max(opening.at(1.0), coming_back.at(1.0))
    print(f"  GET of an action while all open at once: at most {opening.at(1.0):.0f} ms")
    print(f"  GET of an action while all open at once, {BEFORE} events behind: at most {coming_back.at(1.0):.0f} ms")
    print(f"  memory: {before:.0f} MB, with listeners {held:.0f} MB, afterwards {after:.0f} MB")
    print(f"  idle: {connections} LISTEN, {idle_rate:.2f} transactions/s")
    print(f"  all come back {BEFORE} events behind: everything arrived after {seconds:.2f} s")
    print(f"  lost or repeated: {'none' if whole else 'SOME'}")
    return int(not whole or connections != 1 or idle_rate > MOST_TRANSACTIONS or held_up > MOST_MILLISECONDS)


def _commit(engine: sa.Engine) -> dict[int, float]:
    """Commit events one by one; return when each was committed, by its id."""
    committed = {}
    for _ in range(EVENTS):
        with engine.begin() as connection:
            (entry,) = connection.execute(_ADD, {"action": ACTION, "number": 1}).scalars()
        committed[entry] = time.monotonic()
        time.sleep(PAUSE)
    return committed


def _report(load: Load, results: multiprocessing.Queue[tuple[float, float]]) -> None:
    told = play(load, 1, seconds=EVENTS * PAUSE)
    results.put((told.at(0.5), told.at(0.99)))


def _at(values: Sequence[float], part: float) -> float:
    return values[min(len(values) - 1, int(len(values) * part))]


def _transactions(engine: sa.Engine) -> int:
    return _scalar(
        engine, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    )


def _scalar(engine: sa.Engine, query: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(sa.text(query)).scalar_one())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
