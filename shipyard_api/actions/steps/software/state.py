"""What the software stage and its work items store."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.pace import Blocked
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.task_graph.commands import NodeFiles, RemoteTask, filled, keys_in, rehearsal, remote_task
from shipyard_api.domain.task_graph.execution import Execution, Limit, Rules, Running
from shipyard_api.domain.task_graph.flow import Cell, Flow, Judge, Point, Window
from shipyard_api.domain.task_graph.node_facts import SiteFacts
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.workflow.step import Json


class StageSoftware(Struct, frozen=True):
    """What a run of the stage works from, once it is planned: it stays as it is until the run ends.

    ``documents``: the entries of the task graph that run, by id. ``hosts``: where each node is reached. ``secrets``:
    what the design keeps secret and any of these tasks has in its parameters; no output shows it. ``kept``: what a
    retry does not run again, as ``Execution.done``. ``facts``: what tasks may know of the site.
    ``noop``: tasks only show what they would do. ``connect_timeout``: see ``TaskOnNodes``. ``skipped``: why other tasks
    of the graph do not run; empty for a run that an earlier release planned. ``given``: the digest of the software of
    each node that runs the whole graph, see ``domain.specification.software``.
    """

    flow: Flow
    rules: Rules
    documents: Mapping[TaskId, Json]
    hosts: Mapping[NodeName, Host]
    warnings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    kept: Mapping[int, int] = field(default_factory=dict)
    facts: SiteFacts = field(default_factory=SiteFacts)
    noop: bool = False
    connect_timeout: int | None = None
    skipped: Mapping[TaskId, str] = field(default_factory=dict)
    given: Mapping[NodeName, str] = field(default_factory=dict)

    @classmethod
    def find(cls, texts: Iterable[str]) -> "StageSoftware | None":
        """Return what a run works from, of the fixed texts of its action's steps; None if it is not planned."""
        return next((cls.from_text(text) for text in texts if text.startswith('{"flow":')), None)

    @property
    def tasks(self) -> Iterator[tuple[NodeName, TaskId]]:
        """Each task on each of its nodes, in the order of the graph."""
        for cell in self.flow.cells:
            for node in self.flow.nodes[cell.number]:
                yield node, cell.task

    @property
    def kept_tasks(self) -> Iterator[tuple[NodeName, TaskId]]:
        """Each task on each node that the run has kept from the runs before it."""
        for index, bits in self.kept.items():
            cell = self.flow.cells[index]
            for node in self.flow.named(cell.number, bits):
                yield node, cell.task

    def work(
        self, action: str, task: TaskId, nodes: Sequence[NodeName], first: Sequence[NodeName] = ()
    ) -> "TaskOnNodes":
        """Return a task on nodes. Its marker is the same for ever, and no other task of the action has it.

        ``first``: the nodes on which it is the first task of the run.
        """
        marker = f"{action}.{list(self.documents).index(task)}"
        document = self.documents[task]
        hosts = tuple(self.hosts[node] for node in nodes)
        keys = keys_in(document)
        by_node = {node: {key: text for key, text in self.facts.keys(node).items() if key in keys} for node in nodes}
        return TaskOnNodes(
            task,
            document,
            marker,
            hosts,
            self.secrets,
            own={node: values for node, values in by_node.items() if values},
            first=tuple(node for node in first if node in self.facts.nodes),
            noop=self.noop,
            connect_timeout=self.connect_timeout,
        )

    def to_text(self) -> str:
        """Return the stored form."""
        stored = {
            "flow": _flow_to_json(self.flow),
            "limits": [[limit.group, sorted(limit.nodes), limit.most] for limit in self.rules.limits],
            "strict": sorted(self.rules.strict),
            "ignored": sorted(self.rules.ignored),
            "nodes_at_once": self.rules.nodes_at_once,
            "documents": dict(self.documents),
            "hosts": {name: [host.address, host.port] for name, host in self.hosts.items()},
            "warnings": list(self.warnings),
            **({"secrets": list(self.secrets)} if self.secrets else {}),
            **({"kept": _bits_to_json(self.kept)} if self.kept else {}),
            **({"facts": _facts_to_json(self.facts)} if self.facts.nodes else {}),
            **({"noop": True} if self.noop else {}),
            **({"connect_timeout": self.connect_timeout} if self.connect_timeout else {}),
            **({"skipped": dict(self.skipped)} if self.skipped else {}),
            **({"given": _given_to_json(self.given)} if self.given else {}),
        }
        return json.dumps(stored, separators=(",", ":"))

    @staticmethod
    @lru_cache(maxsize=8)
    def from_text(text: str) -> "StageSoftware":
        """Return it from its stored form. Many turns of an action read the same text, so the last ones are kept."""
        stored = json.loads(text)
        limits = (Limit(TaskId(group), frozenset(map(NodeName, on)), most) for group, on, most in stored["limits"])
        strict, ignored = (frozenset(map(TaskId, stored[kind])) for kind in ("strict", "ignored"))
        return StageSoftware(
            _flow_from_json(stored["flow"]),
            Rules(tuple(limits), strict, ignored, stored["nodes_at_once"]),
            {TaskId(task): document for task, document in stored["documents"].items()},
            {NodeName(name): Host(NodeName(name), *where) for name, where in stored["hosts"].items()},
            tuple(stored["warnings"]),
            tuple(stored.get("secrets", ())),
            _bits_from_json(stored.get("kept", {})),
            _facts_from_json(stored.get("facts", {})),
            stored.get("noop", False),
            stored.get("connect_timeout"),
            {TaskId(task): why for task, why in stored.get("skipped", {}).items()},
            {NodeName(node): digest for digest, nodes in stored.get("given", {}).items() for node in nodes},
        )


