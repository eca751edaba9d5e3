"""What the dashboard costs in Chromium on a large site: ``python benchmarks/page.py [SECONDS]``.

The API as it is shipped, on an embedded Postgres with 25 actions of 10,000 nodes each in 12 groups, the last one
running. Reports, for the first visit of a browser with an empty cache:

- from the request for the page to the first paint, and to all 10,000 cells being drawn;
- from the click on a cell to its node's history on the screen, the middle of several;
- the frames while the pointer and the keyboard move over the cells, the page scrolls, the arrangement changes, and
  100 nodes change each second: frames a second, frames that took longer than 33 ms, the longest, and the processor time
  of all processes of the browser for one frame; beside those of an empty page, which say what the machine can do;
- the processor time of the tab, and of all processes of the browser, in 60 s (SECONDS) in which 100 nodes change each
  second, as a share of one core. Chromium draws without a GPU here, which is the more expensive way.

Exits 1 above the bounds of the product, sections 9 and 11. CHROMIUM names the browser.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from playwright.sync_api import Page, ViewportSize, sync_playwright
from served import ROOT, gunicorn

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_simulators.embedded_postgres import server

ACTIONS, NODES, GROUPS, CLICKS, SECONDS = 25, 10_000, 12, 9, 60.0
RUNNING = f"01M7XV7VKPMDHXJVA7WM{ACTIONS:06}"
FIRST_PAINT, DETAIL, SHARE = 1000.0, 100.0, 0.10
FRAMES_SECONDS, SLOW_FRAME, SLOW_SHARE = 5.0, 33.4, 0.05
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WINDOW: ViewportSize = {"width": 1440, "height": 900}
STRATEGY = {
    "groups": [
        {
            "name": f"group-{group:02}",
            "critical": group < 2,
            "depends_on": [f"group-{(group - 1) // 2:02}"] if group else [],
            "selectors": [{"rack_names": [f"rack-{group:02}"]}],
            "success_criteria": {"percent_successful_nodes": 90},
        }
        for group in range(GROUPS)
    ]
}
# With :nodes nodes.
FILL = (
    f"""INSERT INTO actions (id, name, parameters, user_name, context_marker, revision, exclusive, inputs, state,
           started_at, ended_at)
       SELECT '01M7XV7VKPMDHXJVA7WM' || lpad(a::text, 6, '0'), 'deploy_site', '{{}}', 'ann', '-', 1, true,
           CAST(:inputs AS jsonb), CASE a WHEN {ACTIONS} THEN 'running' ELSE 'success' END, now(),
           CASE a WHEN {ACTIONS} THEN NULL ELSE now() END
       FROM generate_series(1, {ACTIONS}) a""",
    """INSERT INTO steps (action_id, position, id, state, started_at)
       SELECT id, s, 'preflight.step_' || s, 'success', now() FROM actions, generate_series(1, 11) s""",
    f"""INSERT INTO deployment_groups (action_id, position, name, critical, depends_on, status)
       SELECT id, g, 'group-' || lpad(g::text, 2, '0'), g < 2,
           CASE g WHEN 0 THEN ARRAY[]::text[] ELSE ARRAY['group-' || lpad(((g - 1) / 2)::text, 2, '0')] END,
           CASE id WHEN '{RUNNING}' THEN 'preparing' ELSE 'success' END
       FROM actions, generate_series(0, {GROUPS - 1}) g""",
    f"""INSERT INTO action_nodes (action_id, name, status, reason, group_name, groups, updated_at)
       SELECT id, 'node-' || lpad(n::text, 5, '0'),
           CASE WHEN id = '{RUNNING}' THEN 'not_started' WHEN n % 500 = 0 THEN 'failure' ELSE 'success' END,
           CASE WHEN id <> '{RUNNING}' AND n % 500 = 0 THEN 'deploy' END,
           'group-' || lpad((n % {GROUPS})::text, 2, '0'), ARRAY['group-' || lpad((n % {GROUPS})::text, 2, '0')], now()
       FROM actions, generate_series(0, :nodes - 1) n""",
    f"""INSERT INTO group_phases (action_id, group_name, phase, status, job, nodes, submitted_at, running_at, ended_at)
       SELECT a.id, 'group-' || lpad(g::text, 2, '0'), p,
           CASE a.id WHEN '{RUNNING}' THEN 'running' ELSE 'success' END, 'job-' || g || p,
           (SELECT array_agg('node-' || lpad(n::text, 5, '0')) FROM generate_series(g, :nodes - 1, {GROUPS}) n),
           now() - interval '3 minutes', now() - interval '2 minutes',
           CASE a.id WHEN '{RUNNING}' THEN NULL ELSE now() END
       FROM actions a, generate_series(0, {GROUPS - 1}) g, (VALUES ('prepare'), ('deploy')) v(p)
       WHERE a.id <> '{RUNNING}' OR p = 'prepare'""",
)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    if not (chromium := find_chromium()):
        print("Chromium is not installed")
        return 1
    with server.temporary({"fsync": "off", "synchronous_commit": "off"}) as postgres:
        token = fill(postgres.url, NODES)
        with (
            gunicorn("shipyard_api.programs.asgi:app", postgres.url, chdir=Path("/")) as (port, _),
            sync_playwright() as driver,
        ):
            browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
            address = f"http://127.0.0.1:{port}"
            first = visit(browser, address, token)
            page = browser.new_context(viewport=WINDOW).new_page()
            empty = browser.new_context(viewport=WINDOW).new_page()
            frames = {"an empty page": _frames(empty, _rest)}
            empty.close()
            page.goto(f"{address}/#token={token}")
            until_idle(page)
            detail = statistics.median(click(page, place) for place in range(CLICKS))
            frames |= {name: _frames(page, move) for name, move in MOVES.items()}
            page.goto(f"{address}/")
            until_idle(page)
            with _changes(postgres.url):
                time.sleep(5)
                frames["100 nodes change each second"] = _frames(page, _rest)
                frames["the same, and the pointer moves"] = _frames(page, _hover)
                tab, everything = _busy(page, seconds)
            page.screenshot(path=ROOT / ".build" / "page-10000.png")
            browser.close()
    print(f"first paint {first['paint']:.0f} ms (bound {FIRST_PAINT:.0f}), all cells {first['cells']:.0f} ms")
    print(f"click to detail {detail:.0f} ms (bound {DETAIL:.0f})")
    for name, one in frames.items():
        print(
            f"frames, {name}: {one.rate:.0f} a second, {one.slow:.1%} above 33 ms, the longest {one.longest:.0f} ms, "
            f"{one.busy:.1f} ms of processor time each"
        )
    print(f"live changes: tab {tab:.1%} of a core, all of the browser {everything:.1%} (bound {SHARE:.0%})")
    is_rough = any(one.slow > SLOW_SHARE for one in frames.values())
    return int(first["paint"] > FIRST_PAINT or detail > DETAIL or everything > SHARE or is_rough)


def find_chromium() -> str | None:
    """Return the path of the browser."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def fill(url: str, nodes: int) -> str:
    """Fill an empty database with the actions, and return an administrator's token."""
    engine = connect(url, pool_size=2)
    migrations.upgrade(engine, ROOT / "migrations")
    inputs = SiteInputs(1, DeploymentConfiguration("deployment-strategy"), STRATEGY).to_json()
    with engine.begin() as connection:
        for statement in FILL:
            values = {"inputs": json.dumps(inputs), "nodes": nodes}
            connection.execute(sa.text(statement), {name: values[name] for name in values if f":{name}" in statement})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE"))
    _, token = ApiTokens(Store(engine, ProcrastinateWakeup())).create("benchmark", "admin")
    return token


