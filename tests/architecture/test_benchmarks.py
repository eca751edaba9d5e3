"""Benchmarks run rarely, so what they import from Shipyard is checked here."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import ROOT
from tests.unit.tables import every_row

BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))


@every_row(BENCHMARKS)
def test_names_that_a_benchmark_imports_exist(path: Path) -> None:
    imports = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shipyard_")
        for alias in node.names
    ]
    missing = [
        f"{module}.{name}"
        for module, name in imports
        if not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None
    ]
    assert missing == []