def _given_to_json(given: Mapping[NodeName, str]) -> Json:
    by_digest: dict[str, list[NodeName]] = {}
    for node, digest in given.items():
        by_digest.setdefault(digest, []).append(node)
    return by_digest


def _facts_to_json(facts: SiteFacts) -> Json:
    stored = {"nodes": dict(facts.nodes), "addresses": dict(facts.addresses), "settings": facts.settings}
    return stored if facts.values == RunValues() else {**stored, "values": facts.values.to_json()}


def _facts_from_json(stored: Json) -> SiteFacts:
    named = [{NodeName(node): value for node, value in stored.get(kind, {}).items()} for kind in ("nodes", "addresses")]
    return SiteFacts(named[0], named[1], stored.get("settings", {}), RunValues.read(stored.get("values")))


def _bits_to_json(done: Mapping[int, int]) -> Json:
    return {str(cell): f"{bits:x}" for cell, bits in done.items()}


def _bits_from_json(stored: Json) -> Mapping[int, int]:
    return {int(cell): int(bits, 16) for cell, bits in stored.items()}


def _flow_to_json(flow: Flow) -> Json:
    return {
        "nodes": [[[node, flow.position.get(node)] for node in nodes] for nodes in flow.nodes],
        "cells": [[cell.task, cell.number, list(cell.after), list(cell.points)] for cell in flow.cells],
        "points": [[point.name, point.judge.value, list(point.cells), list(point.before)] for point in flow.points],
        "windows": [[list(window.cells), window.most] for window in flow.windows],
    }


def _flow_from_json(stored: Json) -> Flow:
    tasks: dict[str, TaskId] = {}
    return Flow(
        tuple(tuple(NodeName(node) for node, _ in nodes) for nodes in stored["nodes"]),
        tuple(
            Cell(tasks.setdefault(task, TaskId(task)), number, tuple(after), tuple(points))
            for task, number, after, points in stored["cells"]
        ),
        tuple(
            Point(TaskId(name), Judge(judge), tuple(cells), tuple(before))
            for name, judge, cells, before in stored["points"]
        ),
        tuple(Window(tuple(cells), most) for cells, most in stored["windows"]),
        {NodeName(node): place for nodes in stored["nodes"] for node, place in nodes if place is not None},
    )


