"""Tasks on nodes in memory: at most one start per marker and node, scripted outcomes, failures on demand.

Time does not pass: a task ends after it has been looked at often enough.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, Output, RemoteResult, RemoteState, RemoteTask

Key = tuple[Marker, NodeName]


@dataclass
class FakeRemoteTasks:
    """Nodes that do what the attributes say; every one may be changed at any time.

    ``polls``: how many looks report a task as running before it ends. ``failing``: commands that fail on a node; None
    for all of them. ``hanging``: nodes where tasks run until they are stopped. ``down``: nodes that do not answer.
    ``refusing``: nodes that do not let us in. ``prints``: the output of every task.
    ``log``: each start that really happened, in order; ``stops``: each stop that was asked of a node. ``sent``: what
    each start sent.
    """

    polls: int = 0
    failing: set[tuple[str | None, NodeName]] = field(default_factory=set)
    hanging: set[NodeName] = field(default_factory=set)
    down: set[NodeName] = field(default_factory=set)
    refusing: set[NodeName] = field(default_factory=set)
    prints: str = ""
    log: list[Key] = field(default_factory=list)
    stops: list[Key] = field(default_factory=list)
    sent: dict[Key, RemoteTask] = field(default_factory=dict)
    name: str = "Fake nodes"

    def __post_init__(self) -> None:
        self._failing: dict[str, list[tuple[PeerError, bool]]] = {}
        self._left: dict[Key, int] = {}
        self._ended: dict[Key, RemoteResult] = {}

    # What tests do.

    def break_next(self, method: str, *, after: bool = False) -> None:
        """Let the next call of the method raise Unavailable, before its effect or after."""
        self._failing.setdefault(method, []).append((Unavailable(self.name, method, "broken on purpose"), after))

    def lose(self, marker: Marker, node: NodeName) -> None:
        """End a running task from outside, as a reboot of the node does."""
        self._ended[marker, node] = RemoteResult(RemoteState.LOST, attempts=1, detail="the node was restarted")

    def forget(self, node: NodeName) -> None:
        """Let a node know nothing of any task, as after an installation."""
        for key in [key for key in (*self._left, *self._ended) if key[1] == node]:
            self._left.pop(key, None)
            self._ended.pop(key, None)

    # The port.

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        return self._each("start", hosts, lambda node: self._start(marker, task, node))

    def look(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        return self._each("look", hosts, lambda node: self._look(marker, task, node))

    def stop(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        return self._each("stop", hosts, lambda node: self._stop(marker, node))

    def output(
        self, marker: Marker, host: Host, *, secrets: Sequence[str] = (), offset: int = 0, limit: int = 65536
    ) -> Output | None:
        if host.name in self.refusing:
            raise Refused(self.name, "output", "permission denied", marker=marker)
        if host.name in self.down:
            raise Unavailable(self.name, "output", "no answer", marker=marker)
        if (marker, host.name) not in self._left:
            return None
        text = _masked(self.prints, secrets)
        size, end = len(text), min(offset + limit, len(text))
        return Output(text[offset:end], offset, max(offset, end), size, size)

    # Inside.

    def _each(
        self, method: str, hosts: Sequence[Host], one: Callable[[NodeName], RemoteResult]
    ) -> Mapping[NodeName, RemoteResult]:
        error, after = self._failing[method].pop(0) if self._failing.get(method) else (None, False)
        if error is not None and not after:
            raise error
        results = {host.name: self._asked(host.name, one) for host in hosts}
        if error is not None:
            raise error
        return results

    def _asked(self, node: NodeName, one: Callable[[NodeName], RemoteResult]) -> RemoteResult:
        if node in self.down:
            return RemoteResult(RemoteState.UNREACHABLE, detail="no answer")
        if node in self.refusing:
            return RemoteResult(RemoteState.REFUSED, detail="permission denied")
        return one(node)

    def _start(self, marker: Marker, task: RemoteTask, node: NodeName) -> RemoteResult:
        key = marker, node
        if key not in self._left and key not in self._ended:
            self.log.append(key)
            self.sent[key] = task.by_node.get(node, task)
            self._left[key] = self.polls
        return self._stands(key, task)

    def _look(self, marker: Marker, task: RemoteTask, node: NodeName) -> RemoteResult:
        key = marker, node
        result = self._stands(key, task)
        if result.state is RemoteState.RUNNING and node not in self.hanging:
            self._left[key] -= 1
        return result

    def _stop(self, marker: Marker, node: NodeName) -> RemoteResult:
        key = marker, node
        self.stops.append(key)
        ran = key in self._left
        if key not in self._ended:
            detail = "stopped" if ran else "stopped before it began"
            self._ended[key] = RemoteResult(RemoteState.STOPPED, attempts=int(ran), detail=detail)
        return self._ended[key]

    def _stands(self, key: Key, task: RemoteTask) -> RemoteResult:
        if key in self._ended:
            return self._ended[key]
        if key not in self._left:
            return RemoteResult(RemoteState.UNKNOWN)
        if self._left[key] > 0 or key[1] in self.hanging:
            return RemoteResult(RemoteState.RUNNING, attempts=1)
        self._ended[key] = self._end(task, key[1])
        return self._ended[key]

    def _end(self, task: RemoteTask, node: NodeName) -> RemoteResult:
        size, tail = len(self.prints), _masked(self.prints, task.secrets)
        if {(task.command, node), (None, node)} & self.failing:
            attempts = task.retries + 1
            return RemoteResult(RemoteState.FAILED, 1, attempts, tail=tail, size=size, detail="exit status 1")
        return RemoteResult(RemoteState.SUCCESS, 0, 1, tail=tail, size=size)


def _masked(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
