"""What a design says about running things that actions must not harm, as a value."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.limits import TeardownLimits


@dataclass(frozen=True, slots=True)
class Protection:
    """What protects running things. ``revision``: None without a committed design.

    ``clusters``: the managed etcd clusters. ``genesis``: the hosts that are not torn down. ``limits``: of drains, the
    usual ones if the design sets none. ``faults``: errors that hide the clusters or the hosts.
    """

    limits: TeardownLimits = TeardownLimits()  # noqa: RUF009  # immutable
    revision: Revision | None = None
    clusters: Sequence[EtcdAccess] = ()
    genesis: frozenset[NodeName] = frozenset()
    faults: Sequence[Finding] = ()
