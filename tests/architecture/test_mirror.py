"""``tests/unit`` mirrors the package: who changes a module finds its tests without searching."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT, PACKAGE = ROOT / "tests" / "unit", ROOT / "shipyard_api"
# Families that hold every module of their folder to the same rule.
OF_A_FOLDER = {
    "actions/steps/test_stored_samples.py",
    "adapters/test_quoted_secrets.py",
    "domain/documents/test_real_sites.py",
}
TESTS = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


def test_a_unit_test_has_the_place_and_the_name_of_what_it_tests() -> None:
    assert [str(test) for test in TESTS if not has_its_subject(test) and str(test) not in OF_A_FOLDER] == []


def has_its_subject(test: Path) -> bool:
    """Whether the package has, in the same folder, what the test is named for."""
    folder = PACKAGE / test.parent
    subjects = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"}
    name = test.stem.removeprefix("test_")
    # A second file about a module adds what it is about: test_http_connections.py.
    return any(name == subject or name.startswith(f"{subject}_") for subject in subjects)
