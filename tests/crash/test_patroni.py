"""Patroni with etcd: three switch-overs and three kills within one deployment, judged by Drydock's own log.

``python -B .ci/real_patroni.py -s`` prints the seconds.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
import requests

from tests import patroni, run_histories
from tests.crash.test_take_over import SCALE, Journal, design, judge, migrate
from tests.patroni import Patroni
from tests.stand import SHORT, Stand
from tests.supervisor import Supervisor

pytestmark = [pytest.mark.crash, pytest.mark.skipif(bool(patroni.missing()), reason=patroni.missing())]

GROUPS = 24
BLOWS = (
    Patroni.switch_over,
    Patroni.kill_server,
    Patroni.switch_over,
    Patroni.kill_server,
    Patroni.switch_over,
    Patroni.kill_host,
)


@pytest.mark.parametrize("synchronous", [True, False], ids=["synchronous", "asynchronous"])
def test_switch_overs_and_kills_do_nothing_twice(tmp_path: Path, synchronous: bool) -> None:
    """Without a synchronous standby the leader confirms what dies with it: that is noticed and nothing is repeated."""
    times = {**SHORT, "SHIPYARD_ENGINE_SETTLE_SECONDS": "2"}
    lost = []
    with patroni.patroni(synchronous=synchronous) as cluster:
        migrate(cluster.url)
        with Stand(tmp_path, cluster.url, scale=SCALE, times=times) as stand:
            stand.commit(design(GROUPS))
            cluster.await_standby()
            health = requests.get(f"{stand.url}/health/ready", timeout=10).text
            with Supervisor(stand):
                action, journal = stand.deploy_site(), Journal(cluster.url)
                for blow in BLOWS:
                    leader, began = cluster.await_standby(), time.monotonic()
                    kills = blow is not Patroni.switch_over
                    if kills and not synchronous:
                        cluster.stop_sending(leader)
                    journal.await_progress(1)
                    journal.await_submission()
                    known = journal.progress()
                    blow(cluster, leader)
                    cluster.await_leader_after(leader)
                    cluster.tend()
                    lost.append(len(known.keys() - journal.progress().keys()))
                    print(f"\n{blow.__name__}: {time.monotonic() - began:.1f} s, {lost[-1]} entries lost")
                assert stand.wait(action)["verdict"] == "success"
            notes = stand.request("GET", f"/actions/{action}?verbosity=5").text
            judge(stand, GROUPS)
            if synchronous:  # otherwise intents were lost that nobody has read
                peers = {"drydock": stand.events()}
                assert run_histories.of_processes("patroni", cluster.url, peers, made_by="crash") == []
        with closing(psycopg2.connect(cluster.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT difference FROM histories ORDER BY number")
            differences = [difference for (difference,) in cursor.fetchall()]
    assert "asks the peers" in notes
    assert ("replication is asynchronous" in health) is not synchronous
    assert all("a standby became the primary" in one for one in differences[1:])
    assert len(differences) >= 4  # one or two fail-overs may be over before anything connects
    assert (sum(lost) > 0) is not synchronous