class StageState(Struct, frozen=True):
    """``selection``: what the run is limited to, as in the inputs. ``problem``: why it cannot be planned.

    ``fixed``: the text of the ``StageSoftware``, empty until it is planned. ``begun``: whether tasks have begun.
    ``older``: items of a run that a release with batches began; they end, and nothing follows them. ``retried``: the
    action whose run this one goes on with. The rest is as in ``Execution``.
    """

    VERSION: ClassVar[int] = 2

    action: str
    revision: int
    selection: Json | None = None
    problem: str = ""
    fixed: str = ""
    begun: bool = False
    done: Mapping[int, int] = field(default_factory=dict)
    open: Mapping[str, Running] = field(default_factory=dict)
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    stopped: str | None = None
    pieces: int = 0
    older: frozenset[str] = frozenset()
    retried: str | None = None

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "v": self.VERSION,
            "action": self.action,
            "revision": self.revision,
            "selection": self.selection,
            "problem": self.problem,
            "fixed": self.fixed,
            "begun": self.begun,
            "done": _bits_to_json(self.done),
            "open": {piece: [running.cell, f"{running.nodes:x}"] for piece, running in self.open.items()},
            "failed": dict(self.failed),
            "stopped": self.stopped,
            "pieces": self.pieces,
            **({"older": sorted(self.older)} if self.older else {}),
            **({"retried": self.retried} if self.retried else {}),
        }

    @classmethod
    def from_json(cls, stored: Json) -> "StageState":
        """Return the state from its stored form."""
        start = cls(stored["action"], stored["revision"], stored["selection"], stored["problem"], stored["fixed"])
        if stored["v"] == 1:
            return start._from_batches(stored)
        return replace(
            start,
            begun=stored["begun"],
            done=_bits_from_json(stored["done"]),
            open={piece: Running(cell, int(bits, 16)) for piece, (cell, bits) in stored["open"].items()},
            failed={NodeName(node): why for node, why in stored["failed"].items()},
            stopped=stored["stopped"],
            pieces=stored["pieces"],
            older=frozenset(stored.get("older", ())),
            retried=stored.get("retried"),
        )

    def _from_batches(self, stored: Json) -> "StageState":
        """Return the state of version 1, whose runs had batches: planned again, ended, or ending its open items."""
        if not self.fixed or (stored["batch"] < 0 and not stored["open"]):
            return replace(self, fixed="")
        if (
            not stored["open"]
            and stored["stopped"] is None
            and stored["batch"] >= len(json.loads(self.fixed)["batches"])
        ):
            ended = StageSoftware(Flow(), Rules(), {}, {}, ("an earlier release ended the run",))
            return replace(self, fixed=ended.to_text(), begun=True)
        problem = self.problem or stored["stopped"] or _OLDER
        return replace(self, fixed="", problem=problem, older=frozenset(stored["open"]))

    @property
    def software(self) -> StageSoftware:
        """What the run works from; only of a state that is planned."""
        return StageSoftware.from_text(self.fixed)

    @property
    def execution(self) -> Execution:
        """The execution; only of a state that is planned."""
        software = self.software
        return Execution(software.flow, software.rules, self.done, self.open, self.failed, self.stopped, self.pieces)


_OLDER = "an earlier release began this run and ordered it in batches: retry the action to run its tasks again"


