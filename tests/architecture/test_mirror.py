"""``tests/unit`` mirrors the package: who changes a module finds its tests without searching."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT, PACKAGE = ROOT / "tests" / "unit", ROOT / "shipyard_api"
# Families that hold every module of their folder to the same rule.
OF_A_FOLDER = {
    "actions/steps/test_stored_samples.py",
    "adapters/test_quoted_secrets.py",
    "domain/documents/test_large_design.py",
    "domain/documents/test_real_sites.py",
}
TESTS = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_a_unit_test_has_the_place_and_the_name_of_what_it_tests(test: Path) -> None:
    folder = PACKAGE / test.parent
    assert folder.is_dir(), f"there is no {folder.relative_to(ROOT)}"
    subjects = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"}
    name = test.stem.removeprefix("test_")
    # A second file about a module adds what it is about: test_http_connections.py.
    found = any(name == subject or name.startswith(f"{subject}_") for subject in subjects)
    assert found or str(test) in OF_A_FOLDER, f"{folder.relative_to(ROOT)} has no {name}"
