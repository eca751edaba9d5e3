"""The database loses the end of its history under an API and workers that live: nothing is begun twice on a node.

Real servers are replaced while the processes go on, and the log of the simulated Drydock alone is the judge.
``tests/crash/test_two_histories.py`` plays the same losses in one process, at every point, on every provisioner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from random import Random

import pytest

from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import connect
from tests.conftest import ROOT
from tests.crash.test_backup import run
from tests.crash.test_take_over import design
from tests.stand import Stand
from tests.standby import Pair, pair
from tests.waiting import until

pytestmark = pytest.mark.crash

GROUPS = 5  # of two nodes each, one after another
SCALE = 0.02
WORKERS = ("worker-1", "worker-2")
ALL = 2 * 2 * GROUPS  # a preparation and a deployment of each node


class Loss(Enum):
    """How the end of the history is lost."""

    BASE = "base backup"
    COPY = "copy of the stopped directory"
    BACK = "way back to the old primary"
    CLEAN = "pg_restore --clean"
    LAG = "promoted standby that lagged"


def begun(stand: Stand) -> Counter[tuple[str, str]]:
    """What Drydock was asked to begin on each node, and began, by its own log."""
    found: Counter[tuple[str, str]] = Counter()
    for event in stand.events():
        match event:
            case {"event": "task_requested", "action": "prepare_nodes" | "deploy_nodes" as action, "nodes": nodes}:
                found.update((action, node) for node in nodes)
            case {"event": "node_started", "phase": phase, "node": node}:
                found[f"started {phase}", node] += 1
    return found


def asked(stand: Stand) -> int:
    return sum(count for (what, _), count in begun(stand).items() if not what.startswith("started"))


def await_asked(stand: Stand, least: int) -> None:
    """Wait until Drydock was asked so often; workers that lost their database and ended are started again."""

    def enough() -> bool:
        stand.tend()
        return asked(stand) >= least

    until(enough, lambda: stand.log("worker-1")[-4000:])


def prepared(servers: Pair, loss: Loss, dump: Path) -> Callable[[], None]:
    """Keep what the database is now; return what loses all that comes after it."""
    if loss is Loss.CLEAN:
        run("pg_dump", "--format=custom", f"--file={dump}", servers.primary_url)
        restore = ("--clean", "--no-owner", f"--dbname={servers.primary_url}", str(dump))
        return lambda: run("pg_restore", *restore)
    if loss is Loss.LAG:
        servers.cut_standby()
        return servers.promote_cut
    if loss is Loss.BACK:
        servers.lose_primary()
        return lambda: servers.go_back(None)
    kept = servers.keep(plain_copy=loss is Loss.COPY)
    return lambda: servers.go_back(kept)


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"seed-{seed}") for seed in range(3)])
@pytest.mark.parametrize("loss", [pytest.param(loss, id=loss.value) for loss in Loss])
def test_nothing_is_begun_twice_while_the_workers_live(loss: Loss, seed: int, tmp_path: Path) -> None:
    dice = Random(f"{loss.value} {seed}")
    with pair() as servers:
        made = connect(servers.primary_url, pool_size=1)
        migrations.upgrade(made, ROOT / "migrations")
        made.dispose()
        servers.unlink()
        if loss is not Loss.LAG and loss is not Loss.BACK:
            servers.cut_standby()  # it could not follow a primary that goes back
        url = servers.url if loss in (Loss.LAG, Loss.BACK) else servers.primary_url
        with Stand(tmp_path, url, scale=SCALE) as stand:
            stand.commit(design(GROUPS))
            for name in WORKERS:
                stand.start(name)
            action = stand.deploy_site()
            at = dice.choice((2, 4))
            await_asked(stand, at)

            lose = prepared(servers, loss, tmp_path / "dump")
            later = min(asked(stand) + dice.choice((2, 4)), ALL)  # on a slow machine the copy may have taken long
            await_asked(stand, later)
            before = {name: stand.processes[name].pid for name in WORKERS}
            lose()
            ended = stand.wait(action)

            alive = [name for name in WORKERS if stand.processes[name].pid == before[name]]
            said = f"{loss.value}, kept at {at}, lost at {later}; {alive} lived on\n{stand.log('worker-1')[-4000:]}"
            found = begun(stand)
            assert {what: count for what, count in found.items() if count > 1} == {}, said
            assert (ended["verdict"], asked(stand)) == ("success", ALL), said
            print(f"{loss.value}: kept at {at}, lost at {later} of {ALL}; {len(alive)} of {len(WORKERS)} lived on")
