"""Time limits of a teardown's operations, which may change while it runs (seed 004; contract: promenade, 3.2)."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from shipyard_api.domain.findings import Finding, error


@dataclass(frozen=True, slots=True)
class TeardownLimits:
    """Whole seconds for each operation; the defaults are the seed's, that of ``shutdown_kubelet`` is ours.

    ``drain_grace_period`` is given to every pod instead of its own.
    """

    drain: int = 3600
    drain_grace_period: int = 1800
    clear_labels: int = 1800
    remove_etcd: int = 1800
    etcd_ready: int = 600
    shutdown_kubelet: int = 300

    @property
    def decommission(self) -> int:
        """How long a whole decommission may take: operations run one after another."""
        return self.drain + self.clear_labels + self.remove_etcd + self.etcd_ready + self.shutdown_kubelet

    def check(self) -> tuple[Finding, ...]:
        """Return an error for each limit that cannot work."""
        return tuple(self._faults())

    def _faults(self) -> Iterator[Finding]:
        for one in fields(self):
            value = getattr(self, one.name)
            if value < 1:
                name = one.name.replace("_", "-")
                yield error("LimitNotPositive", f"{name} is {value}: write a whole number of seconds above 0.")
        if self.drain_grace_period >= self.drain:
            numbers = f"{self.drain_grace_period} s is not less than the drain's timeout of {self.drain} s"
            message = f"The grace period of {numbers}: shorten it, or extend the timeout."
            yield error("GracePeriodTooLong", message)
