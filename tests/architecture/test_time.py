"""Times of actions are those of the site, so the clock of a worker's host decides nothing (how it works: Time)."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "shipyard_api"
ROOMS = ("domain", "workflow", "actions", "usecases", "storage")
NOT_OF_ACTIONS = {
    "storage/clock.py": "says by how much the two clocks differ",
    "storage/run_history.py": "dates what an observer failed to read",
    "usecases/tokens.py": "a token expires by the clock of the host that checks it",
}
_HOST = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"), ("time", "time")}


def readings(tree: ast.AST) -> int:
    """Count what reads the time of day of the host."""
    return sum(
        (node.value.id, node.attr) in _HOST
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )


def test_nothing_that_decides_about_an_action_reads_the_time_of_its_host() -> None:
    modules = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    assert len(modules) > 300
    found = {str(path.relative_to(PACKAGE)) for path in modules if readings(ast.parse(path.read_bytes()))}
    assert found == set(NOT_OF_ACTIONS)
