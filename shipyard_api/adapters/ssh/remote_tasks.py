"""The port of tasks on running nodes, over SSH."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from shipyard_api.adapters.ssh import copies, supervisor, text
from shipyard_api.adapters.ssh.connections import SYSTEM, Connections, NodeError, NodeRefusal
from shipyard_api.adapters.ssh.login import Access
from shipyard_api.adapters.ssh.supervisor import Report, ReportError, parse, refusal, result
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import TAIL, Host, Output, RemoteResult, RemoteState, RemoteTask

WINDOW = 4 * TAIL
"""Bytes of output that a look asks for, beside those that secrets may reach over: a character has up to 4 bytes."""

MOST_WINDOW = 64 * 1024
PAGE = 60_000
"""The most bytes of output in one answer of ``output``."""

_ROOM = 128 * 1024  # bytes of an answer beside the output: the report, and what a login prints


class SshRemoteTasks:
    """Runs tasks on nodes over SSH (ports/remote_tasks.py).

    ``limit``: seconds for one node in one call; the others do not wait for it longer than that. ``directory``: where
    files are that tasks copy; None for none.
    """

    def __init__(self, access: Access, *, limit: float = 60.0, directory: Path | None = None) -> None:
        self._connections = Connections(access)
        self._limit = limit
        self._directory = directory

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Start the task where it has not been started; see the port."""
        payloads = {
            host.name: self._start(marker, task.by_node[host.name]) for host in hosts if host.name in task.by_node
        }
        call = self._start(marker, task) if len(payloads) < len(hosts) else ("", b"")
        return self._ask("start", lambda host: payloads.get(host.name, call), task, hosts)

    def _start(self, marker: Marker, task: RemoteTask) -> tuple[str, bytes]:
        if task.copies:
            task = replace(task, files=(*task.files, *copies.read(self._directory, task.copies)))
        return supervisor.start(marker, task, _window(task))

    def look(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Return the status of the task; see the port."""
        call = supervisor.call("look", marker, _window(task))
        return self._ask("look", lambda _host: call, task, hosts)

    def stop(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """End the task; see the port."""
        call = supervisor.call("stop", marker, _window(task))
        return self._ask("stop", lambda _host: call, task, hosts)

    def output(
        self, marker: Marker, host: Host, *, secrets: Sequence[str] = (), offset: int = 0, limit: int = PAGE
    ) -> Output | None:
        """Return a part of the output, at most ``PAGE`` bytes of it; see the port."""
        around = text.margin(secrets)
        size = max(1, min(limit, PAGE))
        before = min(offset, around)
        call = supervisor.call("output", marker, before + size + around, offset - before)
        self._connections.check("output")
        asked = self._connections.each(
            [host], lambda each_host: self._report(each_host, call, around), limit=self._limit
        )
        report = asked[host]
        if isinstance(report, NodeRefusal):
            raise Refused(SYSTEM, "output", f"{host.name}: {report}", marker=marker) from report
        if isinstance(report, NodeError):
            raise Unavailable(SYSTEM, "output", f"{host.name}: {report}", marker=marker) from report
        if not report.fields["run"]:
            return None
        return _page(report, secrets, offset=offset, size=size, before=before)

    def close(self) -> None:
        """Close all connections, and end their thread."""
        self._connections.close()

    def _ask(
        self, operation: str, call: Callable[[Host], tuple[str, bytes]], task: RemoteTask, hosts: Sequence[Host]
    ) -> Mapping[NodeName, RemoteResult]:
        self._connections.check(operation)
        asked = self._connections.each(hosts, lambda host: self._result(host, call(host), task), limit=self._limit)
        return {
            host.name: _failed(result) if isinstance(result, NodeError) else result for host, result in asked.items()
        }

    async def _result(self, host: Host, call: tuple[str, bytes], task: RemoteTask) -> RemoteResult:
        report = await self._report(host, call, text.margin(task.secrets), connect_timeout=task.connect_timeout)
        return result(report, task)

    async def _report(
        self, host: Host, call: tuple[str, bytes], around: int, *, connect_timeout: float | None = None
    ) -> Report:
        command, data = call
        most = _ROOM + MOST_WINDOW + 2 * around
        answer = await self._connections.run(host, command, data, most=most, connect_timeout=connect_timeout)
        if answer.status:
            raise NodeRefusal(refusal(host.name, answer.status, answer.stdout, answer.stderr))
        try:
            return parse(answer.stdout)
        except ReportError as error:
            raise NodeRefusal(str(error)) from error


def _window(task: RemoteTask) -> int:
    return min(WINDOW + text.margin(task.secrets), MOST_WINDOW)


def _failed(error: NodeError) -> RemoteResult:
    state = RemoteState.REFUSED if isinstance(error, NodeRefusal) else RemoteState.UNREACHABLE
    return RemoteResult(state, detail=str(error))


def _page(report: Report, secrets: Sequence[str], *, offset: int, size: int, before: int) -> Output:
    end = max(offset, min(offset + size, report.kept))
    goes_on = end == report.kept and not report.ended
    if goes_on:
        end = max(offset, end - text.unfinished(report.body[: before + end - offset]))
    after = max(0, len(report.body) - before - (end - offset))
    parts = [(offset, end)]
    gap = report.total - report.kept
    if gap > 0 and offset <= report.first < end:
        parts = [(offset, report.first), (report.first, end)]
    shown = []
    for begin, stop in parts:
        ahead = before + begin - offset
        behind = after + end - stop
        shown.append(text.readable(report.body, secrets, before=ahead, after=behind, open_end=goes_on and stop == end))
    return Output(f"\n[{gap} bytes are not kept]\n".join(shown), offset, end, report.total, report.kept)
