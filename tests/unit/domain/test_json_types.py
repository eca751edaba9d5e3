"""What is read of JSON that may be anything."""

from typing import Any

from shipyard_api.domain.json_types import are_texts, member, objects, texts
from tests.unit.tables import every_row


@every_row(
    [
        ({"a": {"b": 1}}, ("a", "b"), 1),
        ({"a": {"b": 1}}, ("a",), {"b": 1}),
        ({"a": {"b": 1}}, (), {"a": {"b": 1}}),
        ({"a": {"b": False}}, ("a", "b"), False),
        ({"a": {}}, ("a", "b"), None),
        ({"a": ["b"]}, ("a", "b"), None),
        ({"a": "b"}, ("a", "b", "c"), None),
        (None, ("a",), None),
        ([{"a": 1}], ("a",), None),
    ]
)
def test_a_member_is_what_stands_at_its_path(value: object, path: tuple[str, ...], found: Any) -> None:
    assert member(value, *path) == found


@every_row(
    [
        ([{"a": 1}, "b", None, ["c"], {}], [{"a": 1}, {}], ["b"], False),
        (["b", ""], [], ["b", ""], True),
        ([], [], [], True),
        (("b",), [], [], False),
        ("b", [], [], False),
        ({"b": 1}, [], [], False),
        (None, [], [], False),
    ]
)
def test_a_list_has_its_objects_and_its_texts(value: object, of: list[Any], said: list[str], is_all: bool) -> None:
    assert (objects(value), texts(value), are_texts(value)) == (of, said, is_all)
