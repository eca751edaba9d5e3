"""What a write costs its caller."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.api.http.limits import NO_WRITE, SMALL_WRITE, WriteLimit
from tests.unit.tables import every_row

LARGE = 256 * 1024


@every_row(
    [
        # method, whether the caller is known, the cost that the resource states (none: nothing), bytes; what is counted
        ("POST", True, None, None, [1.0]),
        ("PUT", True, None, 0, [1.0]),
        ("PATCH", True, SMALL_WRITE, None, [0.05]),
        ("DELETE", True, SMALL_WRITE, LARGE // 2, [0.55]),
        ("POST", True, SMALL_WRITE, LARGE * 9, [1.0]),
        ("POST", True, NO_WRITE, LARGE, []),
        ("POST", True, lambda req: 0.25 if req.method == "POST" else 0.0, None, [0.25]),
        ("PUT", True, lambda req: 0.25 if req.method == "POST" else 0.0, None, []),
        ("GET", True, None, None, []),
        ("POST", False, None, None, []),
    ]
)
def test_a_write_counts_with_what_its_resource_states_and_its_size(
    method: str, known: bool, states: Any, size: int | None, counted: list[float]
) -> None:
    identity = {"identity": SimpleNamespace(key="ann")} if known else {}
    request: Any = SimpleNamespace(method=method, content_length=size, context=SimpleNamespace(**identity))
    resource = SimpleNamespace(**({} if states is None else {"write_cost": states}))
    calls: list[tuple[str, float]] = []

    limit = WriteLimit(cast(Any, lambda key, cost: calls.append((key, cost))))
    asyncio.run(limit.process_resource(request, cast(Any, None), resource, {}))

    assert calls == [("ann", cost) for cost in counted]
