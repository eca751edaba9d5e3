"""What the OpenAPI document shows as findings and errors is what the code says, to the letter."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.domain.strategy import strategy
from tests.factories import group_entry

ROOT = Path(__file__).resolve().parents[2]
# A pattern with less text of its own than this would fit anything.
LEAST = 12


@cache
def document() -> Any:
    return yaml.load((ROOT / "schemas" / "openapi.yaml").read_bytes(), Loader=yaml.CSafeLoader)


def within(value: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping in a value, with its place."""
    if isinstance(value, Mapping):
        yield place, value
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        yield from within(one, f"{place}/{key}")


def shown() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping in an example."""
    for place, node in within(document()):
        if "example" in node and not isinstance(node["example"], str):
            yield from within(node["example"], place)


FINDINGS = [pytest.param(one, id=place) for place, one in shown() if {"name", "level", "message"} <= one.keys()]
ERRORS = [pytest.param(one, id=place) for place, one in shown() if one.get("kind") == "status"]


@cache
def said() -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Every text in the package, and a pattern for each that has something filled in or put behind it."""
    texts: set[str] = set()
    patterns: set[str] = set()
    for path in sorted((ROOT / "shipyard_api").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                own = [one.value if isinstance(one, ast.Constant) else None for one in node.values]
                if sum(len(str(one)) for one in own if one) >= LEAST:
                    patterns.add("".join(".*" if one is None else re.escape(str(one)) for one in own))
            elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
                begin = str(node.left.value)
                if len(begin) >= LEAST:
                    patterns.add(re.escape(begin) + ".+")
    return frozenset(texts), tuple(map(re.compile, sorted(patterns)))


def is_said(text: str) -> bool:
    texts, patterns = said()
    return text in texts or any(one.fullmatch(text) for one in patterns)


def test_there_are_examples_of_both() -> None:
    assert len(FINDINGS) >= 2
    assert ERRORS


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_that_is_shown_is_one_that_the_code_makes(finding: Mapping[str, Any]) -> None:
    assert finding["name"] in said()[0]
    assert is_said(finding["message"])
    assert is_said(finding.get("diagnostic") or finding["message"])


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_that_is_shown_is_one_that_the_code_makes(error: Mapping[str, Any]) -> None:
    assert is_said(error["message"])
    assert is_said(error["reason"])
    assert error["details"]["errorType"] in said()[0]


def test_the_circle_that_is_shown_is_told_as_it_would_be() -> None:
    groups = [group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["a"])]
    (told,) = strategy.check_groups({"groups": groups})

    circles = [one for _, one in shown() if one.get("name") == told.name]

    assert [(one["message"], one["diagnostic"], one["path"]) for one in circles] == [
        (told.message, told.diagnostic, told.path)
    ]
