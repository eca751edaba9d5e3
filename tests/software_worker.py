"""A worker of update_software on real hosts: ``python -m tests.software_worker URL SITE``; SITE is a JSON file."""

import json
import sys
from pathlib import Path

from shipyard_api.adapters.ssh.login import Access
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.remote_tasks import Host
from tests.one_worker import work
from tests.software_world import software


def main(url: str, site: str) -> int:
    described = json.loads(Path(site).read_text())
    hosts = {NodeName(name): Host(NodeName(name), *where) for name, where in described["hosts"].items()}
    return work(url, lambda store: software(store, SshRemoteTasks(Access(*described["access"])), hosts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
