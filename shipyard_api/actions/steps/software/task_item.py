"""The work item of the software stage: one task on up to fifty nodes, started and watched (product, section 7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.pacing import POLICY
from shipyard_api.actions.steps.software.state import TaskOnNodes, TaskState
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.facts.steps import Waiting
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import NodeFiles
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, RemoteResult, RemoteState, RemoteTask, RemoteTasks
from shipyard_api.workflow.step import Act, Done, Failed, Folded, ItemKind, Json, Look, PeerFailure

SILENCE_SECONDS = 600.0
"""A node that is silent for longer has failed."""
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 15.0
_SHARE = 30
"""Between two looks at a running task: a thirtieth of the time that it has taken, within these."""
_TAIL_OF_SUCCESS = 200
"""Characters of output that are kept of a success; of a failure all are kept that the node reported."""
_SHOWN = 3


class StartTask(Struct, frozen=True):
    """Start the task where it has not begun, and look at it where it has; may be repeated. ``asked``: when."""

    work: TaskOnNodes
    waiting: tuple[Host, ...]
    running: tuple[Host, ...] = ()
    asked: datetime | None = None

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts that are asked."""
        return (*self.waiting, *self.running)

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "work": self.work.to_json(),
            "waiting": [host.name for host in self.waiting],
            "running": [host.name for host in self.running],
            **({"asked": self.asked.isoformat()} if self.asked else {}),
        }

    @classmethod
    def from_json(cls, stored: Json) -> "StartTask":
        """Return the effect from its stored form."""
        work = TaskOnNodes.from_json(stored["work"])
        waiting, running = (
            tuple(host for host in work.hosts if host.name in stored[kind]) for kind in ("waiting", "running")
        )
        asked = stored.get("asked")
        return cls(work, waiting, running, datetime.fromisoformat(asked) if asked else None)


class LookAtTask(Struct, frozen=True):
    """Look at a task that has begun; no host is asked while no window is open for it to begin."""

    work: TaskOnNodes
    hosts: tuple[Host, ...]


Results = Mapping[NodeName, RemoteResult]


