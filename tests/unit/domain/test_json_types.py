"""What is read of JSON that may be anything."""

import json
from itertools import product
from typing import Any

import pytest

from shipyard_api.domain.json_types import are_texts, member, objects, streamed_objects, texts
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


MACHINES = [{"hostname": "n1", "tags": ["ä,]", '"[{']}, {}, {"hostname": "n2", "disks": [{"id": 1}]}]


@every_row(product([[], MACHINES[:1], MACHINES], [None, 4], [1, 2, 3, 7, 1000]))
def test_objects_of_a_list_in_pieces(wanted: list[object], indent: int | None, size: int) -> None:
    body = json.dumps(wanted, indent=indent, ensure_ascii=False).encode()
    assert list(streamed_objects(body[at : at + size] for at in range(0, len(body), size))) == wanted


def test_a_large_item_is_parsed_a_few_times_in_however_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    body, tries, parse = json.dumps([{"a": ["x" * 50] * 20_000}]).encode(), [], json.JSONDecoder.raw_decode

    def counted(*arguments: Any) -> Any:
        tries.append(1)
        return parse(*arguments)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert len(list(streamed_objects(body[at : at + 1000] for at in range(0, len(body), 1000)))) == 1
    assert len(tries) < 30


def test_other_items_are_skipped() -> None:
    assert list(streamed_objects([b'[1, {"a": 2}, null, "x"]'])) == [{"a": 2}]


@every_row([b"", b"{}", b"oops", b"[", b'[{"a": 1}', b'[{"a": 1}] more', b'[{"a": oops}]', b"[\xff]"])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|utf-8"):
        list(streamed_objects([body]))
