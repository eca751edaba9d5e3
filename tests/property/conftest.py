"""How hypothesis behaves here: enough examples to find what a table misses, few enough to be run at every commit.

More of them on demand: ``SHIPYARD_EXAMPLES=5000``. Nothing is kept between runs, so that runs may share a checkout;
a failing example is printed with the decorator that repeats it.
"""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

# What hypothesis caches belongs to what is built, not to the checkout.
set_hypothesis_home_dir(Path(__file__).parents[2] / ".build" / "hypothesis")

settings.register_profile(
    "house",
    settings.default,  # on CI hypothesis' own default repeats the same examples at every run
    max_examples=int(os.environ.get("SHIPYARD_EXAMPLES", "100")),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")
