"""A worker of update_software on real hosts: ``python -m tests.software_worker URL SITE``; SITE is a JSON file."""

import json
import os
import sys
import uuid
from pathlib import Path

from shipyard_api.adapters.procrastinate.options import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.adapters.ssh.connections import Access
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import SqlStore, connect
from shipyard_api.workflow.turn import Engine
from tests.software_world import software


def main(url: str, site: str) -> int:
    described = json.loads(Path(site).read_text())
    hosts = {NodeName(name): Host(NodeName(name), *where) for name, where in described["hosts"].items()}
    database = connect(url, pool_size=10)
    store = SqlStore(database, ProcrastinateWakeup())
    engine = Engine(
        store,
        {ActionName.UPDATE_SOFTWARE: software(store, SshRemoteTasks(Access(*described["access"])), hosts)},
        DatabaseClock(database, ProcrastinateWakeup()),
        lambda: Marker(str(uuid.uuid4())),
        settle=1.0,
        worker=f"worker-{os.getpid()}",
    )
    options = WorkerOptions(
        concurrency=4,
        poll_seconds=0.1,
        heartbeat_seconds=0.3,
        stalled_seconds=1.5,
        sweep_seconds=1,
        overdue_seconds=2.0,
        graceful_seconds=1.0,
    )
    return TurnWorker(url, engine.run, engine.items.run, lambda: engine.sweep(grace=2.0), options).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
