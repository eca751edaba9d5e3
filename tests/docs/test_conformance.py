"""Every sentence of a design is tied to a test that exists, or to a reason why there is none yet."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from shipyard_api.cli.main import shipyard

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "conformance.md"
HEADER = ["seed", "sentence", "where", "test"]
DEVIATES = ["seed", "sentence", "here, and why", "test"]
COMMAND = re.compile(r"`(shipyard [^`…]+|(?:GET|PUT|POST|DELETE|PATCH) /[^`…]+)`")
OPEN = re.compile(r"later \(issue: [^)]+\): \S.*")
NOWHERE = {"SHIPYARD_URL": "http://127.0.0.1:9", "SHIPYARD_TOKEN": "none"}
TEST = re.compile(r"(?:shipyard_simulators/)?tests/[\w/]+\.py::test_\w+")


class Row(NamedTuple):
    line: int
    seed: str
    sentence: str
    where: str
    test: str
    deviates: bool = False


def rows() -> list[Row]:
    found = []
    header: list[str] = []
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells in (HEADER, DEVIATES):
            header = cells
        elif not cells:
            header = []
        elif header and not set(line) <= set("|- "):
            assert len(cells) == len(header), f"line {number} has {len(cells)} columns instead of {len(header)}"
            found.append(Row(number, *cells, deviates=header == DEVIATES))
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

    places = {place.strip() for row in rows() if not row.deviates for place in row.where.split(",")}

    assert [place for place in sorted(places) if not exists(place)] == []


def test_every_design_has_its_deviations_and_its_rows() -> None:
    for deviates in (False, True):
        assert {row.seed[:3] for row in rows() if row.deviates is deviates} == {"000", "001", "002", "003", "004"}


def commands() -> Iterator[str]:
    """What rows tell their readers to run or to ask, as it is written."""
    for row in rows():
        yield from COMMAND.findall(f"{row.sentence} {row.where if row.deviates else ''}")


def test_every_command_and_every_address_of_a_row_is_one_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = yaml.safe_load((ROOT / "schemas" / "openapi.yaml").read_text("utf-8"))
    served = [
        (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)))
        for path, item in document["paths"].items()
        for method in item
    ]

    def fault(command: str) -> str:
        if not command.startswith("shipyard "):
            verb, address = command.split()
            is_served = any(verb == method and path.fullmatch(address) for method, path in served)
            return "" if is_served else f"{command} is not served"
        # The parameters of every command are read before anything is asked: of a server that is not there.
        told = CliRunner().invoke(shipyard, shlex.split(command)[1:], env=NOWHERE)
        return "" if told.exit_code == 1 and "127.0.0.1:9" in told.output else f"{command}: {told.output}"

    asked = list(commands())
    assert {command.split()[0] for command in asked} >= {"shipyard", "GET", "PUT", "POST"}
    assert [text for text in map(fault, asked) if text] == []
