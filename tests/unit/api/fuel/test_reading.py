"""How bodies of Fuel's addresses are read (contract: fuel-task-graph, 5)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from shipyard_api.api.fuel import reading
from shipyard_api.api.http.errors import Fault
from shipyard_api.domain.task_graph.errors import OwnerNotFound
from shipyard_api.domain.task_graph.layers import Owner, OwnerKind
from tests.refusals import refuses
from tests.unit.tables import every_row

KNOWN = {"name": str, "members": list, "count": int, "has_primary": bool, "meta": dict}


@every_row(
    [
        # a body, what is read of it (a text: why it is refused)
        ({}, {}),
        ({"name": "a", "members": [1], "count": 3, "has_primary": False, "meta": {"a": 1}}, None),
        ({"name": None, "count": None}, {}),
        ({"name": "", "members": [], "count": 0, "meta": {}}, None),
        ({"name": "a", "id": 5}, {"name": "a"}),
        ([], "The body is not a JSON object."),
        (None, "The body is not a JSON object."),
        ({"name": 1}, "'name' is not a text."),
        ({"members": {}}, "'members' is not a list."),
        ({"meta": []}, "'meta' is not an object."),
        ({"count": True}, "'count' is not a whole number."),
        ({"count": "3"}, "'count' is not a whole number."),
        ({"has_primary": 1}, "'has_primary' is not true or false."),
        ({"has_primary": "true"}, "'has_primary' is not true or false."),
        ({"name": 1, "other": 2}, "The body has unknown members: other. It may have "),
    ]
)
def test_a_body_has_members_of_the_right_types(body: Any, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(Fault) as refused:
            reading.mapping(body, KNOWN, ("id",))
        assert str(refused.value).startswith(expected)
        return
    read = reading.mapping(body, KNOWN, ("id",))
    assert read == {**dict.fromkeys(KNOWN), **(body if expected is None else expected)}


@every_row(
    [
        ([], []),
        (["a", "b", "a"], ["a", "b"]),
        (["a", ""], None),
        (["a", 1], None),
        ("a", None),
        ({"a": 1}, None),
        (None, None),
    ]
)
def test_names_are_a_list_without_repetitions(entries: Any, expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(Fault, match="Tasks are a list of names"):
            reading.names(entries, "Tasks")
    else:
        assert reading.names(entries, "Tasks") == expected


@every_row(
    [
        (None, None),
        ([""], ()),
        (["a"], ("a",)),
        (["a,b", " c , ,d"], ("a", "b", "c", "d")),
    ]
)
def test_a_parameter_may_have_several_values(written: list[str] | None, expected: tuple[str, ...] | None) -> None:
    request = cast(Any, SimpleNamespace(get_param_as_list=lambda _: written))
    assert reading.separated(request, "nodes") == expected


@every_row([("1", 1), ("2147483647", 2147483647), ("007", 7)])
def test_an_owner_has_a_number(written: str, number: int) -> None:
    assert reading.owner(OwnerKind.CLUSTER, written) == Owner(OwnerKind.CLUSTER, number)


@every_row(["0", "2147483648", "12345678901", "-1", "1.0", "", "a", "٣"])
def test_what_is_no_number_is_no_owner(written: str) -> None:
    with refuses(OwnerNotFound):
        reading.owner(OwnerKind.CLUSTER, written)
