"""Many sites in one installation, three ways: ``python benchmarks/many_sites.py [SITES]``; the figures of ADR 0031.

(a) One process set over a database for each site, beside one schema for each site. (b) The site as a column, on a
synthetic table. (c) A stack for each site: one and two are run, and more are extrapolated. Memory is PSS: pages that
processes share count once (Linux).
"""

from __future__ import annotations

import gc
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2
import sqlalchemy as sa
from served import gunicorn

from shipyard_api.storage import migrations
from shipyard_api.storage.site_tables import metadata
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.wiring.settings import Settings, load, share_directory
from shipyard_simulators.embedded_postgres import server

SITES, NODES, CHILDREN = 500, 200, 8
ENVIRONMENT = {
    "SHIPYARD_CONFIG": os.devnull,
    "SHIPYARD_LOG_LEVEL": "ERROR",
    "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9",
    "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
}
POSTGRES = {"fsync": "off", "synchronous_commit": "off", "max_connections": "700"}


def settings(url: str) -> Settings:
    """Return the settings of a site with a Drydock that is never asked."""
    return load({"DATABASE_URL": url, **ENVIRONMENT})


def pss(pids: Sequence[int]) -> float:
    """Return what processes hold, in MB; one of Postgres's may have ended since they were listed."""
    held = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            held += int(re.findall(r"Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())[0])
    return held / 1024


def children(parent: int) -> list[int]:
    """Return the processes below one, and itself."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [parent]
    for pid in found:
        found += [child for child, of in parents.items() if of == pid]
    return found


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """Connect without transactions."""
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        yield connection


def timed(work: Callable[..., object], *arguments: object, times: int = 1) -> float:
    """Return the median milliseconds of a piece of work."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work(*arguments)
        took.append(time.perf_counter() - began)
    return 1000 * statistics.median(took)


def show(what: str, figure: str) -> None:
    print(f"{what:<76} {figure:>22}", flush=True)


def databases(url: str, sites: int) -> list[str]:
    """Show what a database for each site costs; return their addresses."""
    base, directory = url.rpartition("/")[0], share_directory() / "migrations"
    with opened(f"{base}/postgres") as admin:
        cursor = admin.cursor()
        cursor.execute("CREATE DATABASE site_0")
        first = connect(f"{base}/site_0", pool_size=1)
        show("(a) migrate an empty database", f"{timed(migrations.upgrade, first, directory):.0f} ms")
        show("(a) upgrade one that is up to date", f"{timed(migrations.upgrade, first, directory, times=5):.0f} ms")
        first.dispose()
        names = [f"site_{number}" for number in range(1, sites)]
        each = [timed(cursor.execute, f"CREATE DATABASE {name} TEMPLATE site_0") for name in names]
        cursor.execute("SELECT pg_database_size('site_0') / 1e6")
        show(
            f"(a) {sites} databases: to make one of a template; on disk",
            f"{statistics.median(each):.0f} ms; {cursor.fetchone()[0]:.1f} MB",
        )
    return [f"{base}/{name}" for name in ("site_0", *names)]


def visits(urls: Sequence[str], postmaster: int) -> None:
    """Show what connections cost: one for each site, and one after the other."""
    question = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

    def visit(url: str) -> None:
        connection = psycopg2.connect(url)
        connection.cursor().execute(question)
        connection.close()

    took = [timed(visit, url) for url in urls]
    show("(a) visit a site: connect, ask its queue, disconnect", f"{statistics.median(took):.1f} ms")
    before = pss(children(postmaster))
    with ExitStack() as held:
        for url in urls:
            connection = psycopg2.connect(url)
            held.callback(connection.close)
            connection.cursor().execute(question)
        grown = pss(children(postmaster)) - before
        show(
            f"(a) an idle connection for each of {len(urls)} sites: Postgres grows by",
            f"{grown:.0f} MB, {grown / len(urls):.1f} each",
        )


def applications(urls: Sequence[str]) -> None:
    """Show what the API's applications of many sites cost in one process."""
    from shipyard_api.wiring import bootstrap

    held = [bootstrap.api(settings(urls[0]))]
    gc.collect()
    before = pss([os.getpid()])

    def build(url: str) -> None:
        held.append(bootstrap.api(settings(url)))

    took = [timed(build, url) for url in urls[1:]]
    gc.collect()
    grown = pss([os.getpid()]) - before
    show("(a) API process with one site", f"{before:.0f} MB")
    show(
        f"(a) {len(took)} further sites: each in memory; to build one",
        f"{grown / len(took):.2f} MB; {statistics.median(took):.0f} ms",
    )


def workers(urls: Sequence[str], postmaster: int) -> None:
    """Show what a worker for each site costs, forked from a process that has imported all of it."""
    from shipyard_api.observing import logs
    from shipyard_api.wiring import bootstrap

    logs.configure("ERROR")
    gc.freeze()
    bare = pss([os.getpid()])
    postgres = pss(children(postmaster))
    pids = []
    for url in urls[:CHILDREN]:
        pid = os.fork()
        if not pid:
            os._exit(bootstrap.worker(settings(url)).run())
        pids.append(pid)
    time.sleep(12)
    with opened(urls[0]) as asking:
        cursor = asking.cursor()
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'site_1'")
        connections = cursor.fetchone()[0]
    grown = (pss([os.getpid(), *pids]) - bare) / len(pids)
    show("(a) a worker for each site, forked, idle: each; its connections", f"{grown:.1f} MB; {connections}")
    show("(a) and Postgres grows for each by", f"{(pss(children(postmaster)) - postgres) / len(pids):.1f} MB")
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)


def schemas(url: str, sites: int, postmaster: int) -> None:
    """Show what a schema for each site costs: one connection, and its copy of each catalogue entry."""
    base = url.rpartition("/")[0]
    directory, engines = share_directory() / "migrations", []
    with opened(f"{base}/postgres") as admin:
        admin.cursor().execute("CREATE DATABASE schemas")
    single = psycopg2.connect(f"{base}/schemas")
    single.autocommit = True
    cursor = single.cursor()
    took = []
    for number in range(sites):
        cursor.execute(f"CREATE SCHEMA s{number}")
        engines.append(connect(f"{base}/schemas?options=-csearch_path%3Ds{number}", pool_size=1))
        took.append(timed(migrations.upgrade, engines[-1], directory))
        engines[-1].dispose()
    show(f"(a) a schema each, {sites} of them: to migrate the first, the last", f"{took[0]:.0f} ms, {took[-1]:.0f} ms")
    backend = single.info.backend_pid
    before = pss([backend])
    tables = [table.name for table in metadata.sorted_tables]
    for number in range(sites):
        cursor.execute(f"SET search_path TO s{number}")
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
    show(
        f"(a) one connection that has used {sites} schemas grows, for each, by",
        f"{(pss([backend]) - before) / sites:.2f} MB",
    )
    other = psycopg2.connect(f"{base}/schemas")
    other.cursor().execute("SELECT pg_advisory_lock(1396169473, 1)")  # lifeline.py: the lock of worker 1
    cursor.execute("SELECT pg_try_advisory_lock(1396169473, 1)")
    show("(a) two sites' first workers get their locks in one database", "yes" if one(cursor) else "no")
    cursor.execute("SET search_path TO s0; LISTEN shipyard_journal")
    other.commit()
    other.cursor().execute("SET search_path TO s1; SELECT pg_notify('shipyard_journal', '')")
    other.commit()
    cursor.execute("SELECT 1")  # reads what has come
    show("(a) a change of one site wakes the listeners of another schema", "yes" if single.notifies else "no")
    other.close()
    single.close()


def one(cursor: Any) -> Any:
    return cursor.fetchone()[0]


def fetch(cursor: Any, query: str) -> Any:
    cursor.execute(query)
    return cursor.fetchall()


def column(url: str, sites: int) -> None:
    """Show what a table of all sites costs beside one of its own, and how much of ours would change."""
    with opened(url) as connection:
        cursor = connection.cursor()
        for name, number in (("own", 1), ("shared", sites)):
            cursor.execute(
                f"CREATE TABLE {name} (site int, action int, node text, status text, data jsonb, "
                "PRIMARY KEY (site, action, node))"
            )
            cursor.execute(
                f"INSERT INTO {name} SELECT site, action, 'node-' || node, 'success', "
                "jsonb_build_object('a', repeat('x', 200)) "
                f"FROM generate_series(1, {number}) site, generate_series(1, 10) action, "
                f"generate_series(1, {NODES}) node"
            )
            cursor.execute(f"VACUUM ANALYZE {name}")
            read = timed(fetch, cursor, f"SELECT * FROM {name} WHERE site = 1 AND action = 5 ORDER BY node", times=200)
            forgets = f"SELECT status, count(*) FROM {name} WHERE status <> 'success' GROUP BY 1"
            whole = timed(fetch, cursor, forgets, times=10)
            vacuum = timed(cursor.execute, f"UPDATE {name} SET status = 'failure' WHERE site = 1")
            vacuum += timed(cursor.execute, f"VACUUM (INDEX_CLEANUP on) {name}")
            show(
                f"(b) {number} site(s) in a table: read {NODES} nodes; a query that forgets the site",
                f"{read:.2f} ms; {whole:.1f} ms",
            )
            show(f"(b) {number} site(s): change and vacuum one site's rows", f"{vacuum:.0f} ms")
    uniques = sum(
        isinstance(one, sa.UniqueConstraint | sa.PrimaryKeyConstraint)
        for table in metadata.tables.values()
        for one in table.constraints
    )
    show("(b) tables and their keys that would get a column", f"{len(metadata.tables)}; {uniques}")
    statements = sum(
        len(re.findall(r"sa\.(?:select|insert|update|delete|text)\(|insert\(", path.read_text()))
        for path in Path("shipyard_api/storage").rglob("*.py")
    )
    show("(b) statements in storage/ that would have to name the site", str(statements))


def stacks(urls: Sequence[str]) -> None:
    """Show what a stack for each site costs: two API processes and a worker, as shipped."""
    root = Path(__file__).resolve().parents[1]
    found, held = [], 0.0
    with ExitStack() as running:
        for number, url in enumerate(urls[:2], 1):
            _, master = running.enter_context(gunicorn("shipyard_api.programs.asgi:app", url, chdir=root))
            environ = {"PATH": os.environ["PATH"], "DATABASE_URL": url, **ENVIRONMENT}
            worker = subprocess.Popen([sys.executable, "-m", "shipyard_api.programs.worker"], env=environ, cwd=root)
            running.callback(worker.wait)
            running.callback(worker.terminate)
            found += [master, worker.pid]
            time.sleep(8)
            held = pss([pid for one in found for pid in children(one)])
            show(f"(c) {number} stack(s): two API processes and a worker", f"{held:.0f} MB")
    show(f"(c) {SITES} stacks, extrapolated from two", f"{held / 2 * SITES / 1024:.0f} GB")


def main(sites: int) -> int:
    print(f"{sites} sites of {NODES} nodes; Postgres and all processes on this machine")
    with server.temporary(POSTGRES) as postgres:
        url, postmaster = postgres.url, postgres.pid
        urls = databases(url, sites)
        visits(urls, postmaster)
        workers(urls, postmaster)
        applications(urls)
        schemas(url, min(sites, 50), postmaster)
        column(urls[0], sites)
        stacks(urls)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SITES))