class TaskOnNodes(ByFields, Struct, frozen=True):
    """What a work item works from: one task on up to fifty nodes, under one marker. Outputs show no ``secrets``.

    ``before``: the state of the task on these nodes where an earlier item began it, as stored by ``TaskState``.
    ``own``: values of ``{NAME}`` that differ by node. ``first``: nodes that get their facts before it.
    ``noop``: the run only shows commands. ``connect_timeout``: seconds in which a node must take it, where the
    patience of the stage does not count. ``windows``: those in which it may begin, because a node begins with it.
    """

    OPTIONAL: ClassVar = frozenset({"secrets", "before", "own", "first", "noop", "connect_timeout", "windows"})

    task: TaskId
    document: Json
    marker: str
    hosts: tuple[Host, ...]
    secrets: tuple[str, ...] = ()
    before: Json | None = None
    own: Mapping[NodeName, Mapping[str, str]] = field(default_factory=dict)
    first: tuple[NodeName, ...] = ()
    noop: bool = False
    connect_timeout: int | None = None
    windows: ServerWindows | None = None

    @property
    def action(self) -> str:
        """The id of the action."""
        return self.marker.partition(".")[0]

    @property
    def key(self) -> tuple[str, NodeName]:
        """The key among work items with the same marker: they have other nodes."""
        return self.marker, self.hosts[0].name

    @property
    def remote(self) -> RemoteTask:
        """The task as nodes get it; of one that differs by node, as one of them does."""
        return self._remote(filled(self.document, next(iter(self.own.values()), {})))

    def _remote(self, document: Json) -> RemoteTask:
        task = (rehearsal if self.noop else remote_task)(document, secrets=self.secrets)
        return replace(task, connect_timeout=self.connect_timeout)

    def remote_with(self, facts: Mapping[NodeName, NodeFiles]) -> RemoteTask:
        """Return the task as nodes get it, each with its own values and facts."""
        shared, alone = self.remote, {*self.own, *facts}
        return replace(
            shared,
            by_node={
                node: replace(
                    self._remote(filled(self.document, self.own[node])) if node in self.own else shared,
                    facts=facts.get(node),
                )
                for node in alone
            },
        )


class TaskState(ByFields, Struct, frozen=True):
    """The status of a task on its nodes.

    ``waiting``: not known to have begun. ``running``: begun. ``failed``: why, by node. ``silent``: since when a node
    has not answered. ``began``: when the first node began.
    """

    STORED_VERSION: ClassVar = 1

    work: TaskOnNodes
    waiting: tuple[NodeName, ...]
    running: tuple[NodeName, ...] = ()
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    silent: Mapping[NodeName, datetime] = field(default_factory=dict)
    began: datetime | None = None

    @classmethod
    def of(cls, work: TaskOnNodes) -> "TaskState":
        """Return the state of a task that has not begun, or that an earlier item began."""
        state = cls(replace(work, before=None), tuple(host.name for host in work.hosts))
        return state if work.before is None else cls.from_json({**work.before, "work": state.work.to_json()})

    def blocked(self, now: datetime) -> Blocked | None:
        """Return the rule by which the nodes may not begin now, None if they may or have begun."""
        windows, begun = self.work.windows, self.began or self.running or self.silent
        return None if windows is None or begun else windows.blocked(now)

    def part(self, nodes: Collection[NodeName]) -> Json:
        """Return what an item goes on from that has the task on some of these nodes only; see ``TaskOnNodes``."""
        kept = replace(
            self,
            waiting=tuple(node for node in self.waiting if node in nodes),
            running=tuple(node for node in self.running if node in nodes),
            failed={},
            silent={node: since for node, since in self.silent.items() if node in nodes},
        )
        return {name: value for name, value in kept.to_json().items() if name != "work"}

    @property
    def parts(self) -> tuple[tuple[NodeName, ...], ...]:
        """The nodes that have not ended: those that answer, and those that are silent, which others do not wait for."""
        left = (*self.waiting, *self.running)
        answering = tuple(node for node in left if node not in self.silent)
        return tuple(part for part in (answering, tuple(node for node in left if node in self.silent)) if part)

    def hosts(self, nodes: tuple[NodeName, ...]) -> tuple[Host, ...]:
        """Return where these nodes are reached."""
        wanted = frozenset(nodes)
        return tuple(host for host in self.work.hosts if host.name in wanted)
