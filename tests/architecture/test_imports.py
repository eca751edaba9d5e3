"""The house stays as it was planned: imports go downwards, modules stay readable, names say what is inside."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "shipyard_api", ROOT / "shipyard_simulators")
MODULES = sorted(
    module
    for package in PACKAGES
    for module in package.rglob("*.py")
    if "tests" not in module.relative_to(package).parts
)
LONGEST = 450
SAY_NOTHING = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}


def test_a_module_holds_one_idea() -> None:
    lines = {str(module.relative_to(ROOT)): module.read_text(encoding="utf-8").count("\n") for module in MODULES}
    long = {module: number for module, number in lines.items() if number >= LONGEST}
    assert long == {}, "which second idea moved in?"


def test_names_of_modules_say_what_is_inside() -> None:
    names = {part for module in MODULES for part in module.relative_to(ROOT).with_suffix("").parts}
    assert not names & SAY_NOTHING
