"""Turns and effects as activities for metrics and traces."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from shipyard_api.observing.telemetry import Kind, observed
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable


@contextmanager
def observed_turn(
    kind: Kind, labels: Mapping[str, str], details: Mapping[str, str | int], parent: str
) -> Iterator[None]:
    """Observe a turn from its claim on; the outcome is success, fenced, no_database, or failed for a bug.

    ``parent``: trace context of the request that created the action.
    """
    with observed(kind, kind.value, labels, parent=parent) as seen:
        seen.details |= {name: str(value) for name, value in details.items()}
        try:
            yield
        except Fenced:
            seen.outcome = "fenced"
            raise
        except StoreUnavailable:
            seen.outcome = "no_database"
            raise
