"""The dashboard beside the grid of Airflow 3, in one run: ``python benchmarks/airflow_grid.py [TASKS ...]``.

Both show the same graph on the same embedded Postgres, in the same Chromium, in turns: 12 groups in a tree, each with
the phases prepare and deploy, and 25 runs of which the last is running. In Airflow a node in a phase is a task. TASKS
(900) counts its task instances in a run, and the nodes here: both have as many cells in a run. Airflow's
groups are unfolded and its grid shows all 25 runs, which its reader has to ask for. Reports for both, of the best of
three first visits with an empty cache, and the ratio:

- from the request for the page to the first paint;
- from there to the last cell of the grid being drawn, and how many elements of the page that are;
- from the click on a cell to the details of what it stands for, the middle of several.

Airflow is installed into ``.build/airflow`` the first time, from the package index that pip uses, with its constraints
if AIRFLOW_CONSTRAINTS names a copy of the file, and else as pip resolves it. Its scheduler does not run; its own models
write the rows of runs and tasks. CHROMIUM names the browser.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page import ACTIONS, CLICKS, FLAGS, GROUPS, WINDOW, click, fill, find_chromium, until_idle, visit
from playwright.sync_api import Page, sync_playwright
from served import ROOT, gunicorn

from shipyard_simulators.embedded_postgres import server

AIRFLOW = ["apache-airflow==3.3.2", "psycopg2-binary", "asyncpg"]
HOME = ROOT / ".build" / "airflow"
PYTHON = HOME / "venv" / "bin" / "python"
DAG = "deploy_site"
TASKS = (900,)
VISITS = 3
QUIET = 3.0  # seconds in which no cell is added: the grid is drawn
LONGEST = 180.0

# One task selects the nodes of a group, as a group here waits for those that it depends on.
DAG_FILE = f"""
import os
from datetime import datetime
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, TaskGroup

