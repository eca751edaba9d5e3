"""What each budget counts."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget, batch_size, domains
from tests.unit.tables import every_row

NODES = [NodeName(f"n{number}") for number in range(1, 8)]


def test_each_value_of_a_label_has_the_budget() -> None:
    topology = {node: {"rack": "r1" if node < "n4" else "r2"} for node in NODES[:6]}
    budgets = (Budget("racks", "rack", Amount(34, percent=True)), Budget("site", max_lost=Amount(50, percent=True)))

    found = domains(budgets, dict.fromkeys(NODES), topology)

    assert [(str(one), len(one.nodes), one.unavailable, one.lost) for one in found] == [
        ("budget racks of rack r1", 3, 1, None),
        ("budget racks of rack r2", 3, 1, None),
        ("budget site", 7, None, 3),
    ]


ONE_A_RACK, HALF = Budget("racks", "rack", Amount(1)), Budget("site", max_unavailable=Amount(50, percent=True))


@every_row(
    {
        "no budget": ((), "n1 n2 n3 n4", 3, (3, "")),
        "neighbours in a rack": ((ONE_A_RACK,), "n1 n2 n3 n4", 4, (1, "budget racks of rack r1")),
        "racks take turns": ((ONE_A_RACK,), "n1 n5 n2 n6", 4, (2, "budget racks of rack r1")),
        "one of each rack": ((ONE_A_RACK,), "n1 n5", 4, (4, "")),
        "half of the targets": ((HALF,), "n1 n2 n3 n4", 4, (2, "budget site")),
        "a share of one is one": ((HALF,), "n1", 1, (1, "")),
        "only losses are limited": ((Budget("site", max_lost=Amount(0)),), "n1 n2", 2, (2, "")),
    },
)
def test_batches_are_as_large_as_budgets_allow(
    budgets: tuple[Budget, ...], targets: str, most: int, expected: tuple[int, str]
) -> None:
    nodes = [NodeName(name) for name in targets.split()]
    topology = {node: {"rack": "r1" if node < "n4" else "r2"} for node in NODES}

    size, budget = batch_size(nodes, most, domains(budgets, dict.fromkeys(nodes), topology))

    assert (size, str(budget or "")) == expected
