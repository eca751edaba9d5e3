"""The cost of a forecast: ``python benchmarks/forecast.py``.

Processor seconds of a forecast on one core: drawing the nodes, counting groups, playing runs in virtual time, and the
search for the criterion to relax. Every site has groups that share nodes. The first line is the bound of product,
section 5: at most 5 s for 240 nodes, 12 groups and 10,000 runs; the benchmark fails above it. The last lines are as
large as the API allows.
"""

import random
import sys
from time import process_time

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import PRIOR, PhaseAssumption
from shipyard_api.domain.rollout.forecast import forecast
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy

LIMIT = 5.0
SITES = (
    (240, 12, 10_000, SERIAL),
    (240, 12, 2_000, SERIAL),
    (240, 12, 2_000, Mode(max_parallel_groups=4, max_nodes_in_flight=40)),
    (2_000, 100, 10_000, SERIAL),
    (10_000, 100, 2_000, SERIAL),
    (50_000, 1_000, 400, SERIAL),
)


def site(nodes: int, groups: int) -> Membership:
    """Return groups of equal size with up to two parents, each with a tenth of the nodes of the next one."""
    dice = random.Random(groups)
    names = [GroupName(f"group{number:04}") for number in range(groups)]
    each = nodes // groups
    members = {
        name: frozenset(
            NodeName(f"node{number % nodes:06}") for number in range(place * each, place * each + each + each // 10)
        )
        for place, name in enumerate(names)
    }
    entries = [
        DeploymentGroup(
            name,
            critical=place % 3 == 0,
            depends_on=tuple(dice.sample(names[:place], min(place, place % 3))),
            success_criteria=SuccessCriteria(percent_successful_nodes=90, maximum_failed_nodes=max(1, each // 12)),
        )
        for place, name in enumerate(names)
    ]
    return Membership(Strategy(tuple(entries)), members)


def main() -> int:
    """Print the table; return 1 if the bound is broken."""
    durations = [600 + 30 * step for step in range(40)]
    measured = PRIOR.observed(failed=20, succeeded=980)
    assumptions = {phase: PhaseAssumption(measured, durations) for phase in Phase}
    print(f"{'nodes':>7} {'groups':>7} {'runs':>7} {'mode':>10} {'seconds':>9} {'success':>9}")
    first = 0.0
    for nodes, groups, runs, mode in SITES:
        membership = site(nodes, groups)
        start = process_time()
        found = forecast(membership, mode, assumptions, runs=runs, dice=random.Random(1))
        taken = process_time() - start
        first = first or taken
        name = "serial" if mode == SERIAL else "in flight"
        print(f"{nodes:>7} {groups:>7} {runs:>7} {name:>10} {taken:>9.2f} {found.success.probability:>9.3f}")
    return int(first > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
