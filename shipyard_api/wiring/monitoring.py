"""Metrics, traces, probes and clocks of a process: chooses observers, and exporters for monitoring."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from importlib import import_module

from shipyard_api.adapters.opentelemetry import TraceOptions
from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.http import HttpClient
from shipyard_api.observing.telemetry import observe_with
from shipyard_api.ports.errors import Busy
from shipyard_api.ports.metrics import Exposition, Queries
from shipyard_api.settings.plugins import DESIGN_STORES
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.health import ClockSkew, Reading
from shipyard_api.wiring import provisioners
from shipyard_api.wiring.settings import Settings, SettingsError


def api_metrics(store: Store, clocks: Callable[[], Mapping[str, float]], site: str = "") -> Exposition:
    """Return the metrics of the site and of the API. ``clocks``: seconds that they are ahead, by system.

    ``site``: its name in a process that serves many, whose metrics have it as a label; samples of other sites are left
    out.
    """
    from shipyard_api.adapters.prometheus.exposition import PrometheusText, activity_metrics
    from shipyard_api.adapters.prometheus.site import SiteCollector

    activities = activity_metrics(by_site=bool(site))
    observe_with(activities.observe)
    figures = SiteCollector(lambda: store.read(lambda tx: tx.measures.counts()), clocks)
    return PrometheusText(activities, figures, site)


def queries(settings: Settings) -> Queries | None:
    """Return the Prometheus that answers queries, None if none is configured. Raises SettingsError."""
    options = settings.prometheus
    if not options.url:
        return None
    if faults := list(options.faults()):
        raise SettingsError(faults)
    # Imported late: few sites need it.
    from shipyard_api.adapters.prometheus.queries import PrometheusQueries

    return PrometheusQueries(
        options.url,
        token=str(options.token),
        ca_file=options.ca_file,
        connect_timeout=options.connect_timeout_seconds,
        read_timeout=options.read_timeout_seconds,
    )


def clock_skew(settings: Settings, provisioner: str, database: Reading) -> ClockSkew:
    """Return the clocks of the database and of every configured peer; ``provisioner``: its name."""
    _, options = provisioners.chosen(settings)
    addresses = {
        provisioner: options.url,
        **{store.system: settings.of(name, store.options).url for name, store in DESIGN_STORES.installed().items()},
        "Promenade": settings.promenade.url,
        "Keystone": settings.keystone.auth_url,
        "Kubernetes": settings.kubernetes.url,
    }
    trusted = {
        provisioner: getattr(options, "ca_file", ""),
        "Keystone": settings.keystone.ca_file,
        "Kubernetes": settings.kubernetes.ca_file,
    }
    peers = {
        name: partial(clock_ahead, url, name, ca_file=trusted.get(name, "")) for name, url in addresses.items() if url
    }
    return ClockSkew({"database": database, **peers})


def clock_ahead(url: str, system: str, *, ca_file: str = "", timeout: float = 3.0) -> float | None:
    """Return how many seconds the ``Date`` of a peer is ahead of this host's clock, None without one.

    Asks once and without credentials: any answer will do but that of a gateway without its peer. Raises Unavailable.
    ``system``: the peer in errors and metrics.
    """
    try:
        client = HttpClient(
            url, system=system, ca_file=ca_file, read_attempts=1, connect_timeout=timeout, read_timeout=timeout
        )
        answer = client.get("", seconds=timeout)
        date = parsedate_to_datetime(answer.headers.get("date", ""))
    except (Busy, ValueError):
        return None
    return (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


@cache
def trace(program: str, options: TraceOptions) -> None:
    """Trace what this process does, if the settings ask for it. Raises SettingsError without the extra ``otel``."""
    if not options.endpoint:
        return
    check_traces(options)
    from shipyard_api.adapters.opentelemetry.traces import exported

    observe_with(exported(program, options.endpoint, options.share).observe)


def check_traces(options: TraceOptions) -> None:
    """Raise SettingsError if traces are wanted without the extra ``otel``."""
    if not options.endpoint:
        return
    try:
        # Imported late: it is an extra, and large.
        import_module("shipyard_api.adapters.opentelemetry.traces")
    except ImportError as missing:
        raise SettingsError([f"[traces] endpoint needs pip install 'shipyard[otel]': {missing}"]) from missing


def observe_worker(options: WorkerOptions, site: str) -> None:
    """Measure what the worker of a site does, for the status port of the pool that it belongs to."""
    if not options.status_port:
        return
    from shipyard_api.adapters.prometheus.exposition import activity_metrics, keep_values_as

    keep_values_as(site)
    observe_with(activity_metrics(by_site=True).observe)


@contextmanager
def status_port(options: WorkerOptions, heartbeat_age: Callable[[], float | None]) -> Iterator[None]:
    """Serve probes and metrics of a worker while the block runs, if the settings ask for it.

    The worker is live if its latest heartbeat is recent, or its start if it has sent none yet.
    """
    if not options.status_port:
        yield
        return
    # Imported late: a worker without the port needs none of it.
    from shipyard_api.adapters.prometheus.exposition import PrometheusText, activity_metrics
    from shipyard_api.adapters.status_port import served

    activities, started = activity_metrics(), time.monotonic()
    observe_with(activities.observe)

    def live() -> bool:
        age = heartbeat_age()
        return (time.monotonic() - started if age is None else age) < options.stalled_seconds

    def ready() -> bool:
        return heartbeat_age() is not None and live()

    exposition = PrometheusText(activities)
    with ExitStack() as cleanup:
        port = served(options.status_address, options.status_port, exposition, live=live, ready=ready)
        try:
            cleanup.enter_context(port)
        except OSError as error:
            where = f"{options.status_address}, port {options.status_port}"
            raise SettingsError([f"[worker] status_address, status_port: cannot serve at {where}: {error}"]) from error
        yield