def visit(browser: Any, address: str, token: str) -> dict[str, float]:
    """Return the milliseconds of a first visit; the better of three, each with an empty cache."""
    found = []
    for _ in range(3):
        context = browser.new_context(viewport=WINDOW)
        page = context.new_page()
        page.goto(f"{address}/#token={token}")
        _until_drawn(page)
        found.append(
            page.evaluate(
                "({paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,"
                " cells: performance.getEntriesByName('cells')[0].startTime})"
            )
        )
        context.close()
    return min(found, key=lambda one: float(one["cells"]))


def _until_drawn(page: Page) -> None:
    """Wait for the cells; the page's policy forbids the driver to evaluate its own conditions there."""
    while not page.evaluate("performance.getEntriesByName('cells').length"):
        time.sleep(0.05)


def click(page: Page, place: int) -> float:
    """Return the milliseconds from a click on some cell until the node's history is there and painted."""
    return float(
        page.evaluate(
            """place => new Promise(resolve => {
            const canvas = document.querySelector(".cell-inner canvas"), box = canvas.getBoundingClientRect();
            const began = performance.now();
            const watch = new MutationObserver(() => {
                if (!document.querySelector(".drawer .history > li")) return;
                watch.disconnect();
                requestAnimationFrame(() => setTimeout(() => {
                    const took = performance.now() - began;
                    document.querySelector(".drawer button").click();
                    setTimeout(resolve, 400, took);
                }));
            });
            watch.observe(document.body, {subtree: true, childList: true});
            canvas.dispatchEvent(new MouseEvent("click", {
                bubbles: true, clientX: box.left + 20 + 14 * place, clientY: box.top + 60,
            }));
        })""",
            place,
        )
    )


def until_idle(page: Page) -> None:
    """Wait for the cells and the forecast, which keeps a processor of the server busy for some seconds."""
    _until_drawn(page)
    page.locator(".card .chance").first.wait_for(timeout=120_000)


