"""Task graphs: what is planned respects every edge, what cannot be is refused, and nothing but findings comes out."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shipyard_api.domain.findings import errors
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.conditions import ConditionError, Facts, is_true, parse_condition
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.patterns import PatternError, compile_pattern
from shipyard_api.domain.task_graph.plan import Plan
from shipyard_api.domain.task_graph.selection import Selection, select
from shipyard_api.domain.task_graph.tasks import parse_tasks
from tests.property.test_graphs import reachable
from tests.task_graphs import graph, group, stage, task
from tests.task_plans import attempt, node

TASKS = [f"t{number}" for number in range(6)]
GROUPS = ["x", "y", "z"]
STAGES = ["s0", "s1"]
IDS = [*TASKS, *GROUPS, *STAGES]
RELATIONS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(TASKS), "role": st.sampled_from([*GROUPS, "self", "*", "/.*/"])},
        optional={"policy": st.just("all")},
    ),
    max_size=1,
)


def some(names: list[str], most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


@st.composite
def documents(draw: st.DrawFn, *, forwards: bool = False) -> list[dict[str, Any]]:
    """Return a document. ``forwards``: every edge leads to a later entry, so that the graph has no cycle."""
    entries: list[dict[str, Any]] = []
    order = draw(st.permutations(IDS)) if forwards else IDS
    for position, name in enumerate(order):
        earlier = list(order[:position]) if forwards else IDS
        requires = draw(some(earlier, 3)) if earlier else []
        if name in STAGES:
            entries.append(stage(name, requires=requires))
        elif name in GROUPS:
            strategy = draw(st.sampled_from([("parallel", None), ("parallel", 2), ("one_by_one", None)]))
            entries.append(group(name, *strategy, requires=requires))
        else:
            later = [one for one in GROUPS if not forwards or one not in earlier]
            groups = draw(some(later)) if later else []
            fields: dict[str, Any] = (
                {"groups": groups} if groups else {"role": draw(st.sampled_from([["x"], ["y", "z"], "*"]))}
            )
            if draw(st.booleans()):
                fields["version"] = "2.0.0"
                fields["cross-depends"] = draw(RELATIONS)
            entries.append(task(name, requires=requires, **fields))
    return entries


SITES = st.lists(some(GROUPS), min_size=1, max_size=5).map(
    lambda roles: [node(f"n{number}", *names) for number, names in enumerate(roles)]
)


def pairs(made: TaskGraph) -> set[tuple[str, str]]:
    return {(one, later) for later, earlier in made.before.items() for one in earlier}


@given(documents())
def test_a_graph_is_accepted_exactly_when_it_has_no_cycle(entries: list[dict[str, Any]]) -> None:
    edges = {(name, entry["id"]) for entry in entries for field in ("requires",) for name in entry[field]}
    edges |= {(entry["id"], name) for entry in entries for name in entry.get("groups", [])}
    circular = any(name in reachable(edges, name) for name in IDS)

    found = [finding.name for finding in errors(check_tasks(entries))]

    assert set(found) == ({"TaskCycle"} if circular else set())


def times(made: Plan) -> dict[tuple[str, str], tuple[int, int]]:
    """Return when each task starts on each node: the batch, and the position in it."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for number, batch in enumerate(made.batches):
        assert sum(len(run.nodes) for run in batch.runs) == len({name for run in batch.runs for name in run.nodes})
        for run in batch.runs:
            for name, (position, one) in product(run.nodes, enumerate(run.tasks)):
                assert (one, name) not in found
                found[one, name] = (number, position)
    return found


