"""Errors about teardowns."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import Conflict
from shipyard_api.domain.findings import Finding


@dataclass(eq=False)
class EtcdForbids(Conflict):
    """Etcd members of the servers cannot leave their clusters now, as these answer; ``force`` goes on."""

    findings: Sequence[Finding]
