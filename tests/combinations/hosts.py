"""The task graph of a site, and its machines as SSH reaches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, RemoteResult, RemoteState, RemoteTask
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.task_graphs import group, task

COMMANDS = ("run one", "run two")
GRAPH = (
    group("web"),
    task("one", groups=["web"]),
    task("two", groups=["web"], requires=["one"]),
)


@dataclass
class Hosts(FakeRemoteTasks):
    """The deployed machines. ``begun``: each start of a command on a node, in order; ``done``: what ended well."""

    begun: list[tuple[str, str]] = field(default_factory=list)
    done: set[tuple[str, str]] = field(default_factory=set)

    def forget_all(self) -> None:
        """Begin the record anew."""
        self.begun.clear()
        self.done.clear()

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        known = len(self.log)
        found = super().start(marker, task, hosts)
        self.begun += [(task.command, node) for _, node in self.log[known:]]
        return found

    def _end(self, task: RemoteTask, node: NodeName) -> RemoteResult:
        result = super()._end(task, node)
        if result.state is RemoteState.SUCCESS:
            self.done.add((task.command, node))
        return result


def addresses(_: Rendering, nodes: Sequence[NodeName]) -> tuple[Mapping[NodeName, Host], Sequence[Finding]]:
    """Return an address of each node."""
    return {name: Host(name, "10.0.0.1") for name in nodes}, ()
