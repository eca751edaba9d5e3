"""What the software stage and its work items store."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import RemoteTask, remote_task
from shipyard_api.domain.task_graph.execution import Execution, Limit, Piece, Place, Rules
from shipyard_api.domain.task_graph.plan import Run
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.workflow.step import Json


@dataclass(frozen=True, slots=True)
class StageSoftware:
    """What a run of the stage works from, once it is planned: it stays as it is until the run ends.

    ``documents``: the entries of the task graph that run, by id. ``hosts``: where each node is reached. ``secrets``:
    what the design keeps secret and any of these tasks has in its parameters; no output shows it.
    """

    batches: tuple[tuple[Run, ...], ...]
    rules: Rules
    documents: Mapping[TaskId, Json]
    hosts: Mapping[NodeName, Host]
    warnings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @classmethod
    def find(cls, texts: Iterable[str]) -> "StageSoftware | None":
        """Return what a run works from, of the fixed texts of its action's steps; None if it is not planned."""
        return next((cls.from_text(text) for text in texts if text.startswith('{"batches":')), None)

    def to_text(self) -> str:
        """Return the stored form."""
        stored = {
            "batches": [[[run.unit, list(run.nodes), list(run.tasks)] for run in runs] for runs in self.batches],
            "limits": [[limit.group, sorted(limit.nodes), limit.most] for limit in self.rules.limits],
            "strict": sorted(self.rules.strict),
            "ignored": sorted(self.rules.ignored),
            "documents": dict(self.documents),
            "hosts": {name: [host.address, host.port] for name, host in self.hosts.items()},
            "warnings": list(self.warnings),
            **({"secrets": list(self.secrets)} if self.secrets else {}),
        }
        return json.dumps(stored, separators=(",", ":"))

    @staticmethod
    @lru_cache(maxsize=8)
    def from_text(text: str) -> "StageSoftware":
        """Return it from its stored form. Many turns of an action read the same text, so the last ones are kept."""
        stored = json.loads(text)
        names: dict[str, NodeName] = {}

        def nodes(written: list[str]) -> tuple[NodeName, ...]:
            return tuple(names.setdefault(name, NodeName(name)) for name in written)

        return StageSoftware(
            tuple(
                tuple(Run(TaskId(unit), nodes(on), tuple(map(TaskId, tasks))) for unit, on, tasks in runs)
                for runs in stored["batches"]
            ),
            Rules(
                tuple(Limit(TaskId(group), frozenset(nodes(on)), most) for group, on, most in stored["limits"]),
                frozenset(map(TaskId, stored["strict"])),
                frozenset(map(TaskId, stored["ignored"])),
            ),
            stored["documents"],
            {NodeName(name): Host(NodeName(name), *where) for name, where in stored["hosts"].items()},
            tuple(stored["warnings"]),
            tuple(stored.get("secrets", ())),
        )


@dataclass(frozen=True, slots=True)
class StageState:
    """``selection``: what the run is limited to, as in the inputs. ``problem``: why it cannot be planned.

    ``fixed``: the text of the ``StageSoftware``, empty until it is planned. ``succeeded``: how often a task has
    succeeded on a node so far. The rest is as in ``Execution``.
    """

    action: str
    revision: int
    selection: Json | None = None
    problem: str = ""
    fixed: str = ""
    batch: int = -1
    open: frozenset[Place] = frozenset()
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    stopped: str | None = None
    succeeded: int = 0

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "v": 1,
            "action": self.action,
            "revision": self.revision,
            "selection": self.selection,
            "problem": self.problem,
            "fixed": self.fixed,
            "batch": self.batch,
            "open": sorted(map(str, self.open)),
            "failed": dict(self.failed),
            "stopped": self.stopped,
            "succeeded": self.succeeded,
        }

    @classmethod
    def from_json(cls, stored: Json) -> "StageState":
        """Return the state from its stored form."""
        return cls(
            stored["action"],
            stored["revision"],
            stored["selection"],
            stored["problem"],
            stored["fixed"],
            stored["batch"],
            frozenset(map(Place.parse, stored["open"])),
            {NodeName(node): why for node, why in stored["failed"].items()},
            stored["stopped"],
            stored["succeeded"],
        )

    @property
    def software(self) -> StageSoftware:
        """What the run works from; only of a state that is planned."""
        return StageSoftware.from_text(self.fixed)

    @property
    def execution(self) -> Execution:
        """The execution; only of a state that is planned."""
        software = self.software
        return Execution(software.batches, software.rules, self.batch, self.open, self.failed, self.stopped)