def expected_edges(
    entries: list[dict[str, Any]], starts: dict[tuple[str, str], tuple[int, int]], roles: dict[str, list[str]]
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Return (earlier, later) over single nodes, each pair spelt out (contract, 3.3 and 3.5)."""
    by_id = {entry["id"]: entry for entry in entries}
    alone = {name for name, entry in by_id.items() if "version" not in entry and "groups" not in entry}
    for later, earlier in product(starts, starts):
        entry = by_id[later[0]]
        if earlier[0] in entry["requires"] and (later[1] == earlier[1] or later[0] in alone or earlier[0] in alone):
            yield earlier, later
        for relation in entry.get("cross-depends", []):
            if earlier[0] != relation["name"]:
                continue
            role = relation["role"]
            same = earlier[1] == later[1]
            if same if role == "self" else role in ("*", "/.*/") or role in roles[earlier[1]]:
                yield earlier, later
        if "version" not in entry:
            for inside, before in product(entry.get("groups", []), by_id[earlier[0]].get("groups", [])):
                others = set(entry.get("groups", [])) | set(by_id[earlier[0]].get("groups", []))
                single = len(entry["groups"]) == 1 and len(by_id[earlier[0]]["groups"]) == 1 and len(others) == 2
                if single and before in by_id[inside]["requires"] and before in roles[earlier[1]]:
                    yield earlier, later


@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(documents(forwards=True), SITES, st.sampled_from(IDS), st.sampled_from(IDS))
def test_a_plan_respects_every_edge_in_as_few_waves_as_can_be_and_a_selection_is_closed(
    entries: list[dict[str, Any]], nodes: list[Any], start: str, end: str
) -> None:
    judge_selection(TaskGraph.of(parse_tasks(entries)), start, end)
    made, findings = attempt(entries, nodes)
    if made is None:
        assert {finding.name for finding in findings} <= {"TaskOrderCycle", "TaskOrderConflict"}
    else:
        judge_order(made, entries, {one.name: list(one.roles) for one in nodes})
    judge_waves(entries, nodes)


def judge_selection(made: TaskGraph, start: str, end: str) -> None:
    edges = pairs(made)
    ended = select(made, Selection(end=end))
    started = select(made, Selection(start=start))

    assert all(one in ended for one, later in edges if later in ended)
    assert all(later in started for one, later in edges if one in started)
    assert started == {start} | reachable(edges, start)
    assert select(made, Selection(start=start, end=end)) == started & ended


def judge_order(made: Plan, entries: list[dict[str, Any]], roles: dict[str, list[str]]) -> None:
    """Every task runs once on each of its nodes, and after all that it needs."""
    starts = times(made)
    for entry in entries:
        if "parameters" in entry and entry["type"] == "shell":
            wanted = {
                name
                for name, names in roles.items()
                if (entry.get("role") == "*" and names) or set(names) & set(entry.get("groups", entry.get("role", [])))
            }
            assert {name for one, name in starts if one == entry["id"]} == wanted
    for earlier, later in expected_edges(entries, starts, roles):
        if earlier != later:
            assert starts[earlier] < starts[later], (earlier, later)


def judge_waves(entries: list[dict[str, Any]], nodes: list[Any]) -> None:
    """Without groups and relations, a task is in the first wave after all that must be done before it."""
    plain = [{key: value for key, value in one.items() if key not in ("version", "cross-depends")} for one in entries]
    for entry in plain:
        if "groups" in entry:
            entry["role"] = entry.pop("groups")
    made, _ = attempt(plain, nodes)
    assert made is not None
    waves = {run.unit: batch.wave for batch in made.batches for run in batch.runs}
    before = graph(*plain).before

    def longest(name: str) -> int:
        return max((longest(one) + (one in waves) for one in before[name]), default=0)  # type: ignore[index]  # a plain name

    assert waves == {name: longest(name) for name in waves}


def node_edges(entries: list[dict[str, Any]], roles: dict[str, list[str]]) -> set[tuple[str, str]]:
    """Return (earlier, later) over tasks on single nodes, for tasks of version 2 without groups and stages."""
    places = {
        entry["id"]: [name for name, names in roles.items() if set(names) & set(entry["role"])] for entry in entries
    }
    found = set()
    for entry in entries:
        for here in places[entry["id"]]:
            later = f"{entry['id']} on {here}"
            found |= {(f"{one} on {here}", later) for one in entry["requires"] if here in places[one]}
            for relation in entry["cross-depends"]:
                for there in places[relation["name"]]:
                    wanted = here == there if relation["role"] == "self" else relation["role"] in roles[there]
                    if wanted and (relation["name"], there) != (entry["id"], here):
                        found.add((f"{relation['name']} on {there}", later))
    return found


CROSSING = st.lists(
    st.fixed_dictionaries(
        {
            "requires": some(TASKS),
            "role": some(GROUPS),
            "cross-depends": st.lists(
                st.fixed_dictionaries({"name": st.sampled_from(TASKS), "role": st.sampled_from([*GROUPS, "self"])}),
                max_size=2,
            ),
        }
    ),
    min_size=len(TASKS),
    max_size=len(TASKS),
).map(
    lambda fields: [
        # Plain requirements lead forwards, so that only relations across nodes can close a cycle.
        task(name, version="2.0.0", **{**one, "requires": [earlier for earlier in one["requires"] if earlier < name]})
        for name, one in zip(TASKS, fields, strict=True)
    ]
)


@given(CROSSING, SITES)
def test_a_plan_exists_exactly_when_no_task_on_a_node_waits_for_itself(
    entries: list[dict[str, Any]], nodes: list[Any]
) -> None:
    edges = node_edges(entries, {one.name: list(one.roles) for one in nodes})
    circular = any(one in reachable(edges, one) for one, _ in edges)

    made, _ = attempt(entries, nodes)

    assert (made is None) == circular
    if made is not None:
        starts = {f"{one} on {name}": when for (one, name), when in times(made).items()}
        assert all(starts[earlier] < starts[later] for earlier, later in edges)


WORDS = [
    "settings:a.b",
    "cluster:",
    "api.nodes_count()",
    "api.cluster_status",
    "and",
    "or",
    "not",
    "in",
    "==",
    "!=",
    "<",
    ">",
    "(",
    ")",
    "'x'",
    '"',
    "1",
    "true",
    "null",
    " ",
]


@given(st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_no_text_breaks_the_parser_of_conditions(text: str) -> None:
    try:
        parsed = parse_condition(text)
        is_true(parsed, Facts({"settings": {"a": {"b": ["x", 1]}}}, nodes_count=3))
    except ConditionError as refused:
        assert str(refused)  # noqa: PT017  # either outcome is fine, another exception is not


@given(st.text(max_size=20) | st.text("ab|()*+?[]^-$.\\", max_size=20), st.text("ab-", max_size=12))
def test_no_text_breaks_the_compiler_of_expressions(text: str, name: str) -> None:
    try:
        compile_pattern(f"/{text}/").matches(name)
    except PatternError as refused:
        assert str(refused)  # noqa: PT017  # either outcome is fine, another exception is not


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["a", "b", "/a/", "/(/", "group"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "id",
    "type",
    "requires",
    "required_for",
    "groups",
    "role",
    "tags",
    "tasks",
    "stage",
    "condition",
    "strategy",
    "fault_tolerance",
    "cross-depends",
    "cross_depended_by",
    "parameters",
]
malformed = st.builds(
    lambda fields, known: {**known, **fields},
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=6),
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b"]), "type": st.sampled_from(["group", "stage", "shell", "upload_file"])}
    ),
)


@given(values | st.lists(malformed | values, max_size=4))
def test_no_value_of_any_shape_breaks_the_check(value: object) -> None:
    for finding in check_tasks(value):
        assert finding.message
        assert finding.path == "" or finding.path.startswith("/")
