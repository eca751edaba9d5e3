"""What a forecast says that it assumed."""

from typing import Any

from shipyard_api.api.airship.forecasts import _assumed
from shipyard_api.domain.rollout.assumptions import Beta, PhaseAssumption
from tests.unit.tables import every_row


@every_row(
    [
        # the failures, the seconds; the chance, the nodes that were measured, the median
        (0.25, [7.04], 0.25, 0, 7.0),
        (0.25, [1.0, 2.0], 0.25, 0, 2.0),
        (Beta(1.0, 3.0), [1.0, 2.0, 3.0, 40.0, 50.0], 0.25, 12, 3.0),
    ]
)
def test_an_assumption_shows_its_mean_its_measured_nodes_and_its_median(
    failure: Any, seconds: list[float], mean: float, nodes: int, median: float
) -> None:
    assert _assumed(PhaseAssumption(failure, seconds), 12) == {
        "failure_probability": mean,
        "measured_nodes": nodes,
        "seconds": {"p50": median},
    }
