"""The metrics of a process as Prometheus' text format."""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from shipyard_api.adapters.prometheus.activities import ActivityMetrics

_SITE = "site"


class PrometheusText:
    """Fills ``ports.metrics.Exposition``. ``figures``: the collector of a site; None for a process that has none.

    ``site``: the name of that site in a process that serves many.
    """

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, activities: ActivityMetrics, figures: Collector | None = None, site: str = "") -> None:
        shared = bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        further = CollectorRegistry()
        further.register(_Build())
        self._registries = [CollectorRegistry() if shared else activities.registry, further]
        if shared:
            MultiProcessCollector(self._registries[0])  # type: ignore[no-untyped-call]  # without types
        if figures is None:
            ProcessCollector(registry=further)
        else:
            further.register(figures)
        self._site = site

    def text(self) -> bytes:
        """Return all metrics as they are now."""
        registries = (
            [_OfSite(registry, self._site) for registry in self._registries] if self._site else self._registries
        )
        return b"".join(map(generate_latest, registries))


class _Build(Collector):
    """The release that runs here, as labels of a metric that is always 1."""

    def collect(self) -> Iterator[Metric]:
        labels = {"version": version("shipyard"), "python": platform.python_version()}
        family = GaugeMetricFamily(
            "shipyard_build_info", "The release of this process, and its Python.", labels=[*labels]
        )
        family.add_metric(list(labels.values()), 1)
        yield family


@dataclass(frozen=True, slots=True)
class _OfSite:
    """The metrics of one site: samples with its label, and samples without a site, which get the label."""

    registry: CollectorRegistry
    site: str

    def collect(self) -> Iterator[Metric]:
        for metric in self.registry.collect():
            samples = [
                sample._replace(labels={**sample.labels, _SITE: self.site})
                for sample in metric.samples
                if sample.labels.get(_SITE, self.site) == self.site
            ]
            if samples:
                metric.samples = samples
                yield metric
