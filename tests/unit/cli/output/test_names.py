"""Lists of names in a cell."""

from shipyard_api.cli.output.names import listed
from tests.unit.tables import every_row

LISTS = {
    "few stay as they are": ([f"n{number}" for number in range(1, 9)], "n1, n2, n3, n4, n5, n6, n7, n8"),
    "many are folded": ([f"r{r}n{n}" for r in range(1, 41) for n in range(1, 21)], "r[1-40]n[1-20]"),
    "what does not fold is cut": (
        [f"node-{letter}" for letter in "abcdefghijklm"],
        "node-a, node-b, node-c, node-d, node-e, node-f, node-g, node-h and 5 more",
    ),
    "many gaps are cut": (
        [f"n{number * number}" for number in range(30)],
        "n0, n1, n4, n9, n16, n25, n36, n49 and 22 more",
    ),
}


@every_row(LISTS)
def test_lists_of_names(names: list[str], text: str) -> None:
    assert listed(names) == text