@dataclass(frozen=True)
class Frames:
    """Frames a second, the share of those above 33 ms, and of one frame the longest and the processor time, in ms."""

    rate: float
    slow: float
    longest: float
    busy: float


def _frames(page: Page, move: Callable[[Page, float], None]) -> Frames:
    """Return the frames while something moves."""
    if page.locator(".cell-inner canvas").count():
        page.locator(".cell-inner canvas").scroll_into_view_if_needed()
    used = _processor_seconds()
    page.evaluate(
        """() => {
            const frames = window.frames_seen = [];
            let before = performance.now();
            const next = (now) => {
                frames.push(now - before);
                before = now;
                if (frames === window.frames_seen) requestAnimationFrame(next);
            };
            requestAnimationFrame(next);
        }"""
    )
    until = time.monotonic() + FRAMES_SECONDS
    while time.monotonic() < until:
        move(page, until - time.monotonic())
    used = _processor_seconds() - used
    # The first frame began before the measurement.
    seen = page.evaluate("(([_, ...found]) => { window.frames_seen = null; return found; })(window.frames_seen)")
    slow = sum(one > SLOW_FRAME for one in seen) / len(seen)
    return Frames(1000 * len(seen) / sum(seen), slow, max(seen), 1000 * used / len(seen))


def _cells(page: Page) -> dict[str, float]:
    box = page.locator(".cell-inner canvas").bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def _hover(page: Page, left: float) -> None:
    box = _cells(page)
    for step in range(60):
        share = (step / 60 + left) % 1
        page.mouse.move(box["x"] + share * (box["width"] - 4), box["y"] + 30 + (17 * step) % max(1, box["height"] - 40))


def _scroll(page: Page, left: float) -> None:
    for _ in range(10):
        page.mouse.wheel(0, 90 if int(left * 2) % 2 else -90)
        page.wait_for_timeout(16)


def _keys(page: Page, _left: float) -> None:
    page.locator(".cell-inner canvas").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)


def _arrange(page: Page, _left: float) -> None:
    for name in ("by rack", "by group"):
        page.get_by_role("button", name=name).click()
        page.wait_for_timeout(300)


def _rest(page: Page, left: float) -> None:
    page.wait_for_timeout(min(left, 0.5) * 1000)


MOVES: dict[str, Callable[[Page, float], None]] = {
    "the pointer moves over the cells": _hover,
    "keys move over the cells": _keys,
    "the page scrolls": _scroll,
    "all cells are arranged anew, three times a second": _arrange,
}


@contextmanager
def _changes(url: str) -> Iterator[None]:
    """Change 100 nodes each second, as a turn does: their rows, the journal, and the action's own."""
    engine, over = connect(url, pool_size=1), threading.Event()

    def work() -> None:
        turn = 0
        while not over.wait(1.0):
            names = [f"node-{(turn * 100 + n) % NODES:05}" for n in range(100)]
            facts = {"group": "group-00", "phase": "prepare", "status": "prepared", "reason": None, "nodes": names}
            with engine.begin() as connection:
                connection.execute(
                    sa.text(
                        f"UPDATE action_nodes SET status = 'prepared', updated_at = now() "
                        f"WHERE action_id = '{RUNNING}' AND name = ANY(:names)"
                    ),
                    {"names": names},
                )
                connection.execute(
                    sa.text(
                        "INSERT INTO journal (action_id, epoch, step_id, kind, at, worker, facts) "
                        f"VALUES ('{RUNNING}', 1, 's', 'nodes_changed', now(), 'w', CAST(:facts AS jsonb))"
                    ),
                    {"facts": json.dumps({**facts, "details": {}})},
                )
                connection.execute(sa.text(f"UPDATE actions SET epoch = epoch + 1 WHERE id = '{RUNNING}'"))
            turn += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        engine.dispose()


def _busy(page: Page, seconds: float) -> tuple[float, float]:
    """Return which share of a core the tab's main thread and all processes of the browser use."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def tasks() -> float:
        return float(
            next(
                one["value"]
                for one in session.send("Performance.getMetrics")["metrics"]
                if one["name"] == "TaskDuration"
            )
        )

    began, used, done = time.monotonic(), _processor_seconds(), tasks()
    time.sleep(seconds)
    passed = time.monotonic() - began
    return (tasks() - done) / passed, (_processor_seconds() - used) / passed


def _processor_seconds() -> float:
    """Return what all processes below this one that are a Chromium have used so far."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    names: dict[int, bytes] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
                names[int(entry.name)] = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        if b"--no-first-run" in names.get(pid, b"") or b"--type=" in names.get(pid, b""):
            found += ticks.get(pid, 0)
    return found / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
