"""A right history, made by hand: a site of three groups, of which one node fails, an operator who holds and stops."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Line = dict[str, Any]

GROUPS = [
    {
        "name": "control",
        "critical": True,
        "depends_on": [],
        "nodes": ["n1", "n2"],
        "success_criteria": {"percent_successful_nodes": 100},
    },
    {
        "name": "compute",
        "critical": False,
        "depends_on": ["control"],
        "nodes": ["n3", "n4"],
        "success_criteria": {"minimum_successful_nodes": 1, "percent_successful_nodes": 50, "maximum_failed_nodes": 1},
    },
    {"name": "edge", "critical": False, "depends_on": ["compute"], "nodes": ["n5"], "success_criteria": {}},
]
HEADER: Mapping[str, Any] = {
    "format": "shipyard-history",
    "version": 1,
    "made_by": "hand",
    "settle": 1.0,
    "design": {"nodes": ["n1", "n2", "n3", "n4", "n5"], "groups": GROUPS, "phases": ["prepare", "deploy"]},
}


class Made:
    """Entries in the order in which they are made, a second apart; rows of each log are numbered."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.rows: dict[str, int] = {}

    def add(self, process: str, operation: str, kind: str, **fields: Any) -> Line:
        self.lines.append({"process": process, "operation": operation, "type": kind, **fields})
        self.lines[-1]["time"] = float(len(self.lines))
        return self.lines[-1]

    def row(self, operation: str, kind: str, *, epoch: int = 1, **fields: Any) -> Line:
        """Add a row of the journal."""
        return self.add("worker-1", operation, kind, action="A", epoch=epoch, journal=self._next("journal"), **fields)

    def peer(self, operation: str, kind: str, node: str) -> Line:
        """Add a line of the peer's log."""
        effect = {"effect": True} if kind == "invoke" else {}
        return self.add("maas", operation, kind, nodes=[node], entry=self._next("maas"), **effect)

    def read(self, source: str) -> Line:
        """Add a reading of a whole log."""
        last = self.rows.get(source, 0)
        return self.add("observer", "reading", "ok", value={"source": source, "ids": f"1-{last}" if last else ""})

    def phase(self, operation: str, nodes: Sequence[str], *, failing: str = "", epoch: int = 1) -> None:
        """Add a phase of some nodes: the intent, the peer's work and its ends, and what becomes of the nodes."""
        marker = f"{operation} {' '.join(nodes)}"
        self.row(operation, "invoke", epoch=epoch, nodes=list(nodes), marker=marker, value={"attempt": 1})
        for node in nodes:
            self.peer(operation, "invoke", node)
        for node in nodes:
            self.peer(operation, "fail" if node == failing else "ok", node)
        status = {"prepare": "prepared", "deploy": "success"}[operation]
        good = [node for node in nodes if node != failing]
        self.row("node", "ok", epoch=epoch, nodes=good, value={"status": status})
        if failing:
            self.row("node", "fail", epoch=epoch, nodes=[failing], value={"status": "failure"})
        self.read("journal")

    def _next(self, source: str) -> int:
        self.rows[source] = self.rows.get(source, 0) + 1
        return self.rows[source]


def right() -> Made:
    """Return a history in which every rule holds, and most have something to compare."""
    made = Made()
    made.add("api", "action", "invoke", action="A", value={"name": "deploy_site"})
    made.add("clock", "window", "info", action="A", value={"open": True})
    made.add("operator", "hold", "ok", nodes=["n1"], value={"id": "H", "class": "no_teardown"})
    made.add("operator", "hold", "ok", nodes=["n5"], value={"id": "I", "class": "all"})
    made.read("journal")
    made.phase("prepare", ["n1", "n2"])
    made.phase("deploy", ["n1", "n2"], epoch=2)
    made.row("group", "ok", epoch=2, value={"group": "control", "status": "success"})
    made.phase("prepare", ["n3", "n4"], failing="n4", epoch=3)
    made.phase("deploy", ["n3"], epoch=4)
    made.row("group", "ok", epoch=4, value={"group": "compute", "status": "success"})
    made.add("clock", "window", "info", action="A", value={"open": False})
    made.add("operator", "stop", "ok", action="A")
    made.row("group", "fail", epoch=5, value={"group": "edge", "status": "failed", "reason": "stopped"})
    made.row("action", "fail", epoch=5, value={"state": "failed"})
    made.read("journal")
    made.read("maas")
    return made


def text(lines: Sequence[Line], header: Mapping[str, Any] = HEADER) -> str:
    """Return the file of these entries, with its end. A field that is None is left out."""
    kept = [{key: value for key, value in one.items() if value is not None} for one in lines]
    last = lines[-1]["time"] if lines else 0
    end = {"process": "observer", "operation": "end", "type": "info", "time": last, "value": {"lines": len(lines) + 2}}
    return "".join(json.dumps(one) + "\n" for one in (header, *kept, end))
