"""Running the acceptance tasks of a group on its deployed nodes, one task after another on all of them.

A task on the nodes of a move has the state of a work item of the software stage (``TaskItem``): it is started under a
marker that no other task has, so that a repeated start only reports.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.software.software_stage import NoPlan
from shipyard_api.actions.steps.software.state import TaskOnNodes, TaskState
from shipyard_api.actions.steps.software.task_item import LookAtTask, StartTask, TaskItem
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from shipyard_api.domain.task_graph.commands import keys_in
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.workflow.step import Folded, Json

ITEM = TaskItem(None)
"""Used only to fold reports; it has no access to nodes."""

_SHOWN = 300
"""Characters of output in the reason of a node; the result of the task has more."""


class Acceptance(Struct, frozen=True):
    """The acceptance tasks of a rollout, as they were when it began.

    ``action``: the beginning of all markers. ``tasks``: by group, in order. ``documents``: their entries in the task
    graph. ``hosts``: where nodes are reached. ``secrets``: as of ``StageSoftware``.
    """

    action: str
    tasks: Mapping[GroupName, tuple[TaskId, ...]]
    documents: Mapping[TaskId, Json]
    hosts: Mapping[NodeName, Host]
    secrets: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "action": self.action,
            "tasks": {group: list(ids) for group, ids in self.tasks.items()},
            "documents": dict(self.documents),
            "hosts": {name: [host.address, host.port] for name, host in self.hosts.items()},
            **({"secrets": list(self.secrets)} if self.secrets else {}),
        }

    @classmethod
    def from_json(cls, stored: Json) -> "Acceptance":
        """Return it from its stored form."""
        return cls(
            stored["action"],
            {GroupName(group): tuple(map(TaskId, ids)) for group, ids in stored["tasks"].items()},
            {TaskId(task): entry for task, entry in stored["documents"].items()},
            {NodeName(name): Host(NodeName(name), *where) for name, where in stored["hosts"].items()},
            tuple(stored.get("secrets", ())),
        )

    @classmethod
    def find(cls, texts: Iterable[str]) -> "Acceptance | None":
        """Return the acceptance tasks in the fixed texts of an action's steps, None if there are none."""
        # A quick look first: the texts of a large site have megabytes.
        documents = (json.loads(text).get("acceptance") for text in texts if '"acceptance":' in text)
        return next((cls.from_json(stored) for stored in documents if stored), None)

    def of(self, task: TaskId, node: NodeName, marker: str) -> TaskOnNodes | None:
        """Return a task on one node, None if no group has it."""
        if task not in self.documents or node not in self.hosts:
            return None
        return self._work(task, marker, (self.hosts[node],))

    def task(self, move: Move, number: int, nodes: Collection[NodeName]) -> TaskState | None:
        """Return a task of the move's group, by its place in the list, before it has begun; None behind the last."""
        ids = self.tasks.get(move.group, ())
        if number >= len(ids):
            return None
        hosts = tuple(self.hosts[node] for node in move.nodes if node in nodes)
        # Without the batch: after a loss of history, a node may be in another one than the one in which it began.
        marker = f"{self.action}.accept.{move.group}.{number}"
        work = self._work(ids[number], marker, hosts)
        return TaskState(work, tuple(host.name for host in hosts))

    def _work(self, task: TaskId, marker: str, hosts: tuple[Host, ...]) -> TaskOnNodes:
        document = self.documents[task]
        variables = {host.name: {"NODE": str(host.name)} for host in hosts if "NODE" in keys_in(document)}
        return TaskOnNodes(task, document, marker, hosts, self.secrets, own=variables)


class PlanAcceptance(Struct, frozen=True):
    """How acceptance tasks are planned, and run. ``plan`` gets action, revision, strategy and the nodes of its groups.

    ``plan`` raises ports.errors.
    """

    plan: Callable[[str, int, Strategy, Collection[NodeName]], Acceptance | NoPlan]
    item: TaskItem


class Accepting(Struct, frozen=True):
    """Nodes of a move that run an acceptance task, and how their deploy itself ended.

    ``number``: the place of the task in the list of its group. ``again``: when nodes are asked again that have not
    answered a start. ``timed_out`` and ``message``: of the deploy.
    """

    number: int
    state: TaskState
    again: datetime
    timed_out: bool
    message: str

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "number": self.number,
            "task": self.state.to_json(),
            "again": self.again.isoformat(),
            "timed_out": self.timed_out,
            "message": self.message,
        }

    @classmethod
    def from_json(cls, stored: Json) -> "Accepting":
        """Return it from its stored form."""
        state, again = TaskState.from_json(stored["task"]), datetime.fromisoformat(stored["again"])
        return cls(stored["number"], state, again, stored["timed_out"], stored["message"])

    @property
    def question(self) -> LookAtTask | None:
        """How the task is looked at, None while it has not begun anywhere."""
        state = self.state
        return LookAtTask(state.work, state.hosts(state.running)) if state.running else None

    def start(self, now: datetime) -> StartTask | None:
        """Return how the task is started where it has not begun, None if nothing is due."""
        state = self.state
        if not state.waiting or now < self.again:
            return None
        return StartTask(state.work, state.hosts(state.waiting), state.hosts(state.running))


class Accepted(Struct, frozen=True):
    """What a report means. ``failed``: nodes that failed by it, with reasons; ``poll_at`` None: all have ended."""

    accepting: Accepting
    facts: tuple[Fact, ...]
    failed: Mapping[NodeName, str]
    poll_at: datetime | None

    @property
    def passed(self) -> frozenset[NodeName]:
        """The nodes that passed the task; only of one that has ended."""
        work, failed = self.accepting.state.work, self.accepting.state.failed
        return frozenset(host.name for host in work.hosts if host.name not in failed)


def judge(accepting: Accepting, folded: Folded[TaskState], now: datetime) -> Accepted:
    """Return what the state of the task means after a report."""
    failed = {
        result.node: _reason(fact.task, result)
        for fact in folded.facts
        if isinstance(fact, TaskChanged)
        for result in fact.results
        if result.status is TaskStatus.FAILED
    }
    accepting = replace(accepting, state=folded.state, again=folded.wait_until or now)
    return Accepted(accepting, folded.facts, failed, folded.wait_until)


def _reason(task: TaskId, result: NodeResult) -> str:
    output = " ".join(result.tail.split())
    shown = output if len(output) <= _SHOWN else f"…{output[-_SHOWN:]}"
    return f"acceptance task {task}: {result.detail}{f'; its output ends with: {shown}' if shown else ''}"