@dataclass(frozen=True, slots=True)
class TaskItem(ItemKind[TaskState, LookAtTask, StartTask, Results]):
    """Runs one task on its nodes. It succeeds if every node does; the step reads from its state which did not.

    ``splits``: it ends as soon as its nodes diverge, so that no node waits for another: some have ended and
    others have not, or some are silent and others answer. The step then goes on with each part as an item of its own.
    ``facts``: the files of nodes before their first task of an action.
    """

    version: ClassVar[int] = 1

    tasks: RemoteTasks | None
    splits: bool = False
    facts: Callable[[str, Sequence[NodeName]], Mapping[NodeName, NodeFiles]] | None = None

    def begin(self, task: Json) -> TaskState:
        """Start with nothing begun, or go on with what an earlier item began."""
        return TaskState.of(TaskOnNodes.from_json(task))

    load_state = staticmethod(TaskState.from_json)
    load_effect = staticmethod(StartTask.from_json)

    def decide(self, state: TaskState, now: datetime) -> Act[StartTask] | Look[LookAtTask] | Done | Failed:
        """Start it everywhere, then look until it has ended everywhere."""
        if self._divides(state):
            return self._end(state)
        if state.waiting and state.blocked(now):
            return Look(LookAtTask(state.work, ()))
        if state.waiting:
            asked = now if state.work.connect_timeout else None
            effect = StartTask(state.work, state.hosts(state.waiting), state.hosts(state.running), asked)
            return Act(effect, now + timedelta(seconds=SILENCE_SECONDS), repeatable=True)
        if state.running:
            return Look(LookAtTask(state.work, state.hosts(state.running)))
        return self._end(state)

    def _divides(self, state: TaskState) -> bool:
        left = sum(map(len, state.parts))
        return self.splits and (len(state.parts) > 1 or 0 < left < len(state.work.hosts))

    def _end(self, state: TaskState) -> Done | Failed:
        count = len(state.work.hosts) - sum(map(len, state.parts))
        if not state.failed:
            return Done(f"{state.work.task} on {count} node(s)")
        return Failed(f"{state.work.task} failed on {len(state.failed)} of {count} node(s): {_listed(state.failed)}")

    def perform(self, effect: StartTask, marker: Marker) -> Results:
        """Start it, under the marker of the piece of work: the engine's own would change with every attempt."""
        work, tasks = effect.work, self._tasks("start")
        first = [host.name for host in effect.waiting if host.name in work.first]
        task = work.remote_with(self.facts(work.action, first) if self.facts and first else {})
        results = dict(tasks.start(Marker(work.marker), task, effect.waiting))
        if effect.running:
            results |= tasks.look(Marker(work.marker), task, effect.running)
        return results

    def ask(self, question: LookAtTask) -> Results:
        """Look at it."""
        if not question.hosts:
            return {}
        work = question.work
        return self._tasks("look").look(Marker(work.marker), work.remote, question.hosts)

    def touches(self, effect: StartTask) -> tuple[NodeName, ...]:
        """Return the nodes."""
        return tuple(host.name for host in effect.waiting)

    def watch(self, state: TaskState, now: datetime) -> Look[LookAtTask] | None:
        """Poll the running task while the action is paused."""
        return Look(LookAtTask(state.work, state.hosts(state.running))) if state.running else None

    def leave(self, state: TaskState, why: str) -> tuple[Fact, ...]:
        """Return the nodes on which the task goes on by itself."""
        left = tuple(NodeResult(node, TaskStatus.LEFT, detail=why) for node in state.running)
        return (TaskChanged(state.work.task, state.work.marker, left),) if left else ()

    def fold(
        self, state: TaskState, asked: LookAtTask | StartTask, report: Results | PeerFailure, now: datetime
    ) -> Folded[TaskState]:
        """Take what each node reported; say once which nodes do not answer, and why."""
        if not asked.hosts and (reason := state.blocked(now)):
            why = f"{reason.rule}: {reason.why}"
            if reason.until is not None:
                return Folded(state, wait_until=reason.until, awaited=Awaited(POLICY, why))
            report = PeerFailure(why, refused=True, nodes=dict.fromkeys(state.waiting, why))
        if isinstance(report, PeerFailure):
            report = _of_trouble(report, asked)
        before, task = frozenset(state.running), state.work.remote
        limits = _limits(task, state)
        asked_at = (asked.asked if isinstance(asked, StartTask) else None) or now
        waiting, running = dict.fromkeys(state.waiting), dict.fromkeys(state.running)
        failed, silent = dict(state.failed), dict(state.silent)
        changes: list[NodeResult] = []
        fell_silent: dict[NodeName, str] = {}
        for node, result in report.items():
            if node not in waiting and node not in running:
                continue
            never_began = result.state is RemoteState.UNKNOWN and node in waiting
            # A node that is booting may refuse logins.
            restarts = task.reboots and result.state is RemoteState.REFUSED and (node in running or node in silent)
            if result.state is RemoteState.UNREACHABLE or never_began or restarts:
                since = silent.setdefault(node, asked_at)
                if (now - since).total_seconds() < limits[node]:
                    if node not in state.silent:
                        fell_silent[node] = result.detail or (
                            "it has not begun" if never_began else "it does not answer"
                        )
                    continue
                if limits[node] == task.connect_timeout:
                    result = replace(result, detail=f"it did not answer within {limits[node]:.0f} s: {result.detail}")
            silent.pop(node, None)
            waiting.pop(node, None)
            if result.state is RemoteState.RUNNING:
                running[node] = None
                if node not in before:
                    changes.append(NodeResult(node, TaskStatus.RUNNING))
                continue
            running.pop(node, None)
            change = _ended(node, result)
            changes.append(change)
            if change.status is TaskStatus.FAILED:
                failed[node] = change.detail
        began = state.began or (now if changes else None)
        state = replace(
            state, waiting=tuple(waiting), running=tuple(running), failed=failed, silent=silent, began=began
        )
        facts: tuple[Fact, ...] = ()
        if changes:
            facts = (TaskChanged(state.work.task, state.work.marker, tuple(changes)),)
        if fell_silent:
            deadline = min(silent[node] + timedelta(seconds=limits[node]) for node in fell_silent)
            facts = (*facts, _silence(state.work, fell_silent, deadline))
        if (not waiting and not running) or self._divides(state):
            return Folded(state, facts)
        pause = now + timedelta(seconds=_pause(began, now))
        awaited = _awaited(state, report, limits) if silent else None
        return Folded(state, facts, wait_until=pause, watch_at=pause if running else None, awaited=awaited)

    def _tasks(self, what: str) -> RemoteTasks:
        if self.tasks is None:
            raise Refused("SSH", what, "[ssh] is not configured any more")
        return self.tasks


