"""The cost of a large site for the whole stack: ``python benchmarks/large_site.py [NODES] [SPEED]``.

Deploys 2,000 nodes in 40 groups with API, worker, Postgres and each simulated provisioner as processes, several hundred
times faster than real machines. Reports for each run:

- requests to MAAS and Ironic per poll of all running work, from the simulator's log. There is one poll per interval;
- peak memory of the worker;
- rows written to our tables, from Postgres's counters, and how many each poll adds.

MAAS runs with two intervals: more polls must not write more rows of state, only rows of the queue and the row of the
action. A third run has everything in flight at once, where a poll must not cost more either.

Exits 1 if a poll costs MAAS more than 20 requests or Ironic more than 3, if the worker exceeds 200 MB, or if rows of
state grow with polls.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import requests
import sites
import yaml

from shipyard_api.cli import stack

NODES, SPEED, GROUPS = 2_000, 200.0, 40
MOST_REQUESTS, MOST_MEGABYTES = {"maas": 20.0, "ironic": 3.0}, 200.0
LONGEST = 1_800.0  # seconds of wall clock for one run
STREAM = 15_000  # documents; the service takes 50,000, and 500,000 values in them, of which one has 23
QUEUE = ("actions", "procrastinate_jobs", "procrastinate_events", "procrastinate_workers")
STATE = ("steps", "deployment_groups", "group_phases", "action_nodes", "node_changes", "journal")
# The requests of a poll; the first of these begins it. (Verifying the site sends others, once.)
LOOKS = {"maas": ("/MAAS/api/2.0/tags/", "/MAAS/api/2.0/machines/"), "ironic": ("/v1/nodes",)}
IN_FLIGHT = {"max_parallel_groups": 8, "deploy_as_prepared": True}


@dataclass(frozen=True)
class Plan:
    """A run: provisioner, polling interval (seconds of the site), and further configuration."""

    provisioner: str
    interval: int = 30
    mode: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.provisioner}, every {self.interval} s" + (", in flight" if self.mode else "")


@dataclass(frozen=True)
class Cost:
    """The result of a run."""

    seconds: float
    looks: int
    requests: float
    worst: int
    megabytes: float
    state_rows: int
    queue_rows: int
    changes: int


def design(nodes: int, plan: Plan) -> str:
    """Return the documents of a site: parallel groups of racks after a group of controllers."""
    groups = [
        {
            "name": f"group{group:02}",
            "critical": group == 0,
            "depends_on": ["group00"] if group else [],
            "selectors": [{"rack_names": [f"rack{group:02}"]}],
            "success_criteria": {"percent_successful_nodes": 90},
        }
        for group in range(GROUPS)
    ]
    machines = [(f"n{at:04}", {"metadata": {"rack": f"rack{at % GROUPS:02}"}}) for at in range(nodes)]
    intervals = {"prepare_node_interval": plan.interval, "deploy_interval": plan.interval}
    patient = {"prepare_node_timeout": 86_400, "deploy_timeout": 86_400}
    documents = sites.documents(machines, groups, {**intervals, **patient, **(plan.mode or {})})
    return yaml.safe_dump_all(documents, explicit_start=True)


def load(api: Api, text: str) -> None:
    """Load and commit a design, in collections of as many documents as the service takes in one stream."""
    documents = re.split(r"^---\n", text, flags=re.MULTILINE)[1:]
    for at, begin in enumerate(range(0, len(documents), STREAM)):
        stream = "".join(f"---\n{document}" for document in documents[begin : begin + STREAM])
        mode = "append" if at else "replace"
        api.send("POST", f"configdocs/site{at}?buffermode={mode}", stream.encode(), "application/x-yaml")
    api.send("POST", "commitconfigdocs", b"", "application/json")


def play(plan: Plan, nodes: int, speed: float) -> Cost:
    """Deploy the site once and return its cost."""
    text = design(nodes, plan)
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site.yaml")
        site.write_text(text)
        with stack.running(Path("calm"), speed, plan.provisioner, site) as access:
            api = Api(access["url"], access["token"])
            load(api, text)
            before, began = rows(access["database_url"]), time.monotonic()
            action = api.send("POST", "actions", json.dumps({"name": "deploy_site"}).encode(), "application/json")
            ended = api.until_it_ends(action["id"])
            seconds = time.monotonic() - began
            assert ended["action_lifecycle"] == "Complete", ended["action_lifecycle"]
            after, changes = rows(access["database_url"]), journal_lines(access["database_url"])
            events = served(access["simulators"][plan.provisioner]) if plan.provisioner in LOOKS else []
            megabytes = worker_peak(access["pid"])
    written = {table: after[table] - before.get(table, 0) for table in after}
    per_look = looks(plan.provisioner, events)
    return Cost(
        seconds,
        len(per_look),
        sum(per_look) / len(per_look) if per_look else 0.0,
        max(per_look, default=0),
        megabytes,
        sum(written.get(table, 0) for table in STATE),
        sum(written.get(table, 0) for table in QUEUE),
        changes,
    )


@dataclass(frozen=True)
class Api:
    """A client of the API."""

    url: str
    token: str

    def send(self, method: str, path: str, body: bytes = b"", kind: str = "") -> Any:
        headers = {"X-Auth-Token": self.token, "Content-Type": kind}
        answer = requests.request(method, f"{self.url}/api/v1.0/{path}", data=body, headers=headers, timeout=300)
        assert answer.ok, answer.text
        return answer.json()

    def until_it_ends(self, action: str) -> Any:
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            shown = self.send("GET", f"actions/{action}")
            if shown["action_lifecycle"] in ("Complete", "Failed"):
                return shown
            time.sleep(0.5)
        raise AssertionError(f"it did not end within {LONGEST:g} s")


def served(simulator: str) -> list[dict[str, Any]]:
    """Return the requests that a simulator has answered."""
    answer: list[dict[str, Any]] = requests.get(f"{simulator}/simulator/requests", timeout=60).json()
    return answer


def looks(provisioner: str, events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the number of read requests of each poll.

    A look begins with the request that every look makes once (for Ironic: a first page), and what is read until the
    next one, or until something is changed, is its own.
    """
    found: list[int] = []
    counting = False
    for event in events:
        first = event["path"] == LOOKS[provisioner][0] and "marker=" not in event["query"]
        if event["method"] != "GET":
            counting = False
        elif first:
            found.append(1)
            counting = True
        elif counting and event["path"] in LOOKS[provisioner]:
            found[-1] += 1
    return found


