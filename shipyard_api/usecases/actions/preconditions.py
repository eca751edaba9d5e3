"""Preconditions of a new action: no other site action runs, and no straggler holds its nodes."""

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
    except_nodes: Collection[NodeName] = frozenset(),
) -> None:
    """Raise WorkUnderWay if a straggler holds one of these nodes (None: any node), or the whole site."""
    for straggler in stragglers:
        work = straggler.work.nodes
        held = None if work is None else [one for one in work if nodes is None or one in nodes]
        held = None if held is None else [one for one in held if one not in except_nodes]
        if held == []:
            continue
        operation = straggler.work.operation.value
        raise WorkUnderWay(operation, held, straggler.job, straggler.action, straggler.why)


@contextmanager
def site_is_busy() -> Iterator[None]:
    """Turn SiteBusy of the store into SiteActionRunning."""
    try:
        yield
    except SiteBusy as busy:
        raise SiteActionRunning(busy.running, busy.name) from busy
