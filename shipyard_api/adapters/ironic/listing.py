"""The nodes of jobs, with few requests: one listing for all reports of a time, or the few nodes one by one.

Ironic lists no changes: ``updated_at`` cannot be asked for, and a list sorted by ``provision_updated_at`` has the nodes
that never moved first or last (contract: ironic-provisioner, section 6). So a listing has all nodes, without fields
that no report needs, and serves every report for some seconds. A node whose text is the same as in the listing before
is not parsed again: parsing is nine tenths of the work with 10,000 nodes. Between two listings, nodes of small jobs are
read one by one, until that has cost as many requests as a listing.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import Struct, field

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import Operation, Work

from . import translate
from .client import LARGEST_PAGE, IronicClient, parsed
from .translate import FIELDS, HEALTH, INTERNAL, Node

T = TypeVar("T")


class _Reading(Struct, Generic[T], frozen=True):
    began: datetime
    result: "Future[T]" = field(default_factory=Future)


class SharedReading(Generic[T]):
    """A reading that serves everyone for ``seconds``. ``now``: a clock that may be set; then no reading is recent."""

    def __init__(self, read: Callable[[], T], now: Callable[[], datetime], seconds: float) -> None:
        self._read = read
        self._now = now
        self._age = timedelta(seconds=seconds)
        self._lock = threading.Lock()
        self._newest: _Reading[T] | None = None

    def recent(self) -> T | None:
        """Return what was read within the seconds, None if nothing was.

        Waits for a reading that is on its way, and raises its PeerError.
        """
        with self._lock:
            newest = self._newest
        if newest is None or not timedelta(0) <= self._now() - newest.began < self._age:
            return None
        try:
            return newest.result.result()
        except PeerError as error:
            raise error.again() from error  # callers add to an error what they know

    def fresh(self) -> T:
        """Read now, for later callers too."""
        reading: _Reading[T] = _Reading(self._now())
        with self._lock:
            self._newest = reading
        try:
            value = self._read()
        except BaseException as error:
            with self._lock:
                if self._newest is reading:
                    self._newest = None
            reading.result.set_exception(error)
            raise
        reading.result.set_result(value)
        return value


INSTALLS = frozenset({Operation.DEPLOY_NODES, Operation.REBUILD_NODES})
"""The operations whose steps Ironic may leave out without an error."""

HEALTH_SINCE = 109
"""N of the version 1.N from which on nodes have a health."""

_MOST_SINGLE = 20  # requests, however large the site is

Nodes = Mapping[NodeName, Node]


class Listing:
    """The nodes of one Ironic; may be shared by threads. ``seconds``: how long a listing serves reports; 0: never.

    ``health``: whether listings also read the health of nodes, from an Ironic that has it.
    """

    def __init__(
        self, client: IronicClient, now: Callable[[], datetime], seconds: float, *, health: bool = False
    ) -> None:
        self._client, self._health = client, health
        self._shared = SharedReading(self._all, now, seconds) if seconds else None
        self._lock = threading.Lock()
        # Of the newest listing: nodes by their texts, their ids, and how many single requests it still saves.
        self._known: Mapping[bytes, Node] = {}
        self._ids: Mapping[NodeName, str] = {}
        self._saved = 0

    def recent(self, works: Sequence[Work]) -> Nodes | None:
        """Return all nodes from a listing of another report, None without one that has what these works need."""
        return None if self._shared is None or _needs_internal(works) else self._shared.recent()

    def fresh(self, works: Sequence[Work]) -> Nodes:
        """Return the nodes of these works, read now."""
        names = {name for work in works for name in work.nodes or ()}
        if _needs_internal(works):
            return self._internal()
        if self._shared is None:
            return self._all()
        if self._may_be_single(len(names)) and (nodes := self._singly(names)) is not None:
            return nodes
        return self._shared.fresh()

    def shared(self) -> Nodes:
        """Return all nodes from a listing of another report; without one, from a new one that serves reports too."""
        if self._shared is None:
            return self._all()
        recent = self._shared.recent()
        return self._shared.fresh() if recent is None else recent

    def _all(self) -> Nodes:
        before, known = self._known, dict[bytes, Node]()
        with_health = self._health and self._client.version() >= HEALTH_SINCE
        for text in self._client.texts((*FIELDS, HEALTH) if with_health else FIELDS):
            if (node := before.get(text)) is not None:
                known[text] = node
            elif (listed := parsed(text)) is not None:
                known[text] = Node.read(listed)
        nodes = translate.by_name(known.values())
        with self._lock:
            self._known = known
            self._ids = {name: node.uuid for name, node in nodes.items()}
            self._saved = min(len(nodes) // LARGEST_PAGE, _MOST_SINGLE)
        return nodes

    def _internal(self) -> Nodes:
        return translate.by_name(map(Node.read, self._client.nodes((*FIELDS, INTERNAL))))

    def _may_be_single(self, count: int) -> bool:
        with self._lock:
            if count > self._saved:
                return False
            self._saved -= count
            return True

    def _singly(self, names: set[NodeName]) -> Nodes | None:
        """Return these nodes, each with a request; None if one is unknown, or has gone and may be another one now."""
        nodes: dict[NodeName, Node] = {}
        for name in names:
            shown = self._client.node(uuid, FIELDS) if (uuid := self._ids.get(name)) else None
            if shown is None or (node := Node.read(shown)).name != name:
                return None
            nodes[name] = node
        return nodes


def _needs_internal(works: Sequence[Work]) -> bool:
    """Return whether Ironic's own notes are needed: they say which of the steps sent to a node it left out."""
    return any(work.steps and work.operation in INSTALLS for work in works)
