"""Check a task document beyond its JSON schema (contract: fuel-task-graph, 3.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents.paths import pointer
from shipyard_api.domain.findings import Finding, error, hidden_character, in_short, warning
from shipyard_api.domain.graphs import find_cycles
from shipyard_api.domain.json_types import member
from shipyard_api.domain.task_graph.commands import check_command, has_key
from shipyard_api.domain.task_graph.conditions import ConditionError, parse_condition
from shipyard_api.domain.task_graph.execution import ToleranceError, nodes_that_may_fail
from shipyard_api.domain.task_graph.graph import References, TooMuchMatching, cycle_text, edges, stage_name, with_stages
from shipyard_api.domain.task_graph.patterns import PatternError, compile_pattern, is_pattern
from shipyard_api.domain.task_graph.tasks import (
    Kind,
    Task,
    TaskId,
    is_computed,
    names_of,
    relations_of,
    role_of,
    strategy_of,
)

MOST_REFERENCES = 200_000

RESERVED = frozenset({"*", "self", "master"})
"""Names of nodes; no task has one (schema: task_graph_v1)."""

# A suggestion costs a comparison with every id. Only the first few unknown names get one.
_SUGGESTIONS = 10
_EXAMPLES = 5

# Fields that mean nothing on some kinds of entries.
_ONLY_TASKS = (
    "condition",
    "groups",
    "cross-depends",
    "cross_depends",
    "cross-depended-by",
    "cross_depended_by",
    "stage",
)
_ONLY_GROUPS = ("tasks", "fault_tolerance")
_ID_LISTS = ("requires", "required_for", "tasks")
_KINDS = {kind.value: kind for kind in Kind}
_DESTINATIONS = {Kind.UPLOAD_FILE: "path", Kind.RSYNC: "dst", Kind.SYNC: "dst"}


class _Entry(Struct, frozen=True):
    """A well-formed entry of the document; the schema reports the others."""

    position: int
    data: Mapping[str, Any]
    task: Task

    def path(self, *steps: str | int) -> str:
        return pointer([self.position, *steps])


class _Reference(Struct, frozen=True):
    """A name in a list of ids: its possible meanings, and its place."""

    entry: _Entry
    field: str
    name: str
    path: str


class _Name(Struct, frozen=True):
    """A name that may be an expression, and its place."""

    name: str
    entry: _Entry
    path: str


def check_tasks(data: object, *, complete: bool = True) -> tuple[Finding, ...]:
    """Return all findings that the JSON schema of a task document cannot express; they never raise.

    ``complete``: whether the document is a whole graph. A part of one may refer to tasks that it does not hold; they
    are checked after the merge.
    """
    entries = _well_formed(data)
    tasks = with_stages(entry.task for entry in entries)
    findings = [*_duplicates(entries)]
    for entry in entries:
        findings += _fields(entry)
    references = [reference for entry in entries for reference in _references(entry)]
    written = list(_names(entries, references))
    findings += _hidden_characters(entries, written)
    too_large = _too_large(tasks, written, references)
    if too_large:
        return (*findings, too_large)
    broken = list(_broken_patterns(written))
    findings += broken
    if not broken:
        index = References(tasks)
        try:
            for reference in references:
                index.find(reference.name)
        except TooMuchMatching:
            message = (
                "The regular expressions of the graph take too long to match with its ids: write fewer or simpler ones."
            )
            return (*findings, error("TaskGraphTooLarge", message))
        findings += _unknown(tasks, references, index, complete=complete)
        findings += _relations(entries, tasks, index)
        findings += _cycles(entries, tasks, index)
    return (*findings, *_commands(entries, findings), *_computed(entries))


def _well_formed(data: object) -> list[_Entry]:
    return [
        _Entry(position, entry, _task(entry))
        for position, entry in enumerate(data if isinstance(data, list) else [])
        if isinstance(entry, Mapping)
        and isinstance(entry.get("id"), str)
        and isinstance(entry.get("type"), str)
        and entry["type"] in _KINDS
    ]


def _task(entry: Mapping[str, Any]) -> Task:
    """Return what matters for the graph, whatever the rest looks like."""
    lists = {field: written if isinstance(written := entry.get(field), list) else [] for field in _ID_LISTS}
    kind = _KINDS[entry["type"]]
    stage = entry.get("stage")
    return Task(
        TaskId(entry["id"]),
        kind,
        requires=names_of(lists["requires"]),
        required_for=names_of(lists["required_for"]),
        groups=names_of(entry.get("groups")),
        tasks=names_of(lists["tasks"]),
        stage=TaskId(stage) if isinstance(stage, str) and kind not in (Kind.GROUP, Kind.STAGE) else None,
    )


def _duplicates(entries: Iterable[_Entry]) -> Iterator[Finding]:
    first: dict[TaskId, int] = {}
    for entry in entries:
        name = stage_name(entry.task.id, first.keys()) if entry.task.kind is Kind.STAGE else entry.task.id
        if name in first:
            same = "" if name == entry.task.id else f", the same stage as '{name}'"
            yield error(
                "DuplicateTask",
                f"Two tasks have the id '{entry.task.id}'{same} (entries {first[name]} and {entry.position}); "
                "ids are unique.",
                path=entry.path("id"),
            )
        else:
            first[name] = entry.position


def _fields(entry: _Entry) -> Iterator[Finding]:
    data, task = entry.data, entry.task
    condition = data.get("condition")
    if isinstance(condition, str):
        try:
            parse_condition(condition)
        except ConditionError as invalid:
            message = f"The condition of task '{task.id}' cannot be read: {invalid}."
            yield error("InvalidCondition", message, path=entry.path("condition"))
    tolerance = data.get("fault_tolerance")
    if isinstance(tolerance, (int, str)):
        try:
            nodes_that_may_fail(tolerance, 0)
        except ToleranceError as invalid:
            message = f"The fault tolerance of '{task.id}' cannot be used: {invalid}."
            yield error("InvalidFaultTolerance", message, path=entry.path("fault_tolerance"))
    is_task = task.kind not in (Kind.GROUP, Kind.STAGE)
    for field in _ONLY_GROUPS if is_task else (*_ONLY_TASKS, *(() if task.kind is Kind.GROUP else _ONLY_GROUPS)):
        if field in data:
            message = f"'{field}' has no effect on '{task.id}', a {task.kind.value}."
            yield warning("FieldWithoutEffect", message, path=entry.path(field))
    if is_task and "tags" not in data and task.groups and role_of(data) is not None:
        message = (
            f"Task '{task.id}' has groups and a role. Its groups decide where it runs, and the role has no effect."
        )
        yield warning("FieldWithoutEffect", message, path=entry.path("role" if "role" in data else "roles"))
    yield from _parameters(entry)


def _parameters(entry: _Entry) -> Iterator[Finding]:
    given = entry.data.get("parameters")
    parameters = given if isinstance(given, Mapping) else {}
    kind = entry.task.kind
    if kind is Kind.UPLOAD_FILE:
        for name in ("path", "data"):
            if name not in parameters:
                message = f"Task '{entry.task.id}' has no parameter '{name}': it fails unless the run supplies it."
                yield warning("MissingParameter", message, path=entry.path("parameters"))
    destinations: list[tuple[tuple[str | int, ...], object]]
    destinations = [((_DESTINATIONS[kind],), parameters.get(_DESTINATIONS[kind]))] if kind in _DESTINATIONS else []
    files = parameters.get("files")
    if kind is Kind.COPY_FILES and isinstance(files, list):
        destinations += [
            (("files", number, "dst"), file.get("dst"))
            for number, file in enumerate(files)
            if isinstance(file, Mapping)
        ]
    for steps, value in destinations:
        if isinstance(value, str) and not _is_safe(value):
            message = f"Task '{entry.task.id}' writes to a path that is not absolute, or that has '..' in it."
            yield error("UnsafePath", message, path=entry.path("parameters", *steps))


def _commands(entries: Iterable[_Entry], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Return the parameters that a run would refuse for any keys: present, and unusable.

    Those that a run may supply, that Fuel computes, or that hold a ``{KEY}`` are checked when their values are known.
    """
    known = {finding.path for finding in findings}
    for entry in entries:
        if entry.task.kind in (Kind.GROUP, Kind.STAGE, Kind.SKIPPED):
            continue
        for fault in check_command(entry.data):
            value: object = entry.data
            for step in fault.path.split("/")[1:]:
                if isinstance(value, Mapping):
                    value = value.get(step)
                elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                    value = value[int(step)]
                else:
                    value = None
            is_fixed = isinstance(value, (int, float)) or (isinstance(value, str) and not has_key(value))
            path = f"{entry.path()}{fault.path}"
            if is_fixed and path not in known:
                yield replace(fault, path=path)


