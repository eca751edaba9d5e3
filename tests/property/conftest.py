"""How hypothesis behaves here: at every commit the same few examples, on demand many that nobody has tried.

``SHIPYARD_EXAMPLES=5000`` tries that many, and others each time; ``./dev crash`` tries 1,000. Nothing is kept between
runs, so that runs may share a checkout; a failing example is printed with the decorator that repeats it.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

HERE = Path(__file__).parent
EXAMPLES = os.environ.get("SHIPYARD_EXAMPLES")

# What hypothesis caches belongs to what is built, not to the checkout.
set_hypothesis_home_dir(HERE.parents[1] / ".build" / "hypothesis")

settings.register_profile(
    "house",
    max_examples=int(EXAMPLES or "40"),
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    print_blob=True,
    # Of random designs, one in six renders.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("house")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what has more examples than are tried at every commit: pytest asks here about this folder's tests only."""
    item.add_marker("property")
