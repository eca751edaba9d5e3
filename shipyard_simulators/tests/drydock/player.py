"""Stories of Drydock's API, written from its contract: the steps beside requests, and the time of a story.

The design ``file:site.yaml`` has the nodes n1, n2 and n3. A path may name the newest task ``<task>``. A request may
have a ``token``, another ``type``, and a ``raw`` body, byte for byte; without an answer its status is 0. A task or
subtask is told by its result and its nodes: ``partial_success +n1 -n2``. The other steps:

- ``design``: writes a design, of ``nodes`` (their names, or the metadata of each), of ``documents``, or any ``text``
- ``start``: creates a task; the action, then the names of nodes (none: no filter); ``with``: other members of the body
- ``run``: the same, and lets time pass until the task is complete, or nothing more happens
- ``scenario``: replaces the scenario
- ``pass``: lets this many seconds pass
- ``tree``: the subtasks of a task with theirs; ``x3``: three in a row that are told alike
- ``select``: the sorted names that a node filter selects from the design, or the title of the error
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from math import inf
from pathlib import Path
from threading import Condition, Event
from types import MappingProxyType
from typing import Any

import requests
import yaml

from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.recorded import Answer, Step
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock

DESIGN = "file:site.yaml"


class StoryClock(VirtualClock):
    """The time of a simulator, from that of the contract's example. Its thread takes part, and costs no real time."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = self._end = datetime(2026, 3, 2, 9, 14, 51, tzinfo=UTC).timestamp()
        self._due, self._waits = inf, Event()

    def wait(self, changed: Condition, seconds: float | None) -> None:
        due = inf if seconds is None else self.moment + seconds
        self.moment = min(due, self._end)
        if due > self._end:
            self._changed, self._due = changed, due
            self._waits.set()
            changed.wait()

    def passes(self, seconds: float) -> None:
        self._thread_waits()
        with self._changed:
            self._end += seconds
            self._waits.clear()
            self._changed.notify_all()
        self._thread_waits()

    def goes_on(self) -> bool:
        """Move on to when something is due in the thread; return whether anything is."""
        if self._due == inf:
            return False
        self.passes(self._due - self.moment)
        return True

    def _thread_waits(self) -> None:
        assert self._waits.wait(PATIENCE), "the thread of the simulator does not wait"


class DrydockPlayer:
    """Plays stories to a simulated Drydock, with its designs in the working directory."""

    unordered = ()
    hidden = MappingProxyType({})

    def __init__(self, url: str, clock: StoryClock) -> None:
        self.url, self._clock, self._task = url, clock, ""
        _write_design("site.yaml", {"nodes": "n1 n2 n3"})

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        content = step["raw"].encode("latin-1") if "raw" in step else None if body is None else json.dumps(body)
        kind = None if content is None else step.get("type", "application/json")
        headers = {"Content-Type": kind, "X-Auth-Token": step.get("token")}
        above = "" if path.startswith(("/simulator", "/versions")) else "/api/v1.0"
        url = f"{self.url}{above}{path.replace('<task>', self._task)}"
        try:
            answer = HTTP.request(method, url, data=content, headers=headers)
        except requests.ConnectionError:
            return Answer(0, {}, "")
        if method != "GET":
            self._clock.passes(0)  # for what is due at once
        if path == "/tasks" and answer.status_code == 201:
            self._task = answer.json()["task_id"]
        is_text = answer.text and answer.headers["Content-Type"] != "application/json"
        return Answer(answer.status_code, answer.headers, json.dumps(answer.text) if is_text else answer.text)

    def act(self, step: Step) -> Any:
        """Carry out a step that is no request."""
        if "design" in step:
            return _write_design(step["design"], step)
        if "scenario" in step:
            assert self.ask("POST", "/simulator/scenario", None, {"raw": step["scenario"]}).status == 200
            return None
        if "pass" in step:
            return self._clock.passes(step["pass"])
        if "tree" in step:
            tree = self._read("/tasks/<task>?layers=-1")
            return _below(tree, tree[self._task])
        if "select" in step:
            answer = self.ask("POST", "/nodefilter", {"design_ref": DESIGN, "node_filter": step["select"]}, step)
            told = json.loads(answer.text)
            return sorted(told) if answer.status == 200 else told["title"]
        self._start(step.get("start") or step["run"], step.get("with", {}))
        if "start" in step:
            return None
        while self._read("/tasks/<task>")["status"] != "complete" and self._clock.goes_on():
            pass
        return _outcome(self._read("/tasks/<task>")) + self._duration()

    def told(self, _status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded: the text of one in Drydock's own form is its ``fault``."""
        if isinstance(body, dict) and body == {"type": "error", "message": body.get("message"), "retry": False}:
            return {"fault": body["message"]}
        return {"body": body}

    def _start(self, words: str, fields: dict[str, Any]) -> None:
        action, *names = words.split()
        by_name = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": names}]}
        body = {"action": action, "design_ref": DESIGN, "node_filter": by_name if names else None, **fields}
        assert self.ask("POST", "/tasks", body, {}).status == 201

    def _duration(self) -> str:
        (task,) = [each for each in self._read("/simulator/tasks") if each["task_id"] == self._task]
        if task["ended"] is None:
            return ""
        started, ended = (datetime.fromisoformat(task[each]) for each in ("started", "ended"))
        return f" in {(ended - started).total_seconds():g} s"

    def _read(self, path: str) -> Any:
        return json.loads(self.ask("GET", path, None, {}).text)


def _outcome(task: Mapping[str, Any]) -> str:
    result = task["result"]
    names = [*(f"+{name}" for name in result["successes"]), *(f"-{name}" for name in result["failures"])]
    return " ".join([result["status"], *names])


def _below(tree: Mapping[str, Any], task: Mapping[str, Any]) -> list[Any]:
    told = []
    for subtask in (tree[each] for each in task["subtask_id_list"]):
        line, below = f"{subtask['action']} {_outcome(subtask)}", _below(tree, subtask)
        told.append({line: below} if below else line)
    alike = ((each, len(list(run))) for each, run in groupby(told))
    return [each if count == 1 else f"{each} x{count}" for each, count in alike]


def _write_design(name: str, step: Step) -> None:
    nodes = step.get("nodes", "")
    metadata = nodes if isinstance(nodes, dict) else {each: {} for each in nodes.split()}
    documents = [
        {"schema": "drydock/BaremetalNode/v1", "metadata": {"name": each}, "data": {"metadata": data}}
        for each, data in metadata.items()
    ]
    Path(name).write_text(step.get("text") or yaml.safe_dump_all(step.get("documents", documents)))
