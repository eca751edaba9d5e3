"""The metrics of a process as Prometheus' text format, and the activities that it observes, as histograms."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from time import perf_counter

from msgspec import Struct
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
    values,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.values import MultiProcessValue

from shipyard_api.observing import request_context
from shipyard_api.observing.telemetry import Activity, Kind

# Seconds. Peers take milliseconds for a query, and up to minutes for a wipe or a drain that they answer at its end.
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_OUTCOME = "outcome"
_SITE = "site"


class ActivityMetrics:
    """The histograms. Their labels have few different values: words of ours, and templates of routes.

    ``by_site``: further label them with the site that the thread works for.
    """

    def __init__(self, *, by_site: bool = False) -> None:
        self.registry = CollectorRegistry()
        self._further = (_SITE,) if by_site else ()
        self._histograms = {
            Kind.REQUEST: self._histogram("request", "requests that the API answered", "method", "route", "status"),
            Kind.TURN: self._histogram("turn", "turns of actions, from the claim on", "action", _OUTCOME),
            Kind.ITEM: self._histogram("item_turn", "turns of work items, from the claim on", _OUTCOME),
            Kind.EFFECT: self._histogram("effect", "attempts to change or to ask a peer", "effect", _OUTCOME),
            Kind.PEER: self._histogram("peer_call", "calls of peers, retries apart", "system", "method", _OUTCOME),
        }

    @contextmanager
    def observe(self, activity: Activity) -> Iterator[None]:
        """Measure an activity."""
        began = perf_counter()
        try:
            yield
        finally:
            histogram, names = self._histograms[activity.kind]
            values = {**activity.labels, _OUTCOME: activity.outcome, _SITE: request_context.site()}
            histogram.labels(*(values.get(name, "") for name in names)).observe(perf_counter() - began)

    def _histogram(self, name: str, what: str, *labels: str) -> tuple[Histogram, tuple[str, ...]]:
        text = f"Duration in seconds of {what}."
        labels += self._further
        return Histogram(f"shipyard_{name}_seconds", text, labels, registry=self.registry, buckets=_BUCKETS), labels


def keep_values_as(name: str) -> None:
    """Keep the values of this process in files of that name, which its successor goes on with; before any metric.

    Files by process id would be many: workers of sites come and go.
    """
    values.ValueClass = MultiProcessValue(lambda: name)  # type: ignore[no-untyped-call]  # without types


@cache
def activity_metrics(*, by_site: bool = False) -> ActivityMetrics:
    """Return the histograms of this process; ``by_site``: as of ``ActivityMetrics``."""
    return ActivityMetrics(by_site=by_site)


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


class _OfSite(Struct, frozen=True):
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