@dataclass(frozen=True, slots=True)
class TaskOnNodes:
    """What a work item works from: one task on up to fifty nodes, under one marker. Outputs show no ``secrets``."""

    task: TaskId
    document: Json
    marker: str
    hosts: tuple[Host, ...]
    secrets: tuple[str, ...] = ()

    @property
    def remote(self) -> RemoteTask:
        """The task as nodes get it."""
        return remote_task(self.document, secrets=self.secrets)

    @classmethod
    def of(cls, action: str, software: StageSoftware, piece: Piece) -> "TaskOnNodes":
        """Return the work of a piece. Its marker is the same for ever, and no other piece has it."""
        hosts = tuple(software.hosts[node] for node in piece.nodes)
        document, marker = software.documents[piece.task], f"{action}.{piece.place}"
        return cls(piece.task, document, marker, hosts, software.secrets)

    def to_json(self) -> Json:
        """Return the stored form."""
        hosts = [[host.name, host.address, host.port] for host in self.hosts]
        secrets = {"secrets": list(self.secrets)} if self.secrets else {}
        return {"task": self.task, "document": self.document, "marker": self.marker, "hosts": hosts, **secrets}

    @classmethod
    def from_json(cls, stored: Json) -> "TaskOnNodes":
        """Return it from its stored form."""
        hosts = tuple(Host(NodeName(name), *where) for name, *where in stored["hosts"])
        secrets = tuple(stored.get("secrets", ()))
        return cls(TaskId(stored["task"]), stored["document"], stored["marker"], hosts, secrets)


@dataclass(frozen=True, slots=True)
class TaskState:
    """The status of a task on its nodes.

    ``waiting``: not known to have begun. ``running``: begun. ``failed``: why, by node. ``silent``: since when a node
    has not answered. ``began``: when the first node began.
    """

    work: TaskOnNodes
    waiting: tuple[NodeName, ...]
    running: tuple[NodeName, ...] = ()
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    silent: Mapping[NodeName, datetime] = field(default_factory=dict)
    began: datetime | None = None

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "v": 1,
            "work": self.work.to_json(),
            "waiting": list(self.waiting),
            "running": list(self.running),
            "failed": dict(self.failed),
            "silent": {node: since.isoformat() for node, since in self.silent.items()},
            "began": self.began.isoformat() if self.began else None,
        }

    @classmethod
    def from_json(cls, stored: Json) -> "TaskState":
        """Return the state from its stored form."""
        return cls(
            TaskOnNodes.from_json(stored["work"]),
            tuple(map(NodeName, stored["waiting"])),
            tuple(map(NodeName, stored["running"])),
            failures(stored),
            {NodeName(node): datetime.fromisoformat(since) for node, since in stored["silent"].items()},
            datetime.fromisoformat(stored["began"]) if stored["began"] else None,
        )

    def hosts(self, nodes: tuple[NodeName, ...]) -> tuple[Host, ...]:
        """Return where these nodes are reached."""
        wanted = frozenset(nodes)
        return tuple(host for host in self.work.hosts if host.name in wanted)


def failures(stored: Mapping[str, Any]) -> dict[NodeName, str]:
    """Return the failed nodes of a stored ``TaskState``, each with its reason."""
    return {NodeName(node): why for node, why in stored["failed"].items()}
