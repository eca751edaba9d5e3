"""A design of thousands of documents: what it becomes. How long that takes is measured by benchmarks/designs.py."""

from typing import Any

import pytest

from benchmarks.designs import CATALOGUE, CHART, LAYERS, large_design
from shipyard_api.domain.documents import RenderedDocument, render
from tests.designs import SCHEMAS, stored


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    return large_design()


@pytest.fixture(scope="module")
def design(entries: list[dict[str, Any]]) -> dict[str, RenderedDocument]:
    made, findings = render(stored(*entries), SCHEMAS)
    assert findings == ()
    return {one.document.name: one for one in made.documents}


def test_the_large_design_is_as_large_as_it_says(entries: list[dict[str, Any]]) -> None:
    assert len(entries) == 5_000
    assert sum(len(one["metadata"].get("substitutions", ())) for one in entries) == 10_000
    used = {one["metadata"].get("layeringDefinition", {}).get("layer") for one in entries}
    assert used == {*LAYERS, None}
    assert entries == large_design()


def test_every_concrete_document_is_in_it(entries: list[dict[str, Any]], design: dict[str, RenderedDocument]) -> None:
    concrete = {
        one["metadata"]["name"]
        for one in entries
        if not one["metadata"].get("layeringDefinition", {}).get("abstract", False)
    }
    assert design.keys() == concrete


def test_the_innermost_of_each_chain_holds_what_all_layers_gave_it(design: dict[str, RenderedDocument]) -> None:
    charts = [one.document for one in design.values() if one.document.schema == CHART and one.document.layer == "site"]
    assert len(charts) > 1_200
    for chart in charts:
        values = chart.data["values"]
        assert set(values["conf"]) == {"level1", "level2", "level3"}, "level0 was deleted in the last layer"
        assert values["conf"]["level3"]["key1"] == f"value 1 of {int(chart.name[5:])}"
        assert chart.data["name"] == chart.name
        assert values["url"].startswith("http://host")
        assert set(values["endpoints"]["taken0"]) == {"host", "ports", "paths"}


def test_what_charts_write_into_what_they_took_is_not_in_the_catalogues(
    entries: list[dict[str, Any]], design: dict[str, RenderedDocument]
) -> None:
    for entry in entries:
        if entry["schema"] == CATALOGUE:
            assert design[entry["metadata"]["name"]].document.data == entry["data"]
