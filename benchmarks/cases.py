"""What finding the cases of 10,000 nodes costs, as a ratio to one plain count: ``python benchmarks/cases.py``.

The sites are fixed by their seeds: 10,000 nodes with eleven features, 0 to 3 planted causes, and failures without any.
The plain count is one ``Counter`` of rack and status over the same nodes. Everything is in memory. Exits 1 if the cases
of the costliest site take more than 20 times the CPU of the count. With ``--found``, it also prints in how many of 200
sites of 50 to 10,000 nodes the right cause is the first, and in how many without a cause there is one.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shipyard_api.domain.cases.case import CaseKind
from shipyard_api.domain.cases.features import Value
from shipyard_api.domain.cases.find import NodeFact, Seen, find_cases
from shipyard_api.domain.nodes import NodeName
from tests.case_sites import CaseSite, case_site

NODES, SITES, MOST = 10_000, 200, 20.0
ROUNDS = 15


def main(arguments: list[str]) -> int:
    """Print the figures; return 1 if a bound is missed."""
    print(f"{'causes':>6} {'failed':>7} {'cases':>5} {'count':>9} {'find':>9} {'ratio':>6}")
    worst = 0.0
    for plants in range(4):
        site = _site(plants)
        facts = site.nodes.values()
        count = partial(_count, site.nodes, dict(zip(site.features.names, site.features.columns["rack"], strict=True)))
        plain, found = _least(count), _least(partial(find_cases, CaseKind.FAILED, site.nodes, site.features))
        failed = sum(fact.seen is Seen.AFFECTED for fact in facts)
        worst = max(worst, found / plain)
        times = f"{plain * 1e3:>6.2f} ms {found * 1e3:>6.2f} ms {found / plain:>6.1f}"
        print(f"{plants:>6} {failed:>7} {len(site.cases):>5} {times}")
    print(f"the costliest is {worst:.1f} times the plain count (at most {MOST:g})")
    good = worst <= MOST
    if "--found" in arguments:
        good &= _found()
    return not good


def _count(nodes: Mapping[NodeName, NodeFact], racks: Mapping[NodeName, Value]) -> Counter[tuple[Value, Seen]]:
    return Counter((racks[name], fact.seen) for name, fact in nodes.items())


def _site(plants: int) -> CaseSite:
    sites = (case_site(seed, plants, least=NODES, most=NODES) for seed in range(100))
    return next(site for site in sites if len(site.plants) == plants)


def _found() -> bool:
    sites = [case_site(seed) for seed in range(SITES)]
    planted = [site for site in sites if site.plants]
    right = sum(bool(site.cases) and site.names(site.cases[0]) for site in planted)
    empty = [case_site(seed, 0) for seed in range(SITES)]
    false = sum(bool(site.cases) for site in empty)
    print(f"the right cause first: {right} of {len(planted)} sites; a case without a cause: {false} of {len(empty)}")
    return right >= 0.95 * len(planted) and false <= 0.02 * len(empty)


def _least(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        begin = process_time()
        work()
        times.append(process_time() - begin)
    return min(times)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
