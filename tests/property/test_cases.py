"""On sites with planted causes the right one is named first, and on sites without there is no case.

The whole of it, 200 sites of up to 10,000 nodes, is ``benchmarks/cases.py --found``.
"""

from tests.case_sites import case_site

_SITES, _MOST_NODES = 40, 800


def test_the_planted_cause_is_named_first() -> None:
    sites = [case_site(seed, 1 + seed % 3, most=_MOST_NODES) for seed in range(_SITES)]
    missed = [site.plants for site in sites if not (site.cases and site.names(site.cases[0]))]
    assert len(missed) <= 0.05 * _SITES, missed


def test_sites_without_a_cause_have_no_case() -> None:
    found = [case.sentence for seed in range(2 * _SITES) for case in case_site(seed, 0, most=_MOST_NODES).cases]
    assert len(found) <= 0.02 * 2 * _SITES, found