NODES = int(os.environ["NODES_OF_A_GROUP"])
with DAG("{DAG}", schedule=None, start_date=datetime(2026, 1, 1)):
    ends = []
    for group in range({GROUPS}):
        with TaskGroup(f"group-{{group:02}}"):
            begin = EmptyOperator(task_id="select")
            if group:
                ends[(group - 1) // 2] >> begin
            with TaskGroup("prepare"):
                prepare = [EmptyOperator(task_id=f"node-{{node:04}}-prepare") for node in range(NODES)]
            with TaskGroup("deploy"):
                deploy = [EmptyOperator(task_id=f"node-{{node:04}}-deploy") for node in range(NODES)]
            begin >> prepare
            for one, other in zip(prepare, deploy):
                one >> other
            ends.append(deploy)
"""
ROWS_FILE = f"""
from datetime import datetime, timedelta, timezone
import sqlalchemy as sa
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunTriggeredByType, DagRunType

began = datetime(2026, 6, 1, tzinfo=timezone.utc)
with create_session() as session:
    dag = SerializedDagModel.get_dag("{DAG}", session=session)
    for number in range({ACTIONS}):
        at = began + timedelta(days=number)
        is_last = number == {ACTIONS - 1}
        run = dag.create_dagrun(
            run_id=f"run-{{number:02}}", run_after=at, logical_date=at, data_interval=(at, at),
            run_type=DagRunType.MANUAL, triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState.RUNNING if is_last else DagRunState.SUCCESS, start_date=at, session=session,
        )
        session.flush()
        where = (TaskInstance.dag_id == "{DAG}", TaskInstance.run_id == run.run_id)
        session.execute(sa.update(TaskInstance).where(*where).values(
            state=TaskInstanceState.SUCCESS, start_date=at, end_date=at + timedelta(minutes=20), duration=1200.0,
            try_number=1,
        ))
        if is_last:
            session.execute(sa.update(TaskInstance).where(*where, TaskInstance.task_id.like("%deploy")).values(
                state=None, end_date=None, start_date=None))
            session.execute(sa.update(TaskInstance).where(*where, TaskInstance.task_id.like("%prepare")).values(
                state=TaskInstanceState.RUNNING, end_date=None))
        else:
            run.end_date = at + timedelta(hours=1)
    session.commit()
    print(session.scalar(sa.select(sa.func.count()).select_from(TaskInstance)))
"""


@dataclass(frozen=True)
class Figures:
    """Milliseconds, and the number of elements that are cells; a canvas is one."""

    paint: float
    cells: float
    drawn: int
    detail: float


def main() -> int:
    if not (chromium := find_chromium()):
        print("Chromium is not installed")
        return 1
    install()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for tasks in map(int, sys.argv[1:] or TASKS):
            with tempfile.TemporaryDirectory(prefix="airflow-grid-") as made, serving(Path(made), tasks) as (ours, its):
                compare(tasks, ours(browser), its(browser))
        browser.close()
    return 0


def install() -> None:
    """Install Airflow into an environment of its own."""
    if PYTHON.is_file():
        return
    constraints = os.environ.get("AIRFLOW_CONSTRAINTS")
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME / "venv"], check=True)
    with_them = ["--constraint", constraints] if constraints else []
    try:
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *AIRFLOW, *with_them], check=True)
    except subprocess.CalledProcessError:
        PYTHON.unlink()
        raise


@contextmanager
def serving(home: Path, tasks: int) -> Iterator[tuple[Callable[[Any], Figures], Callable[[Any], Figures]]]:
    """Serve both, and yield what measures each in a browser."""
    options = {"fsync": "off", "synchronous_commit": "off"}
    with server.temporary(options) as one, server.temporary(options) as other:
        token = fill(one.url, tasks)
        with (
            gunicorn("shipyard_api.programs.asgi:app", one.url, chdir=Path("/")) as (port, _),
            airflow(home, other.url, tasks) as address,
        ):
            yield (
                lambda browser: measure_ours(browser, f"http://127.0.0.1:{port}", token, tasks),
                lambda browser: measure_airflow(browser, address, tasks),
            )


@contextmanager
def airflow(home: Path, database: str, tasks: int) -> Iterator[str]:
    """Run Airflow's server with as many processes as ours."""
    (home / "dags").mkdir()
    (home / "dags" / f"{DAG}.py").write_text(DAG_FILE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SHIPYARD_", "PYTHON"))},
        "PATH": f"{PYTHON.parent}:{os.environ['PATH']}",
        "NODES_OF_A_GROUP": str((tasks // GROUPS - 1) // 2),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__PARALLELISM": "1",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace("postgresql://", "postgresql+psycopg2://", 1),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }
    written = ""
    for command in (["-m", "airflow", "db", "migrate"], ["-m", "airflow", "dags", "reserialize"], ["-c", ROWS_FILE]):
        done = subprocess.run([str(PYTHON), *command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command[:4]}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
        written = done.stdout
    print(f"Airflow has {written.split()[-1]} task instances", flush=True)
    command = [str(PYTHON), "-m", "airflow", "api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "2"]
    with (home / "server.log").open("wb") as log:
        child = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}"
        _until_answers(child, f"{address}/api/v2/version", home / "server.log")
        yield address
    finally:
        # It has nothing to save, and waits for workers that wait for connections.
        os.killpg(child.pid, signal.SIGKILL)
        child.wait(60)


def _until_answers(child: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + LONGEST
    while time.monotonic() < until and child.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"Airflow does not serve: {log.read_text()[-4000:]}")


def measure_ours(browser: Any, address: str, token: str, tasks: int) -> Figures:
    """Measure the dashboard; its cells are on one canvas."""
    found = visit(browser, address, token)
    page = browser.new_context(viewport=WINDOW).new_page()
    page.goto(f"{address}/#token={token}")
    until_idle(page)
    detail = statistics.median(click(page, place) for place in range(CLICKS))
    page.screenshot(path=ROOT / ".build" / f"grid-{tasks}-shipyard.png")
    return Figures(found["paint"], found["cells"], 1, detail)


def measure_airflow(browser: Any, address: str, tasks: int) -> Figures:
    """Measure Airflow's grid, unfolded."""
    visits = []
    for _ in range(VISITS - 1):
        *found, page = _visit_airflow(browser, address)
        visits.append(found)
        page.context.close()
    # The last one stays open: a page that shows a running action asks for it again and again.
    *found, page = _visit_airflow(browser, address)
    paint, cells, drawn = min([*visits, found], key=lambda one: one[1])
    page.screenshot(path=ROOT / ".build" / f"grid-{tasks}-airflow.png")
    detail = statistics.median(_click_airflow(page, place) for place in range(CLICKS))
    page.screenshot(path=ROOT / ".build" / f"grid-{tasks}-airflow-detail.png")
    return Figures(paint, cells, int(drawn), detail)


# A cell is a link with the id grid-RUN-TASK. Only what its virtual list has on the screen is there.
COUNT = """document.querySelectorAll('a[id^="grid-"]').length"""
WATCH = f"""
window.cells_seen = {{at: 0, count: 0}};
new MutationObserver(() => {{
    const count = {COUNT};
    if (count !== window.cells_seen.count) {{
        const seen = window.cells_seen = {{at: performance.now(), count}};
        requestAnimationFrame(() => setTimeout(() => {{ seen.at = performance.now(); }}));
    }}
}}).observe(document, {{subtree: true, childList: true}});
"""


def _visit_airflow(browser: Any, address: str) -> tuple[float, float, int, Page]:
    """Return the milliseconds to the first paint and to the last cell, the number of cells, and the page."""
    groups = [f"group-{number:02}" for number in range(GROUPS)]
    opened = [*groups, *(f"{group}.{phase}" for group in groups for phase in ("prepare", "deploy"))]
    context = browser.new_context(viewport=WINDOW)
    kept = {f"{DAG}/open-groups": opened, f"{DAG}/all-groups": opened, f"dag_runs_limit-{DAG}": ACTIONS}
    written = json.dumps({name: json.dumps(value) for name, value in kept.items()})
    context.add_init_script(
        f"for (const [name, value] of Object.entries({written})) localStorage.setItem(name, value);{WATCH}"
    )
    page = context.new_page()
    page.goto(f"{address}/dags/{DAG}", wait_until="commit")
    until = time.monotonic() + LONGEST
    seen = {"count": 0, "at": 0.0, "now": 0.0}
    while not seen["count"] or seen["now"] - seen["at"] <= 1000 * QUIET:
        if time.monotonic() > until:
            page.screenshot(path=ROOT / ".build" / "grid-airflow-fault.png")
            raise SystemExit("Airflow's grid has no cells; see .build/grid-airflow-fault.png")
        time.sleep(0.25)
        seen = page.evaluate("({...window.cells_seen, now: performance.now()})")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return float(paint), float(seen["at"]), int(seen["count"]), page


def _click_airflow(page: Page, place: int) -> float:
    """Return the milliseconds from a click on some cell until the page has the name and state of its task instance."""
    return float(
        page.evaluate(
            """place => new Promise(resolve => {
            const all = [...document.querySelectorAll('a[id^="grid-"]')];
            const cells = all.filter(one => one.href.includes("/tasks/group-"));
            const cell = cells[(place * 37 + 5) % cells.length];
            const task = decodeURIComponent(cell.href.split("/tasks/")[1]).split("/")[0].split("?")[0];
            const began = performance.now();
            let timer = 0;
            const watch = new MutationObserver(() => {
                const titles = [...document.querySelectorAll("h1, h2")];
                if (!titles.some(one => one.textContent.includes(task))) return;
                watch.disconnect();
                clearTimeout(timer);
                requestAnimationFrame(() => setTimeout(() => {
                    const took = performance.now() - began;
                    setTimeout(resolve, 1500, took);
                }));
            });
            timer = setTimeout(() => resolve(NaN), 60000);
            watch.observe(document.body, {subtree: true, childList: true, characterData: true});
            cell.click();
        })""",
            place,
        )
    )


def compare(tasks: int, ours: Figures, its: Figures) -> None:
    """Print both and the ratio."""
    print(f"{tasks} cells in each of {ACTIONS} runs        Shipyard   Airflow 3   ratio")
    for text, own, other in (
        ("first paint, ms", ours.paint, its.paint),
        ("cells drawn, ms", ours.cells, its.cells),
        ("click to details, ms", ours.detail, its.detail),
    ):
        print(f"  {text:34}{own:10,.0f}{other:12,.0f}{other / own:8.1f}")
    print(f"  {'elements that are cells':34}{ours.drawn:10,}{its.drawn:12,}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
