"""MachineObservation, without a database."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.usecases.drift.observe import ObserveNodes


def test_without_an_action_to_sight_one_transaction_is_begun_and_no_peer_is_asked() -> None:
    begun = []

    def begin() -> Any:
        begun.append(1)
        return nullcontext(SimpleNamespace(observations=SimpleNamespace(to_observe=lambda **_: ())))

    store, nobody = cast(Any, SimpleNamespace(begin=begin)), cast(Any, None)

    assert ObserveNodes(store, nobody, None, nobody, lambda: datetime(2026, 3, 2, tzinfo=UTC), 30.0)() == 0
    assert begun == [1]
