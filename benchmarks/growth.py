"""What a site adds to its database: ``python benchmarks/growth.py [NODES] [SPEED] [IDLE]``.

A site of 10,000 nodes in 40 groups, with a simulated Drydock that is 1,000 times faster than machines. Prints for each
table the rows and bytes, indexes included, that these add:

- a commit: a change of one node's document, loaded and committed;
- a deployment of all nodes that are in the design, which is the most that an action adds;
- an hour without actions, from IDLE seconds (120) of one; ``written`` counts updates, too, whose room is used again.

The last line is a year of one commit and one deployment a day.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg2
from large_site import Api, Plan, design

from shipyard_api.cli import stack

NODES, SPEED, IDLE = 10_000, 1_000.0, 120.0
SHOWN = 64 * 1024  # bytes; tables that grow by less are summed up
HOUR = 3_600.0
SIZES = """
SELECT relname, n_tup_ins - n_tup_del, n_tup_ins + n_tup_upd + n_tup_del, pg_total_relation_size(relid)
FROM pg_stat_user_tables
"""
Sizes = dict[str, tuple[int, int, int]]


@dataclass(frozen=True)
class Growth:
    """What tables gained: rows, rows written, bytes."""

    tables: Sizes

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size in self.tables.values())

    def show(self, title: str, factor: float = 1.0) -> None:
        print(f"\n{title}\n{'':<24}{'rows':>12}{'written':>12}{'kB':>12}")
        small = [0, 0, 0]
        for name, values in sorted(self.tables.items(), key=lambda table: -table[1][2]):
            if values[2] < SHOWN:
                small = [one + other for one, other in zip(small, values, strict=True)]
            else:
                self._line(name, values, factor)
        self._line("others", small, factor)

    @staticmethod
    def _line(name: str, values: tuple[int, int, int] | list[int], factor: float) -> None:
        rows, written, size = (value * factor for value in values)
        print(f"{name:<24}{rows:>12,.0f}{written:>12,.0f}{size / 1024:>12,.0f}", flush=True)


def sizes(url: str) -> Sizes:
    time.sleep(1.5)  # Postgres publishes its counters once a second
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(SIZES)
        return {name: (rows, written, size) for name, rows, written, size in cursor.fetchall()}


def measured(url: str, what: Callable[[], object]) -> Growth:
    before = sizes(url)
    what()
    after = sizes(url)
    return Growth({
        name: (rows - before[name][0], written - before[name][1], size - before[name][2])
        for name, (rows, written, size) in after.items()
    })  # fmt: skip


def commit(api: Api, text: str) -> None:
    api.send("POST", "configdocs/site?buffermode=replace", text.encode(), "application/x-yaml")
    api.send("POST", "commitconfigdocs", b"", "application/json")


def deploy(api: Api) -> None:
    action = api.send("POST", "actions", json.dumps({"name": "deploy_site"}).encode(), "application/json")
    assert api.until_it_ends(action["id"])["action_lifecycle"] == "Complete"


def main() -> int:
    numbers = [float(word) for word in sys.argv[1:]]
    nodes, speed, idle = (numbers + [NODES, SPEED, IDLE][len(numbers) :])[:3]
    text = design(int(nodes), Plan("drydock"))
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site.yaml")
        site.write_text(text)
        with stack.running(Path("calm"), speed, "drydock", site) as access:
            api, url = Api(access["url"], access["token"]), access["database_url"]
            measured(url, lambda: commit(api, text)).show(f"the first commit of {nodes:,.0f} nodes")
            deployed = measured(url, lambda: deploy(api))
            deployed.show("a deployment of all nodes")
            changed = text.replace("rack: rack01", "rack: rack02", 1)
            assert changed != text
            committed = measured(url, lambda: commit(api, changed))
            committed.show("a commit that changes one node")
            quiet = measured(url, lambda: time.sleep(idle))
            quiet.show(f"an idle hour, from {idle:g} s", HOUR / idle)
    day = committed.bytes + deployed.bytes
    print(f"\none of each a day: {day / 1e6:,.1f} MB a day, {365 * day / 1e9:,.1f} GB a year")
    return 0


if __name__ == "__main__":
    sys.exit(main())
