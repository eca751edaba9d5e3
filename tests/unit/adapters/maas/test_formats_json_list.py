"""Lists that arrive in pieces, cut anywhere."""

import json
from itertools import product

import pytest

from shipyard_api.adapters.maas.formats import objects
from tests.unit.tables import every_row

MACHINES = [{"hostname": "n1", "tags": ["ä,]", '"[{']}, {}, {"hostname": "n2", "disks": [{"id": 1}]}]


@every_row(product([[], MACHINES[:1], MACHINES], [None, 4], [1, 2, 3, 7, 1000]))
def test_objects_of_a_list_in_pieces(wanted: list[object], indent: int | None, size: int) -> None:
    body = json.dumps(wanted, indent=indent, ensure_ascii=False).encode()
    assert list(objects(body[at : at + size] for at in range(0, len(body), size))) == wanted


def test_other_items_are_skipped() -> None:
    assert list(objects([b'[1, {"a": 2}, null, "x"]'])) == [{"a": 2}]


@every_row([b"", b"{}", b"oops", b"[", b'[{"a": 1}', b'[{"a": 1}] more', b'[{"a": oops}]', b"[\xff]"])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|utf-8"):
        list(objects([body]))
