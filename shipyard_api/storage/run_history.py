"""What this database records of actions, as entries of a history of a run (docs/reference/history.md).

The journal is read while actions run, and each reading is an entry: a row that vanishes, or appears before another one
that was read, shows. The time of an entry is under ``at`` until ``written`` turns it into seconds.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

import sqlalchemy as sa

from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.holds import OVERRIDDEN
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.rollout.policy.windows import Windows, parse_window
from shipyard_api.domain.site_design import stored_strategy
from shipyard_api.domain.strategy.criteria import Criterion
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage import tables as t
from shipyard_api.storage.connections import outages
from shipyard_api.storage.histories import TOPIC
from shipyard_api.storage.journal import Journal

FORMAT, VERSION = "shipyard-history", 1
OBSERVER = "observer"
_POLL_SECONDS = 1.0

Entry = dict[str, object]
_OUTCOMES = {
    **dict.fromkeys(("success", "prepared", "ok"), "ok"),
    **dict.fromkeys(("failed", "failure", "refused", "timeout"), "fail"),
    "running": "invoke",
}


class RunHistory:
    """A history that grows with each reading of the journal.

    ``has_clock``: whether the database's clock is that of the run. Without it, only what an engine dated is recorded.
    """

    def __init__(self, engine: sa.Engine, *, has_clock: bool = True) -> None:
        self._engine, self._has_clock = engine, has_clock
        self._due = 0.0
        self._rows: list[Entry] = []
        self._settled = 0
        self._readings: list[Entry] = []

    def poll(self) -> None:
        """Read the journal if the last time is a second ago; an outage of the database is an entry."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _POLL_SECONDS
        try:
            with outages():
                self.read()
        except StoreUnavailable as error:
            failed: Entry = {"at": datetime.now(UTC), "operation": "reading", "process": OBSERVER, "type": "fail"}
            self._readings.append({**failed, "value": {"why": str(error)}})

    def read(self, at: datetime | None = None) -> None:
        """Read the journal as far as it is settled; ``at``: when, by default by the clock of the database."""
        with self._engine.connect() as connection:
            settled, lines = Journal(connection).ends().settled, t.journal.c
            ids = connection.scalars(sa.select(lines.id).where(lines.id <= settled).order_by(lines.id)).all()
            with_items = sa.select(t.work_items.c.action_id, t.work_items.c.step_id).distinct()
            items = {(row.action_id, row.step_id) for row in connection.execute(with_items)}
            new = sa.select(t.journal).where(lines.id > self._settled, lines.id <= settled).order_by(lines.id)
            rows = [_journal_entry(row, items) for row in connection.execute(new)]
            now = at or connection.execute(sa.select(sa.func.site_time())).scalar_one()
        # The API dates its rows by the clock of the database.
        self._rows += [row if self._has_clock or row["process"] != "api" else {**row, "at": now} for row in rows]
        self._settled = max(settled, self._settled)
        self._readings.append(reading("journal", ids, now))

    def entries(self) -> list[Entry]:
        """Return everything that was read, and what the other tables say now."""
        with self._engine.connect() as connection:
            of_tables = [*_actions(connection, self._begins())]
            if self._has_clock:
                of_tables += [*_controls(connection), *_holds(connection)]
        others = ("api", "database")
        found = dict.fromkeys(str(row["process"]) for row in self._rows if row["process"] not in others)
        names = {process: f"worker-{number}" for number, process in enumerate(found, 1)}
        rows = [{**row, "process": names.get(str(row["process"]), row["process"])} for row in self._rows]
        return [*of_tables, *rows, *self._readings]

    def design(self) -> Entry:
        """Return the ``design`` of the header: all nodes, and the groups of the first action that has some."""
        with self._engine.connect() as connection:
            names = sa.select(t.action_nodes.c.name).distinct().order_by(t.action_nodes.c.name)
            nodes = list(connection.scalars(names))
            first = sa.select(t.deployment_groups.c.action_id).order_by(t.deployment_groups.c.action_id).limit(1)
            action = connection.scalar(first)
            groups = _groups(connection, action) if action else []
        return {"groups": groups, "nodes": nodes, "phases": ["prepare", "deploy"]}

    def write(self, file: Path, header: Mapping[str, object], peers: Mapping[str, Sequence[Entry]]) -> None:
        """Read the journal once more, and write the history with the peers' own entries, which are complete."""
        self.read()
        entries = self.entries()
        for peer, own in peers.items():
            numbers = [number for entry in own if isinstance(number := entry.get("entry"), int)]
            entries += [*own, reading(peer, numbers, datetime.now(UTC))]
        unknown = {"commit": None, "seed": None, "design": self.design()}
        with file.open("w", encoding="utf-8") as written_file:
            began = min(map(_moment, entries))
            written_file.writelines(written({**unknown, **header}, began, entries))

    def _begins(self) -> Mapping[object, object]:
        """Return the time of the first journal row of each action."""
        return {row["action"]: row["at"] for row in reversed(self._rows)}


