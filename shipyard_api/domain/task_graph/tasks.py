"""Tasks as the document describes them (seed 001, Graph-based Task API; contract: fuel-task-graph, 1)."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NewType

from msgspec import Struct

from shipyard_api.domain.json_types import member, texts
from shipyard_api.domain.task_graph.conditions import Expression, parse_condition

TaskId = NewType("TaskId", str)
"""Id of a task, group or stage, unique within its graph."""

SCHEMA = "task_graph_v1"
"""The JSON schema that a document passes before it is checked and parsed."""

BY_TASK = (2, 0, 0)
"""From this version on, a task is ordered by its own dependencies instead of with its group (contract, 1.2)."""

WANTED_BY = "wanted_by"
"""The key of a task with the roles that want it by their metadata; ``Layer.tasks_of_run`` writes it."""

PRE, DEPLOY, POST = TaskId("pre_deployment"), TaskId("deploy"), TaskId("post_deployment")
STAGES = (PRE, DEPLOY, POST)
"""The stages of the seed. They exist without being declared as soon as a task names them."""


class Kind(Enum):
    """What an entry of the document is; the values are the words on the wire."""

    STAGE = "stage"
    GROUP = "group"
    PUPPET = "puppet"
    SHELL = "shell"
    UPLOAD_FILE = "upload_file"
    RSYNC = "rsync"
    SYNC = "sync"
    COPY_FILES = "copy_files"
    REBOOT = "reboot"
    SKIPPED = "skipped"

    __hash__ = object.__hash__


class Order(Enum):
    """How the nodes of a group follow each other; the values are the words on the wire."""

    ONE_BY_ONE = "one_by_one"
    PARALLEL = "parallel"


class Strategy(Struct, frozen=True):
    """``amount``: how many nodes run at once; None for all of them."""

    order: Order = Order.PARALLEL
    amount: int | None = None


class Domain(Enum):
    """Names that a selector is compared with."""

    ROLES = "roles"
    TAGS = "tags"

    __hash__ = object.__hash__


class Selector(Struct, frozen=True):
    """Nodes by their roles or tags: any of the names. A name may be ``/a regular expression/``.

    ``every``: all nodes that carry a role or a tag. Without names and ``every``, no node (contract, 2.1).
    """

    domain: Domain
    names: tuple[str, ...] = ()
    every: bool = False


EVERY_NODE = Selector(Domain.ROLES, every=True)


class Reach(Enum):
    """Special nodes of a relation."""

    SELF = "self"
    STAGES = "stages"


class Relation(Struct, frozen=True):
    """Tasks on other nodes (contract, 1.2). ``name``: a task id or an expression. ``any_node``: one node is enough."""

    name: str
    nodes: Selector | Reach
    any_node: bool = False


class Task(Struct, frozen=True):
    """One entry of the document.

    ``role``: nodes by role; None if not given. ``tags``: nodes by tag; it takes precedence over ``role`` and
    ``groups`` (seed 002). ``wanted_by``: further nodes, by roles whose metadata want it (seed 001). ``groups`` and
    the id lists may hold expressions. ``condition``: an expression, or a constant. ``by_task``: the task is ordered by
    its own dependencies, also across nodes, instead of with its group. ``computed``: its condition or
    its relations are an expression that Shipyard does not evaluate, so it never runs.
    """

    id: TaskId
    kind: Kind
    requires: tuple[str, ...] = ()
    required_for: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    role: Selector | None = None
    tags: Selector | None = None
    wanted_by: Selector | None = None
    tasks: tuple[str, ...] = ()
    stage: TaskId | None = None
    condition: Expression | bool = True
    strategy: Strategy = Strategy()
    depends: tuple[Relation, ...] = ()
    depended_by: tuple[Relation, ...] = ()
    by_task: bool = False
    fail_on_error: bool = True
    fault_tolerance: int | str | None = None
    computed: bool = False

    @property
    def runs(self) -> bool:
        """Whether the task does something on a node."""
        return self.kind not in (Kind.STAGE, Kind.GROUP, Kind.SKIPPED)


def parse_tasks(data: Iterable[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks of a document that passed its schema and ``check_tasks``, in the order of the document."""
    return tuple(_task(entry) for entry in data)


