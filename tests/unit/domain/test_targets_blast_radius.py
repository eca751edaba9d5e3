"""Which share of the site is too much."""

from shipyard_api.domain.targets import BlastRadius
from tests.unit.tables import every_row


@every_row(
    [(10, 10, 1.0, False), (5, 10, 0.5, False), (6, 10, 0.5, True), (1, 10, 0.05, True), (0, 0, 0.5, False)],
)
def test_a_share_is_too_large_above_the_setting(touched: int, nodes: int, most: float, too_large: bool) -> None:
    assert BlastRadius(touched, nodes, most).too_large is too_large


def test_the_finding_says_how_much_and_which_setting() -> None:
    assert BlastRadius(6, 10, 0.125).finding("deploy_site").message == (
        "deploy_site touches 6 of the site's 10 nodes (60 %), more than the 12.5 % that [actions] max_share_touched "
        "allows."
    )
