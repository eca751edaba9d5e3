"""Every sentence of a design is tied to a test that exists, or to a reason why there is none yet."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "conformance.md"
HEADER = ["seed", "sentence", "where", "test"]
OPEN = re.compile(r"later \(issue: [^)]+\): \S.*")
TEST = re.compile(r"(?:shipyard_simulators/)?tests/[\w/]+\.py::test_\w+")


class Row(NamedTuple):
    line: int
    seed: str
    sentence: str
    where: str
    test: str


def rows() -> list[Row]:
    found = []
    inside = False
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells == HEADER:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(line) <= set("|- "):
            assert len(cells) == len(HEADER), f"line {number} has {len(cells)} columns instead of {len(HEADER)}"
            found.append(Row(number, *cells))
    return found


@cache
def names_in(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def test_the_page_has_rows_for_every_section_of_the_grouping_design() -> None:
    sections = {row.seed.removeprefix("000 ").split()[0] for row in rows() if row.seed.startswith("000 ")}

    assert sections == {
        "API",
        "Criticality",
        "Dependencies",
        "Deployment",
        "Documentation",
        "Drydock",
        "Example",
        "Groups",
        "Needed",
        "Notes",
        "Overview",
        "Process",
        "Schemas",
        "Selectors",
        "Strategy",
        "Success",
        "Workflow",
    }


def test_every_row_names_tests_that_exist_or_says_why_there_are_none() -> None:
    assert [f"line {row.line}: {fault}" for row in rows() for fault in faults_of(row)] == []


def faults_of(row: Row) -> Iterator[str]:
    if not row.seed[:3].isdigit():
        yield "the first column does not begin with the number of the design"
    if not (row.sentence and row.where):
        yield "a column is empty"
    for test in [] if OPEN.fullmatch(row.test) else row.test.split("<br>"):
        path, _, name = test.partition("::")
        if not TEST.fullmatch(test):
            yield f"'{test}' is no test, nor 'later (issue: …): …'"
        elif name not in names_in(path):
            yield f"{path} has no test {name}"


def test_every_test_that_the_page_names_exists() -> None:
    named = [test.split("::") for test in TEST.findall(PAGE.read_text("utf-8"))]

    assert [f"{path}::{name}" for path, name in named if name not in names_in(path)] == []


def test_no_sentence_stands_twice_in_one_section() -> None:
    said = [(row.seed, row.sentence) for row in rows()]

    assert len(said) == len(set(said))


def test_every_place_that_the_page_names_exists() -> None:
    def exists(place: str) -> bool:
        return any(
            (root / f"{place}{suffix}").exists() for root in (ROOT, ROOT / "shipyard_api") for suffix in ("", ".py")
        )

    places = {place.strip() for row in rows() for place in row.where.split(",")}

    assert [place for place in sorted(places) if not exists(place)] == []