def _is_safe(path: str) -> bool:
    return path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _references(entry: _Entry) -> Iterator[_Reference]:
    keys = {Kind.GROUP: ("tasks",), Kind.STAGE: ()}.get(entry.task.kind, ("groups",))
    for field in ("requires", "required_for", *keys):
        written = entry.data.get(field)
        if isinstance(written, str) and field == "groups":
            yield _Reference(entry, field, written, entry.path(field))
        elif isinstance(written, list):
            for position, name in enumerate(written):
                if isinstance(name, str):
                    yield _Reference(entry, field, name, entry.path(field, position))
    if entry.task.stage is not None:
        yield _Reference(entry, "stage", entry.task.stage, entry.path("stage"))


def _names(entries: Iterable[_Entry], references: Iterable[_Reference]) -> Iterator[_Name]:
    """Return every name in the document that may be an expression."""
    for reference in references:
        yield _Name(reference.name, reference.entry, reference.path)
    for entry in entries:
        for field in ("role", "roles", "tags"):
            for name in names_of(entry.data.get(field)):
                yield _Name(name, entry, entry.path(field))
        for _, relation, path in _written_relations(entry):
            named = relation.get("name")
            names = (named,) if isinstance(named, str) else ()
            for name in (*names, *names_of(relation.get("role")), *names_of(relation.get("tags"))):
                yield _Name(name, entry, path)