def _limits(task: RemoteTask, state: TaskState) -> Mapping[NodeName, float]:
    """Return how many seconds each node may be silent; one that has not taken a command is given up sooner."""
    begun = max(SILENCE_SECONDS, float(task.timeout)) if task.reboots else SILENCE_SECONDS
    return {**dict.fromkeys(state.waiting, float(task.connect_timeout or begun)), **dict.fromkeys(state.running, begun)}


def _pause(began: datetime | None, now: datetime) -> float:
    taken = (now - began).total_seconds() if began else 0.0
    return min(max(SHORTEST_PAUSE, taken / _SHARE), LONGEST_PAUSE)


def _listed(reasons: Mapping[NodeName, str]) -> str:
    return in_short((f"{node}: {why}" for node, why in sorted(reasons.items())), _SHOWN, "; ")


def _awaited(state: TaskState, report: Results, limits: Mapping[NodeName, float]) -> Awaited:
    """Return what the item waits for while nodes are silent, with what they last answered."""
    nodes = sorted(state.silent)
    what = f"{state.work.task} on {len(nodes)} node(s): {in_short(nodes, _SHOWN)}"
    answers = {node: report[node].detail for node in nodes if node in report and report[node].detail}
    deadline = min(since + timedelta(seconds=limits[node]) for node, since in state.silent.items())
    return Awaited("SSH", what, _listed(answers), deadline=deadline)


def _silence(work: TaskOnNodes, reasons: Mapping[NodeName, str], deadline: datetime) -> Waiting:
    """Return the fact that nodes have begun to be silent, each with its reason."""
    what = f"{work.task} on {len(reasons)} node(s): {_listed(reasons)}"
    return Waiting("SSH", what, deadline.isoformat())


def _ended(node: NodeName, result: RemoteResult) -> NodeResult:
    numbers = (result.exit_status, result.attempts, result.seconds)
    if result.state is RemoteState.SUCCESS:
        return NodeResult(node, TaskStatus.SUCCESS, *numbers, tail=result.tail[-_TAIL_OF_SUCCESS:])
    return NodeResult(node, TaskStatus.FAILED, *numbers, detail=_reason(result), tail=result.tail)


def _reason(result: RemoteResult) -> str:
    if result.detail:
        return result.detail
    if result.state is RemoteState.FAILED:
        return f"exit {result.exit_status}"
    return _REASONS[result.state]


_REASONS = {
    RemoteState.UNKNOWN: "the node does not know the task any more: it may have been installed again",
    RemoteState.TIMED_OUT: "it took longer than its timeout",
    RemoteState.STOPPED: "it was stopped",
    RemoteState.LOST: "it was ended from outside, by a reboot for example",
    RemoteState.UNREACHABLE: f"the node has not answered for {SILENCE_SECONDS:.0f} s",
    RemoteState.REFUSED: "the node did not let Shipyard in",
}


def _of_trouble(trouble: PeerFailure, asked: LookAtTask | StartTask) -> Results:
    """Return what trouble means to each node: those that are held and, without names, all are refused; else silent."""
    if trouble.nodes:
        return {node: RemoteResult(RemoteState.REFUSED, detail=why) for node, why in trouble.nodes.items()}
    state = RemoteState.REFUSED if trouble.refused else RemoteState.UNREACHABLE
    return {host.name: RemoteResult(state, detail=trouble.detail) for host in asked.hosts}