def names_of(value: Any) -> tuple[str, ...]:
    """Return a name or a list of names as a tuple; anything else has none. Repeated names count once."""
    if isinstance(value, str):
        return (value,)
    return tuple(dict.fromkeys(texts(value)))


def role_of(entry: Mapping[str, Any]) -> Any:
    """Return ``role`` or its later spelling ``roles``; None if neither is given."""
    return entry.get("role", entry.get("roles"))


def relations_of(entry: Mapping[str, Any], key: str) -> Any:
    """Return the relations under a key in either spelling: ``cross-depends`` and ``cross_depends``."""
    return entry.get(key, entry.get(key.replace("-", "_")))


def strategy_of(entry: Mapping[str, Any]) -> Any:
    """Return the strategy of a group or task: in its parameters, or at the top (seed 001, Alternatives)."""
    parameters = entry.get("parameters")
    inner = member(parameters, "strategy")
    return inner if inner is not None else entry.get("strategy")


def version_of(entry: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the version of a task, 1.0.0 by default."""
    return tuple(int(part) for part in entry.get("version", "1.0.0").split("."))


def is_computed(value: object) -> bool:
    """Return whether the value is an expression that Fuel computes on each node. Shipyard does not evaluate it."""
    return isinstance(value, Mapping) and "yaql_exp" in value


def _task(entry: Mapping[str, Any]) -> Task:
    written = [relations_of(entry, key) for key in ("cross-depends", "cross-depended-by")]
    depends, depended_by = map(_relations, written)
    condition = entry.get("condition", True)
    kind = Kind(entry["type"])
    stage = None if kind in (Kind.GROUP, Kind.STAGE) else entry.get("stage")
    role, tags = role_of(entry), entry.get("tags")
    return Task(
        id=TaskId(entry["id"]),
        kind=kind,
        requires=names_of(entry.get("requires")),
        required_for=names_of(entry.get("required_for")),
        groups=names_of(entry.get("groups")),
        role=None if role is None else _selector(Domain.ROLES, role),
        tags=None if tags is None else _selector(Domain.TAGS, tags),
        wanted_by=Selector(Domain.ROLES, names_of(entry[WANTED_BY])) if WANTED_BY in entry else None,
        tasks=names_of(entry.get("tasks")),
        stage=None if stage is None else TaskId(stage),
        condition=parse_condition(condition) if isinstance(condition, str) else condition is not False,
        strategy=_strategy(strategy_of(entry)),
        depends=depends,
        depended_by=depended_by,
        by_task=version_of(entry) >= BY_TASK or bool(depends or depended_by),
        fail_on_error=entry.get("fail_on_error", True),
        fault_tolerance=entry.get("fault_tolerance"),
        computed=any(map(is_computed, (condition, *written))),
    )


def _selector(domain: Domain, value: Any) -> Selector:
    return Selector(domain, every=True) if value == "*" else Selector(domain, names_of(value))


def _strategy(entry: Any) -> Strategy:
    """Return the strategy; a computed amount counts as 1, the most careful number."""
    if not isinstance(entry, Mapping):
        return Strategy()
    amount = entry.get("amount")
    return Strategy(Order(entry["type"]), 1 if is_computed(amount) else None if amount is None else int(amount))


def _relations(entries: Any) -> tuple[Relation, ...]:
    return tuple(_relation(entry) for entry in entries) if isinstance(entries, Sequence) else ()


def _relation(entry: Mapping[str, Any]) -> Relation:
    nodes: Selector | Reach
    if "tags" in entry:
        nodes = _selector(Domain.TAGS, entry["tags"])
    elif "role" not in entry:
        nodes = EVERY_NODE
    elif entry["role"] is None:
        nodes = Reach.STAGES
    elif entry["role"] == "self":
        nodes = Reach.SELF
    else:
        nodes = _selector(Domain.ROLES, entry["role"])
    return Relation(entry["name"], nodes, entry.get("policy") == "any")
