"""Tasks of the software stage on running nodes: start them under a marker, look at them, end them (product, section 7).

There is no agent. A node remembers a marker, so ``start`` may be repeated: a task that this marker has started is never
started again, whether it runs or has ended, also after a reboot of the node (after weeks a node may forget). On the
node a supervisor runs the attempts of a task under its time limit; it needs nobody to watch it.

Each call works on all its nodes at once and takes at most ``limit`` seconds (an argument of the adapter, not of the
task). A node that cannot be asked is a result, not an error: others go on. Text of a node is hostile: what results
carry has been made printable, has the secrets of the task masked, and is limited.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Marker

TAIL = 4096
"""The most characters of output that a result carries."""


@dataclass(frozen=True, slots=True)
class Host:
    """A node and the address at which SSH reaches it."""

    name: NodeName
    address: str
    port: int = 22


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that is written, whole or not at all, before the command runs; ``path`` is absolute."""

    path: str
    content: bytes
    mode: int = 0o644
    directory_mode: int = 0o755


@dataclass(frozen=True, slots=True)
class RemoteTask:
    """What runs on each node of a call.

    ``command``: for the POSIX shell; None if there is nothing but files to write. ``succeeds_with``: exit codes that
    mean success. ``retries``: further attempts after a failed one, ``interval`` seconds apart. ``timeout``: seconds for
    all attempts together; after it the task and all its processes are ended. ``secrets``: texts that no output shows.
    """

    command: str | None
    files: tuple[RemoteFile, ...] = ()
    cwd: str = "/"
    succeeds_with: frozenset[int] = frozenset({0})
    timeout: int = 3600
    retries: int = 0
    interval: int = 0
    secrets: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class RemoteResult:
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


@dataclass(frozen=True, slots=True)
class Output:
    """A part of the output of a task on a node, from ``offset``; ``size``: bytes in all, ``kept``: those on the node.

    Of a very long output the node keeps the beginning and the end; ``text`` says where something is missing.
    """

    text: str
    offset: int
    size: int
    kept: int


class RemoteTasks(Protocol):
    """Runs tasks on nodes. All methods may be repeated; none raises for a single node."""

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Start the task on every host where this marker has not started it yet; return how it stands on each.

        A node on which another task of ours runs is not excluded here: whoever calls orders tasks.
        Raises Refused for settings that cannot be used (key, known_hosts), before any host is asked.
        """

    def look(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Return how the task stands on each host. Changes nothing. Raises Refused as ``start``."""

    def stop(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """End the task with all its processes where it runs; from then on this marker starts nothing there."""

    def output(self, marker: Marker, host: Host, *, offset: int = 0, limit: int = 65536) -> Output | None:
        """Return a part of the full output, None if the node has none. Raises ports.errors."""
