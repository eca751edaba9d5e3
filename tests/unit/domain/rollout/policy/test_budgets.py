"""What each budget counts."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget, domains

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
