"""Whether a fail-over may lose what was confirmed."""

from shipyard_api.domain.histories import Replication
from tests.unit.tables import every_row


@every_row(
    [
        (Replication(0, 0, "", "on"), ""),  # a single server
        (Replication(1, 1, "*", "on"), ""),
        (Replication(2, 1, "FIRST 1 (a)", "remote_apply"), ""),
        (Replication(1, None, "*", "on"), ""),  # our role may not see it
        (Replication(1, 0, "", "on"), "replication is asynchronous: "),
        (Replication(1, None, "  ", "on"), "replication is asynchronous: "),
        (Replication(1, 0, "other", "on"), "no attached standby is synchronous: "),
        (Replication(1, 1, "*", "local"), "synchronous_commit is local, "),
        (Replication(1, 1, "*", "off"), "synchronous_commit is off, "),
    ],
)
def test_what_may_be_lost(replication: Replication, finding: str) -> None:
    assert bool(replication.finding) is bool(finding)
    assert replication.finding.startswith(finding)
