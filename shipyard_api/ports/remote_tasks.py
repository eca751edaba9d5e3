"""Tasks of the software stage on running nodes: start them under a marker, look at them, end them (product, section 7).

There is no agent. A node remembers a marker, so ``start`` may be repeated: a task that this marker has started is never
started again, whether it runs or has ended, also after a reboot of the node (after weeks a node may forget). On the
node a supervisor runs the attempts of a task under its time limit; it needs no connection.

Each call works on all its nodes at once and takes at most ``limit`` seconds (an argument of the adapter, not of the
task). A node that cannot be asked is a result, not an error: others go on. Text of a node is hostile: what results
carry has been made printable, has the secrets of the task masked, and is limited.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import CopiedFile, RemoteFile, RemoteTask
from shipyard_api.ports.provisioner import Marker

__all__ = [
    "ENDED_REMOTE",
    "TAIL",
    "CopiedFile",
    "Host",
    "Output",
    "RemoteFile",
    "RemoteResult",
    "RemoteState",
    "RemoteTask",
    "RemoteTasks",
]

TAIL = 4096
"""The most characters of output that a result carries."""


class Host(NamedTuple):
    """A node and the address at which SSH reaches it."""

    name: NodeName
    address: str
    port: int = 22


class RemoteState(Enum):
    """The state of a task on a node.

    ``unknown``: the node was asked and knows nothing of the marker. ``lost``: the task ran, and it was ended from
    outside, by a reboot of the node for example; its outcome cannot be known. ``unreachable``: the node did not answer,
    so nothing is known. ``refused``: it answered, and will not let us in (host key, credentials).
    """

    UNKNOWN = "unknown"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    LOST = "lost"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"


ENDED_REMOTE = frozenset(
    {RemoteState.SUCCESS, RemoteState.FAILED, RemoteState.TIMED_OUT, RemoteState.STOPPED, RemoteState.LOST}
)


class RemoteResult(Struct, frozen=True):
    """A task on a node, as the node reports it.

    ``exit_status`` of the last attempt; ``attempts`` begun so far; ``seconds`` it has taken, by the node's own clock
    differences; ``tail``: the end of its output, at most ``TAIL`` characters; ``size``: bytes of output in all.
    ``detail``: one sentence on why it is not running or successful, empty otherwise.
    """

    state: RemoteState
    exit_status: int | None = None
    attempts: int = 0
    seconds: float = 0.0
    tail: str = ""
    size: int = 0
    detail: str = ""


class Output(Struct, frozen=True):
    """A part of the output of a task on a node; ``size``: bytes in all, ``kept``: those on the node.

    Of a very long output the node keeps the beginning and the end; ``text`` says where something is missing. While the
    task runs, such an end is not there yet. ``offset`` and ``next_offset`` count kept bytes; at ``kept`` there is no
    more for now.
    """

    text: str
    offset: int
    next_offset: int
    size: int
    kept: int


class RemoteTasks(Protocol):
    """Runs tasks on nodes. All methods may be repeated; none raises for a single node."""

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Start the task on every host where this marker has not started it yet; return its status on each.

        A node that a task reboots does not answer for a while: ``unreachable`` or ``refused`` is no end then.

        A node on which another task of ours runs is not excluded here: the caller orders tasks.
        Raises Refused for settings that cannot be used (key, known_hosts) and files that cannot be copied, before any
        host is asked.
        """

    def look(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Return the status of the task on each host. Changes nothing. Raises Refused as ``start``."""

    def stop(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """End the task with all its processes where it runs; from then on this marker starts nothing there."""

    def output(
        self, marker: Marker, host: Host, *, secrets: Sequence[str] = (), offset: int = 0, limit: int = 65536
    ) -> Output | None:
        """Return a part of the full output, None if the node does not know the task. ``secrets``: those of the task.

        Raises Unavailable for a node that does not answer, Refused for one that does not let us in.
        """
