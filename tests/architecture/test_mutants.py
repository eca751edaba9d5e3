"""The faults that ``./dev mutants`` makes, and where it looks for them."""

from tests.mutants.mutations import mutations
from tests.mutants.run import ROOMS, ROOT
from tests.unit.tables import every_row

FAULTS = {
    "a comparison": ("x = f(a < b)", ["x = f(a <= b)"]),
    "a comparison with brackets": ("x = (a) not in (b)", ["x = (a) in (b)"]),
    "and": ("x = f((a or b) and c)", ["x = f((a and b) and c)", "x = f((a or b) or c)"]),
    "not": ("x = not a", ["x = a"]),
    "numbers and truth": ("x = [1, 2.5, True]", ["x = [1, 2.5, False]", "x = [1, 3.5, True]", "x = [2, 2.5, True]"]),
    "a condition": ("x = 'é' if a else b", ["x = 'é' if not a else b"]),
    "a filter": ("x = [a for a in b if a.c]", ["x = [a for a in b if not a.c]"]),
    "a call": ("f(a)", ["pass"]),
    "an extreme": ("x = min(a)", ["x = max(a)"]),
    "what a function does": (
        "def f():\n    x = a + 'b' + c\n    return x",
        ["def f():\n    x = a + 'b' + c\n    return None", "def f():\n    x = a + 'b' - c\n    return x"],
    ),
    "a raised error": ("raise Wrong(1)", ["pass"]),
    "what only humans read": ('"""Text."""\nx: Literal[1] = a\nLOG.info(1)\nassert a == b', []),
    "types": ("X = int | str", []),
}


@every_row(FAULTS)
def test_a_fault_changes_one_thing(source: str, expected: list[str]) -> None:
    made = mutations("m.py", source)
    assert sorted(fault.apply(source) for fault in made) == expected
    assert all(fault.is_one(source) for fault in made)


def test_a_fault_is_looked_for_on_the_lines_of_its_statement() -> None:
    (condition, call) = mutations("m.py", "def f():\n    if (\n        a\n    ):\n        g(\n            b\n        )")
    assert [(fault.first, fault.last, fault.at_import) for fault in (condition, call)] == [(2, 4, False), (5, 7, False)]


def test_every_room_has_modules() -> None:
    assert [room for room, place in ROOMS.items() if not list((ROOT / place).glob("*.py"))] == []