def reading(source: str, ids: Sequence[int], at: datetime) -> Entry:
    """Return the entry of a reading of a log: the numbers of its rows, in their order, such as ``1-7,9``."""
    runs = []
    for _, run in groupby(enumerate(ids), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        runs.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    value = {"ids": ",".join(runs), "source": source}
    return {"at": at, "operation": "reading", "process": OBSERVER, "type": "ok", "value": value}


def written(header: Mapping[str, object], began: datetime, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a history: the header, the entries in the order of time, and the end.

    ``began``: second 0. An older entry gets that time.
    """
    ordered = sorted(entries, key=_moment)
    yield _line({"format": FORMAT, "version": VERSION, "began": began.isoformat(), **header})
    seconds = 0.0
    for entry in ordered:
        seconds = max(0.0, round((_moment(entry) - began).total_seconds(), 6))
        yield _line({"time": seconds, **{key: value for key, value in entry.items() if key != "at" and value != []}})
    end = {
        "operation": "end",
        "process": OBSERVER,
        "time": seconds,
        "type": "info",
        "value": {"lines": len(ordered) + 2},
    }
    yield _line(end)


def _moment(entry: Entry) -> datetime:
    at = entry["at"]
    return at if isinstance(at, datetime) else datetime.fromisoformat(str(at))


def _line(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _journal_entry(row: "sa.Row[tuple[object, ...]]", items: set[tuple[str, str]]) -> Entry:
    """Return the entry of a journal row. Turns of work items count their own epochs, which no rule compares."""
    described = _described(row.kind, row.facts, row.step_id)
    value = {key: left for key, left in row.facts.items() if key not in ("nodes", "marker", "phase", "effect")}
    effect = row.facts.get("effect") or {}
    sent = effect.get("move", effect)
    value |= {key: sent[key] for key in ("group", "batch") if key in sent}
    value |= {"kind": row.kind, **({"step": row.step_id} if row.step_id else {})}
    epoch = {"epoch": row.epoch} if (row.action_id, row.step_id) not in items else {}
    known = {"at": row.at, "process": row.worker or "database", "action": row.action_id, "journal": row.id}
    return {**known, **epoch, **described, "value": value}


def _described(kind: str, fact: JsonObject, step: str | None) -> Entry:
    """Return operation, type and what else is known of a stored fact."""
    named = fact.get("nodes") or ([fact["node"]] if "node" in fact else [])
    nodes = named if isinstance(named, list) else []  # some facts count them
    shared: Entry = {"nodes": nodes, **({"phase": fact["phase"]} if "phase" in fact else {})}
    match kind:
        case "intended":
            return _intended(fact["effect"], fact["marker"], step)
        case PhaseStarted.kind | PhaseEnded.kind:
            outcome = _OUTCOMES.get(fact.get("status", ""), "info")
            return {**shared, "operation": fact["phase"], "type": outcome}
        case "nodes_changed" | "nodes_kept":
            return {**shared, "operation": "node", "type": _OUTCOMES.get(fact.get("status", "success"), "info")}
        case "group_changed":
            return {"operation": "group", "type": _OUTCOMES.get(fact["status"], "info")}
        case "teardown_changed":
            return {**shared, "operation": fact["operation"], "type": _OUTCOMES.get(fact["outcome"], "info")}
        case "step_started" | "step_ended":
            return {"operation": "step", "type": _OUTCOMES.get(fact.get("state", "running"), "info")}
        case "action_ended":
            return {"operation": "action", "type": _OUTCOMES.get(fact["state"], "info")}
        case "noted" if fact["kind"] == TOPIC:
            return {"operation": "restore", "process": "database", "type": "info"}
        case _:
            return {**shared, "operation": "journal", "type": "info"}


def _intended(effect: JsonObject, marker: str, step: str | None) -> Entry:
    """Return the begin of an effect: a move of nodes, a teardown of one, or whatever the step does."""
    move = effect.get("move", effect)
    of_nodes = effect.get("retry") or effect.get("power_cycle") or move.get("nodes")
    operation = move.get("phase") or effect.get("operation") or step
    if "move" in effect:
        operation = next(word for word in ("accept", "retry", "power_cycle") if word in effect)
    elif effect.get("service") and operation == "deploy":
        operation = "service"
    nodes = list(of_nodes or ([effect["node"]] if "node" in effect else []))
    group: Entry = {"phase": move["phase"]} if "phase" in move else {}
    return {"marker": marker, "nodes": nodes, "operation": operation, "type": "invoke", **group}


def _actions(connection: sa.Connection, begins: Mapping[object, object]) -> Iterator[Entry]:
    for row in connection.execute(sa.select(t.actions).order_by(t.actions.c.id)):
        value: Entry = {"name": row.name, "user": row.user_name, "groups": _groups(connection, row.id)}
        if overridden := row.inputs.get(OVERRIDDEN):
            value["overrides"] = list(overridden)
        at = begins.get(row.id, row.created_at)
        yield {"at": at, "process": "api", "operation": "action", "type": "invoke", "action": row.id, "value": value}
        yield from _windows(row.id, row.inputs, row.created_at, row.ended_at)


def _windows(action: str, inputs: JsonObject, began: datetime, ended: datetime | None) -> Iterator[Entry]:
    """Yield when the maintenance windows of an action open and close, up to its end; none that ``force`` has passed."""
    policy = inputs.get("policy") or {}
    opened = (policy.get("data", {}).get("windows") or {}).get("open", ())
    if not opened or policy.get("passed"):
        return
    entry: Entry = {"process": "clock", "operation": "window", "type": "info", "action": action}
    yield {**entry, "at": began, "value": {"open": False}}
    spans = Windows(tuple(map(parse_window, opened))).spans(began)
    for begin, end in spans:
        if begin > (ended or began + timedelta(days=1)):
            return
        yield {**entry, "at": max(begin, began), "value": {"open": True}}
        yield {**entry, "at": end, "value": {"open": False}}


def _groups(connection: sa.Connection, action: str) -> list[Entry]:
    """Return the deployment groups of an action, with their members and criteria."""
    inputs = connection.scalar(sa.select(t.actions.c.inputs).where(t.actions.c.id == action))
    criteria = {group.name: group.success_criteria for group in stored_strategy(inputs or {}).groups}
    nodes, groups = t.action_nodes.c, t.deployment_groups.c
    members = connection.execute(sa.select(nodes.name, nodes.groups).where(nodes.action_id == action)).all()
    of_action = sa.select(t.deployment_groups).where(groups.action_id == action)
    rows = connection.execute(of_action.order_by(groups.position))
    return [
        {
            "name": row.name,
            "critical": row.critical,
            "depends_on": list(row.depends_on),
            "nodes": sorted(name for name, of_node in members if row.name in of_node),
            "success_criteria": {
                criterion.value: wanted
                for criterion in Criterion
                if (wanted := getattr(criteria.get(row.name), criterion.value, None)) is not None
            },
        }
        for row in rows
    ]


def _controls(connection: sa.Connection) -> Iterator[Entry]:
    """Yield what operators asked of actions: a command is recorded once it was accepted."""
    asked = t.command_audit.c
    for row in connection.execute(sa.select(t.command_audit).where(asked.command != "invoke").order_by(asked.at)):
        known = {"at": row.at, "process": "operator", "action": row.action_id, "operation": row.command}
        yield {**known, "type": "ok", "value": {"user": row.user_name}}


def _holds(connection: sa.Connection) -> Iterator[Entry]:
    for row in connection.execute(sa.select(t.holds).order_by(t.holds.c.placed_at)):
        entry: Entry = {"process": "operator", "type": "ok", "nodes": [row.node]}
        value = {"id": row.id, "class": row.hold_class, "reason": row.reason, "user": row.placed_by}
        yield {**entry, "at": row.placed_at, "operation": "hold", "value": value}
        if ended := row.released_at or row.until:
            yield {**entry, "at": ended, "operation": "release", "value": {"id": row.id}}
