"""The details of a machine, as BSON."""

from shipyard_api.adapters.maas.formats import document
from shipyard_simulators.maas import bson
from tests.unit.tables import every_row

WHOLE = bson.dumps({"lshw": b"<list/>", "lldp": b""})


def test_byte_strings_by_name() -> None:
    assert document(WHOLE) == {"lshw": b"<list/>", "lldp": b""}


def test_texts_and_nulls() -> None:
    text = b"\x02a\x00\x03\x00\x00\x00hi\x00"
    assert document(b"\x00\x00\x00\x00" + text + b"\x0ab\x00" + text.replace(b"a", b"c") + b"\x00") == {
        "a": b"hi",
        "c": b"hi",
    }


@every_row(
    [
        b"",
        b"\x05",
        WHOLE[:9],
        WHOLE[:14],
        WHOLE.replace(b"\x05", b"\x01"),
        b"\x00\x00\x00\x00\x05a\x00\xff\xff\xff\xff\x00",
    ]
)
def test_a_broken_document_has_what_came_before(content: bytes) -> None:
    assert document(content) == {}
