"""Values of a run: which are taken, which nodes get them, which are shown."""

from typing import Any

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.run_values import LONGEST, RunValues, ValuesError
from tests.unit.tables import every_row

WRITTEN: dict[str, Any] = {
    "all": {"ntp": "10.0.0.9", "port": 3306, "tls": True, "password": "hunter22", "dsn": "db:swordfish@x"},
    "nodes": {"n2": {"ntp": "10.0.0.8", "own": 1.5}},
    "secret": ["password"],
}


def test_a_node_has_the_shared_values_with_its_own_in_their_place() -> None:
    values = RunValues.read(WRITTEN)

    assert values.keys(NodeName("n1"))["VALUES.ntp"] == "10.0.0.9"
    own = values.keys(NodeName("n2"))
    assert [own[f"VALUES.{name}"] for name in ("ntp", "port", "tls", "own")] == ["10.0.0.8", "3306", "true", "1.5"]
    assert RunValues.read(values.to_json()) == values
    assert RunValues.read(None).keys(NodeName("n1")) == {}
    longest = RunValues.read({"all": {"a": "x" * LONGEST}})
    assert longest.keys(NodeName("n1")) == {"VALUES.a": "x" * LONGEST}


def test_secret_values_are_masked_those_of_the_design_too() -> None:
    values = RunValues.read(WRITTEN).knowing(["swordfish", "of another value"])

    shown = values.masked.to_json()
    assert (shown["all"]["password"], shown["all"]["dsn"], shown["all"]["ntp"]) == ("***", "***", "10.0.0.9")
    assert values.secret_texts == ("db:swordfish@x", "hunter22")


@every_row(
    {
        "a list": ([], "it is an object with all, nodes, secret"),
        "values outside": ({"ntp": 1}, "it is an object with all, nodes, secret"),
        "no object": ({"all": [1]}, "all is an object"),
        "no object of a node": ({"nodes": {"n1": 1}}, "nodes, n1 is an object"),
        "no nodes": ({"nodes": []}, "nodes is an object"),
        "a name with a blank": ({"all": {"a b": 1}}, "has the name 'a b'"),
        "null": ({"all": {"a": None}}, "a in all is no text"),
        "too long": ({"all": {"a": "x" * (LONGEST + 1)}}, "at most 65,536 characters"),
        "too many": ({"all": {f"a{number}": 1 for number in range(1001)}}, "more than 1,000 values"),
        "no list": ({"secret": "a"}, "secret is a list"),
        "a secret without a value": ({"secret": ["a"]}, "secret names a, which has no value"),
    },
)
def test_other_values_are_refused(written: Any, why: str) -> None:
    with pytest.raises(ValuesError, match=why):
        RunValues.read(written)