def _hidden_characters(entries: Iterable[_Entry], written: Iterable[_Name]) -> Iterator[Finding]:
    ids = (_Name(entry.task.id, entry, entry.path("id")) for entry in entries)
    for mention in (*ids, *written):
        if code := hidden_character(mention.name):
            message = f"The name {mention.name!a} has the character {code}, which is not shown: write it without."
            yield error("HiddenCharacter", message, path=mention.path)


def _broken_patterns(written: Iterable[_Name]) -> Iterator[Finding]:
    reasons: dict[str, str] = {}
    for mention in written:
        if is_pattern(mention.name) and mention.name not in reasons:
            try:
                compile_pattern(mention.name)
                reasons[mention.name] = ""
            except PatternError as invalid:
                reasons[mention.name] = str(invalid)
        if reasons.get(mention.name):
            message = (
                f"Task '{mention.entry.task.id}' has a regular expression that cannot be used: {reasons[mention.name]}."
            )
            yield error("InvalidPattern", message, path=mention.path)


def _too_large(
    tasks: Mapping[TaskId, Task], names: Sequence[_Name], references: Iterable[_Reference]
) -> Finding | None:
    """Return a finding if checking or planning the graph would take too long."""
    patterns = {mention.name for mention in names if is_pattern(mention.name)}
    # An expression may mean every id.
    count = len(names) + sum(len(tasks) for reference in references if reference.name in patterns)
    if count > MOST_REFERENCES:
        return error("TaskGraphTooLarge", f"The graph has more than {MOST_REFERENCES:,} references.")
    return None


_MEANT = {"groups": (Kind.GROUP,), "stage": (Kind.STAGE,)}


