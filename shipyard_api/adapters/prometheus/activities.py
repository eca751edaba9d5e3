"""Durations and outcomes of what a process does, as histograms: an observer of ``telemetry``.

With ``PROMETHEUS_MULTIPROC_DIR`` set, the values of all processes of a server are in files of that directory, and each
process exposes the sum.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import perf_counter

from prometheus_client import CollectorRegistry, Histogram, values
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
