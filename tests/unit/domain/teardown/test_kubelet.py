"""Signs of a kubelet that has stopped (contract: promenade, 4.1 and 4.5)."""

from datetime import UTC, datetime, timedelta

from shipyard_api.domain.teardown.kubelet import Kubelet, Ready, is_shut_down, state_of
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@every_row(
    [
        (Ready.TRUE, 10, False, False),
        (Ready.TRUE, 61, False, True),  # its condition follows later
        (Ready.FALSE, 60, False, False),
        (Ready.FALSE, 61, True, True),
        (Ready.UNKNOWN, 10, False, True),
        (Ready.UNKNOWN, 61, True, True),
        (Ready.UNKNOWN, None, True, True),
    ],
)
def test_a_drain_wants_both_signs_and_a_shutdown_either(
    ready: Ready, renewed_ago: int | None, is_dead: bool, has_stopped: bool
) -> None:
    renewed_at = None if renewed_ago is None else NOW - timedelta(seconds=renewed_ago)

    assert state_of(ready, renewed_at, NOW) is (Kubelet.DEAD if is_dead else Kubelet.ALIVE)
    assert is_shut_down(ready, renewed_at, NOW) is has_stopped