def _unknown(
    tasks: Mapping[TaskId, Task], references: Iterable[_Reference], index: References, *, complete: bool
) -> Iterator[Finding]:
    unknown = 0
    for reference in references:
        meant = index.find(reference.name)
        task = reference.entry.task.id
        if reference.field in ("groups", "stage", "tasks"):
            kinds = _MEANT.get(reference.field, tuple(kind for kind in Kind if kind not in (Kind.GROUP, Kind.STAGE)))
            of_kind = [other for other in meant if tasks[other].kind in kinds]
            if meant and not of_kind:
                wanted = {"groups": "group", "stage": "stage"}.get(reference.field, "task")
                message = f"Task '{task}' names '{reference.name}' in {reference.field}, which is not a {wanted}."
                # Real graphs name tasks among the groups, after a component became a tag.
                if reference.field == "groups":
                    yield warning("WrongReference", f"{message} It has no effect.", path=reference.path)
                else:
                    yield error("WrongReference", message, path=reference.path)
                continue
        if not meant and complete:
            is_reserved = reference.name in RESERVED
            close = get_close_matches(reference.name, tasks, n=1) if unknown < _SUGGESTIONS and not is_reserved else []
            hint = f" Did you mean '{close[0]}'?" if close else " The name stands for nodes." if is_reserved else ""
            message = f"Task '{task}' names '{reference.name}' in {reference.field}, which is not in this graph.{hint}"
            yield error("UnknownTask", message, path=reference.path)
            unknown += 1


def _relations(entries: Iterable[_Entry], tasks: Mapping[TaskId, Task], index: References) -> Iterator[Finding]:
    for entry in entries:
        for key, relation, path in _written_relations(entry):
            name = relation.get("name")
            if isinstance(name, str) and all(tasks[member].kind is Kind.GROUP for member in index.find(name)):
                wrong = "a group, not a task" if index.find(name) else "not in this graph"
                message = f"Task '{entry.task.id}' names '{name}' in {key}, which is {wrong}. It has no effect."
                yield warning("UnknownCrossTask", message, path=path)


def _written_relations(entry: _Entry) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for key in ("cross-depends", "cross-depended-by"):
        relations = relations_of(entry.data, key)
        written = key if key in entry.data else key.replace("-", "_")
        for position, relation in enumerate(relations if isinstance(relations, list) else []):
            if isinstance(relation, Mapping):
                yield key, relation, entry.path(written, position)


def _cycles(entries: Iterable[_Entry], tasks: Mapping[TaskId, Task], index: References) -> Iterator[Finding]:
    positions = {entry.task.id: entry.position for entry in reversed(list(entries))}
    before = edges(tasks.values(), index)
    for cycle in find_cycles(before):
        # Dependencies point backwards in time; people read them forwards.
        path = tuple(reversed(cycle))
        after = next((task for task in path if task in positions), None)
        step = before[path[1]].get(path[0], "")
        yield error(
            "TaskCycle",
            f"Tasks wait for each other: {cycle_text(path)}.",
            path=pointer([positions[after]]) if after is not None else "",
            diagnostic=f"The first step comes from {step} of these two tasks." if step else "",
        )


def _computed(entries: Iterable[_Entry]) -> Iterator[Finding]:
    """Return one warning for each kind of value that Fuel computes and Shipyard does not."""
    by_kind: dict[str, list[str]] = {"condition": [], "strategy": [], "cross-depends": [], "cross-depended-by": []}
    for entry in entries:
        strategy = strategy_of(entry.data)
        values = {
            "condition": entry.data.get("condition"),
            "strategy": member(strategy, "amount"),
            "cross-depends": relations_of(entry.data, "cross-depends"),
            "cross-depended-by": relations_of(entry.data, "cross-depended-by"),
        }
        for field, value in values.items():
            if is_computed(value):
                by_kind[field].append(entry.task.id)
    effects = {
        "condition": "so these tasks do not run",
        "strategy": "and counts as an amount of 1",
        "cross-depends": "so these tasks do not run",
        "cross-depended-by": "so these tasks do not run",
    }
    for field, tasks in by_kind.items():
        if tasks:
            message = f"yaql_exp in {field} is not evaluated, {effects[field]}: {in_short(tasks, _EXAMPLES)}."
            yield warning("ComputedValue", message)
