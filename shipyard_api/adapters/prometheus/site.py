"""Figures of the site, read from the database when they are scraped: every process gives the same ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.measures import Count, SiteCounts


class SiteCollector(Collector):
    """Fills prometheus_client's ``Collector``.

    ``counts`` may raise StoreUnavailable. ``clocks``: seconds that the clocks of others are ahead, by system.
    """

    def __init__(self, counts: Callable[[], SiteCounts], clocks: Callable[[], Mapping[str, float]]) -> None:
        self._counts = counts
        self._clocks = clocks

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Return nothing: registration must not read the database."""
        yield from ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the figures as they are now."""
        try:
            counts = self._counts()
        except StoreUnavailable:
            yield _gauge("database_up", "Whether the database answers.", 0)
            return
        yield _gauge("database_up", "Whether the database answers.", 1)
        yield _counted("actions", "Actions.", ("action", "state"), counts.actions)
        yield _counted("deployment_groups", "Groups of the latest site action.", ("status",), counts.groups)
        yield _counted("phases", "Phases of the latest site action.", ("phase", "status"), counts.phases)
        yield _counted("nodes", "Nodes of the latest site action.", ("status",), counts.nodes)
        yield _counted("work_items", "Work items of actions that have not ended.", ("state",), counts.items)
        yield _gauge("stragglers", "Work of a provisioner that its action no longer waits for.", counts.stragglers)
        yield _gauge("holds", "Active holds on nodes.", counts.holds)
        yield _gauge("failed_nodes", "Failed nodes of the latest site action that no hold mutes.", counts.failed)
        yield _gauge(
            "late_nodes", "Nodes with which a running phase lasts longer than usual, that no hold mutes.", counts.late
        )
        yield _gauge("cases", "Causes that failed or late nodes of the latest site action share.", counts.cases)
        yield _gauge(
            "older_nodes", "Servers that the latest site action left with an older specification.", counts.older
        )
        yield from _queue(counts)
        yield from _workers(counts.heartbeats)
        skew = _family("clock_skew_seconds", "Seconds that a clock is ahead of the clock of this host.", ("system",))
        for system, ahead in sorted(self._clocks().items()):
            skew.add_metric((system,), ahead)
        yield skew


def _queue(counts: SiteCounts) -> Iterator[GaugeMetricFamily]:
    jobs = _family("queue_jobs", "Jobs in the queue: due, scheduled or running.", ("queue", "state"))
    lag = _family("queue_lag_seconds", "Seconds since the oldest due job was due.", ("queue",))
    lags: dict[str, float] = {}
    for load in counts.queue:
        jobs.add_metric((load.queue, load.state), load.jobs)
        lags[load.queue] = max(lags.get(load.queue, 0.0), load.oldest)
    for queue, seconds in lags.items():
        lag.add_metric((queue,), seconds)
    yield jobs
    yield lag


def _workers(heartbeats: Sequence[float]) -> Iterator[GaugeMetricFamily]:
    yield _gauge("workers", "Workers that are registered: running, or dead and not yet noticed.", len(heartbeats))
    age = _family("worker_heartbeat_age_seconds", "Seconds since the latest heartbeat of any worker.", ())
    if heartbeats:
        age.add_metric((), min(heartbeats))
    yield age


def _family(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"shipyard_{name}", text, labels=labels)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"shipyard_{name}", text, value=value)


def _counted(name: str, text: str, labels: Sequence[str], counts: Sequence[Count]) -> GaugeMetricFamily:
    family = _family(name, text, labels)
    for count in counts:
        family.add_metric(count.labels, count.number)
    return family