def rows(url: str) -> Counter[str]:
    """Return the rows of each table inserted, updated or deleted so far."""
    time.sleep(1.5)  # Postgres publishes its counters once a second
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables")
        return Counter(dict(cursor.fetchall()))


def journal_lines(url: str) -> int:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM journal")
        (count,) = cursor.fetchone() or (0,)
        return int(count)


def worker_peak(parent: int) -> float:
    """Return the peak memory of the worker among a program's children, in MB (Linux)."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            status_fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            command = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(status_fields["PPid"]) == parent and b"shipyard_api.programs.worker" in command:
            return int(status_fields["VmHWM"].split()[0]) / 1024
    raise AssertionError(f"no worker among the children of {parent}")


def main() -> int:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else NODES
    speed = float(sys.argv[2]) if len(sys.argv) > 2 else SPEED
    exceeded = []
    print(f"{nodes:,} nodes in {GROUPS} groups, {speed:g} times as fast as machines")
    print(
        f"{'':<28}{'seconds':>8}{'looks':>7}{'requests a look':>17}{'worst':>7}{'worker MB':>11}"
        f"{'journal':>9}{'state rows':>12}{'queue rows':>12}"
    )
    plans = [
        Plan("drydock"),
        Plan("maas"),
        Plan("maas", interval=120),
        Plan("maas", mode=IN_FLIGHT),
        Plan("ironic"),
        Plan("ironic", mode=IN_FLIGHT),
    ]
    costs: list[Cost] = []
    for plan in plans:
        cost = play(plan, nodes, speed)
        costs.append(cost)
        print(
            f"{plan!s:<28}{cost.seconds:>8.0f}{cost.looks:>7}{cost.requests:>17.2f}{cost.worst:>7}"
            f"{cost.megabytes:>11.0f}{cost.changes:>9}{cost.state_rows:>12,}{cost.queue_rows:>12,}",
            flush=True,
        )
        most = MOST_REQUESTS.get(plan.provisioner)
        if most is not None and cost.requests > most:
            exceeded.append(f"{plan}: {cost.requests:.2f} requests a look, at most {most:g}")
        if cost.megabytes > MOST_MEGABYTES:
            exceeded.append(f"{plan}: the worker held {cost.megabytes:.0f} MB, at most {MOST_MEGABYTES:g}")
    often, seldom = costs[1:3]  # MAAS, with two intervals
    grew = often.state_rows / seldom.state_rows
    print(f"\n{often.looks / seldom.looks:.1f} times as many looks: {grew:.2f} times as many rows of state written")
    if grew > 1.5:
        exceeded.append(f"rows of state follow looks: {grew:.2f} times as many")
    for line in exceeded:
        print(f"TOO MUCH: {line}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
