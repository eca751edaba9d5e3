"""A wrong shape of an answer is an error that names the field."""

import pytest

from shipyard_api.cli.errors import ShapeError, UnreadableError
from shipyard_api.cli.output import shapes
from tests.unit.tables import every_row

WRONG = {
    "a list for an object": (lambda: shapes.parse_object("[]"), "the body is not an object"),
    "an object for a list": (lambda: shapes.parse_objects("{}"), "the body is not a list of objects"),
    "texts in a list": (lambda: shapes.objects_at({"nodes": ["n1"]}, "nodes"), "nodes is not a list of objects"),
    "a text for a list": (lambda: shapes.list_at({"notes": "x"}, "notes"), "notes is not a list"),
    "a text for an object": (lambda: shapes.object_at({"mode": "x"}, "mode"), "mode is not an object"),
    "a text for a number": (lambda: shapes.counts_at({"nodes": {"total": "1"}}, "nodes"), "other than numbers"),
    "a missing field": (lambda: shapes.required({}, "name"), "name is missing"),
}


@every_row(WRONG)
def test_a_wrong_shape_names_the_field(read, text):
    with pytest.raises(ShapeError, match=text):
        read()


@every_row([{}, {"nodes": None}])
def test_what_is_absent_or_null_is_empty(absent):
    read = (shapes.objects_at, shapes.list_at, shapes.object_at, shapes.counts_at)
    assert [len(one(absent, "nodes")) for one in read] == [0, 0, 0, 0]


@every_row(["<html>", "", "[" * 100_000])
def test_what_is_not_json_is_unreadable(text):
    with pytest.raises(UnreadableError):
        shapes.parse_json(text)
