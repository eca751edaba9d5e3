"""Node objects, read as the port wants them."""

from typing import Any

from shipyard_api.adapters.kubernetes.translate import LONGEST_WHY, readiness
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.observing.scrubbing import Scrubber
from tests.unit.tables import every_row

N1 = NodeName("n1")


def node(name: str = "n1", *conditions: Any, labels: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels, **metadata}, "status": {"conditions": list(conditions)}}


def ready(status: object = "True", **told: object) -> dict[str, object]:
    return {"type": "Ready", "status": status, **told}


def of(*objects: Any, name: NodeName = N1) -> ObservedMember:
    return readiness(objects, [name], Scrubber())[name]


def test_a_node_has_what_a_later_comparison_needs() -> None:
    found = node("n1", ready(), labels={"rack": "r1"}, uid="u")
    found |= {"spec": {"unschedulable": True}}
    found["status"]["nodeInfo"] = {"machineID": "m"}
    assert of(found) == ObservedMember(ready=True, cordoned=True, uid="u", machine="m", labels={"rack": "r1"})


@every_row(["False", "Unknown", "true", True, None, 1])
def test_nothing_but_the_word_true_is_ready(status: object) -> None:
    found = of(node("n1", ready(status)))
    assert found == ObservedMember(ready=False, why=f"its condition Ready is {status}")


@every_row(
    [
        ({"reason": "KubeletNotReady"}, "KubeletNotReady"),
        ({"message": "no network"}, "no network"),
        ({"message": "two\nlines\tand \x1b[31mcolour"}, "two lines and [31mcolour"),
        ({"message": "x" * LONGEST_WHY}, "x" * LONGEST_WHY),
        ({"message": "x" * 10_000}, f"{'x' * (LONGEST_WHY - 1)}…"),
    ],
)
def test_why_is_what_the_condition_tells_in_one_line(told: dict[str, str], why: str) -> None:
    assert of(node("n1", ready("False", **told))).why == why


def test_a_name_goes_before_a_hostname() -> None:
    other = node("n2", ready(), labels={"kubernetes.io/hostname": "n1"})
    assert not of(other, node("n1", ready("False"))).ready
    assert not of(node("n1", ready("False")), other).ready


def test_a_node_of_another_name_is_found_by_its_hostname_in_any_case() -> None:
    first, second = (node(name, labels={"kubernetes.io/hostname": "N1"}, uid=name) for name in ("a", "b"))
    assert of(first, second).uid == "a"


def test_a_node_that_is_absent_or_leaves_is_not_ready() -> None:
    assert of() == ObservedMember(ready=False, why="not in the cluster", joined=False)
    leaving = node("n1", ready(), deletionTimestamp="2026-03-02T09:00:00Z")
    assert of(leaving) == ObservedMember(ready=False, why="being deleted since 2026-03-02T09:00:00Z")


def test_a_part_of_a_name_is_another_name() -> None:
    assert of(node("n10", ready()), node("n1.example.org", ready())).why == "not in the cluster"


ODD: dict[str, Any] = {
    "no status": {"metadata": {"name": "n1"}},
    "status that is none": {"metadata": {"name": "n1"}, "status": None},
    "conditions that are no list": {"metadata": {"name": "n1"}, "status": {"conditions": {"Ready": "True"}}},
    "a condition that is none": {"metadata": {"name": "n1"}, "status": {"conditions": [None, "Ready"]}},
    "no condition": {"metadata": {"name": "n1"}, "status": {"conditions": []}},
}


@every_row(ODD)
def test_a_node_that_says_nothing_of_itself_is_not_ready(odd: dict[str, Any]) -> None:
    found = of(odd)
    assert not found.ready
    assert "not said" in found.why


@every_row([{}, {"metadata": None}, {"metadata": {"labels": ["n1"]}}, {"metadata": {"name": 1}}])
def test_an_object_of_another_shape_is_nobodys_and_does_not_hide_the_others(odd: dict[str, Any]) -> None:
    assert of(odd, node("n1", ready())).ready
    assert of(odd, node("n1", ready()), name=NodeName("none")).why == "not in the cluster"
    assert of(odd, name=NodeName("")).ready is False
