"""What must not be in the way of a new action: another one on the site, or work of an earlier one that goes on."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from shipyard_api.domain.errors import SiteActionRunning, WorkUnderWay
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.errors import SiteBusy
from shipyard_api.ports.state.stragglers import Straggler


def refuse_stragglers(
    stragglers: Sequence[Straggler],
    nodes: Collection[NodeName] | None,
    *,
    apart_from: Collection[NodeName] = frozenset(),
) -> None:
    """Raise Conflict if work goes on on one of these nodes (None: on any), or on the site as a whole."""
    for straggler in stragglers:
        held = straggler.work.nodes
        wanted = None if held is None else [one for one in held if (nodes is None or one in nodes)]
        wanted = None if wanted is None else [one for one in wanted if one not in apart_from]
        if wanted == []:
            continue
        operation = straggler.work.operation.value
        raise WorkUnderWay(operation, wanted, straggler.job, straggler.action, straggler.why)


@contextmanager
def site_is_busy() -> Iterator[None]:
    """Turn the store's word that a site action runs into the caller's."""
    try:
        yield
    except SiteBusy as busy:
        raise SiteActionRunning(busy.running, busy.name) from busy
