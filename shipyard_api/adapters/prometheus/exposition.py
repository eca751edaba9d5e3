"""The metrics of a process as Prometheus' text format."""

import os

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from shipyard_api.adapters.prometheus.activities import ActivityMetrics


class PrometheusText:
    """Fills ``ports.metrics.Exposition``. ``site``: the collector of the site; None for a process that has none."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, activities: ActivityMetrics, site: Collector | None = None) -> None:
        shared = bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        further = CollectorRegistry()
        self._registries = [CollectorRegistry() if shared else activities.registry, further]
        if shared:
            MultiProcessCollector(self._registries[0])  # type: ignore[no-untyped-call]  # without types
        if site is None:
            ProcessCollector(registry=further)
        else:
            further.register(site)

    def text(self) -> bytes:
        """Return all metrics as they are now."""
        return b"".join(map(generate_latest, self._registries))
