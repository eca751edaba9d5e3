"""The software of a node: its tasks, with its own values in them."""

from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.software import not_undone, software_digests
from shipyard_api.domain.task_graph.tasks import TaskId

A, B = TaskId("a"), TaskId("b")
N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def digests(tasks: dict[TaskId, list[NodeName]], address: str = "10.0.0.1", command: str = "x") -> dict[NodeName, str]:
    documents = {A: {"parameters": {"cmd": command}}, B: {"parameters": {"cmd": "ping {ADDRESS}"}}}
    keys = {"ADDRESS": address, "OTHER": address}
    return dict(software_digests(tasks, documents, lambda _: keys, lambda text: text.hex()))


def test_nodes_with_the_same_tasks_have_the_same_software() -> None:
    found = digests({A: [N1, N2, N3], B: [N1, N2]})
    assert found[N1] == found[N2] != found[N3]
    assert digests({B: [N2, N1], A: [N3, N2, N1]}) == found


def test_a_changed_task_is_other_software_where_it_runs_and_a_changed_value_where_it_is_used() -> None:
    tasks = {A: [N1, N3], B: [N1, N2]}
    before, other, moved = digests(tasks), digests(tasks, command="y"), digests(tasks, address="10.0.0.2")
    assert {node for node in before if before[node] != other[node]} == {N1, N3}
    assert {node for node in before if before[node] != moved[node]} == {N1, N2}


def test_nodes_that_are_asked_for_and_have_no_task_have_no_software() -> None:
    found = software_digests({A: [N1]}, {A: {}}, lambda _: {}, lambda text: text.hex(), [N1, N2])
    assert (bool(found[N1]), found[N2]) == (True, "")


def test_nothing_undoes_a_task_that_is_changed_or_removed() -> None:
    given = {N1: "x", N2: "x", N3: ""}
    for wanted in ({}, {N1: "x", N2: "x", N3: "y"}):  # nobody asked; first tasks
        assert not_undone(given, wanted) == ()
    (changed,) = not_undone(given, {N1: "y", N2: "x", N3: ""})
    assert (changed.level, changed.message.partition(". ")[0]) == (
        Level.INFO,
        "1 server(s) have run other tasks before: n1",
    )
    (gone,) = not_undone(given, {N1: "y", N2: "", N3: ""})
    assert (gone.level, gone.message.partition(". ")[0]) == (
        Level.WARNING,
        "2 server(s) have run other tasks before: n1, n2; 1 of them have no task any more",
    )
