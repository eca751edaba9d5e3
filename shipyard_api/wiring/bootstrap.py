"""Wire the programs from their parts and use cases.

What only one program needs is imported by its function: a worker starts sooner, and each process is smaller.
"""

import os
import socket
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.observing import logs
from shipyard_api.settings.plugins import ASSIGNMENTS
from shipyard_api.storage.addresses import SERVER_KEEPALIVES, conninfo
from shipyard_api.storage.connections import ConnectionBound
from shipyard_api.storage.rivals import avoid_old_primary, check_old_primary
from shipyard_api.storage.schema import check_database
from shipyard_api.usecases.drift.observe import ObserveNodes
from shipyard_api.usecases.health import WatchReplication
from shipyard_api.usecases.holds.health import PollHealth, ReportHealth
from shipyard_api.usecases.holds.manage import NodeHolds
from shipyard_api.usecases.holds.windows import PlaceWindowHolds
from shipyard_api.usecases.retention import PruneHistory
from shipyard_api.usecases.stragglers import WatchStragglers
from shipyard_api.wiring import (
    access,
    design_stores,
    parts,
    provisioners,
    webhooks,
)
from shipyard_api.wiring.settings import Settings, SettingsError, share_directory
from shipyard_api.workflow.turn import Engine

if TYPE_CHECKING:
    from shipyard_api.adapters.procrastinate.worker import TurnWorker
    from shipyard_api.api.airship.costly_work import CostlyWork
    from shipyard_api.api.mount import Mount

# How often stragglers are polled, in seconds of the site.
STRAGGLER_SECONDS = 30.0

# How often the committed design is read for windows that hold nodes, in seconds of the site.
WINDOW_SECONDS = 60.0

# A site may run thousands of times faster than real hardware; what the worker does now and then takes real time.
_SHORTEST_PAUSE = 0.25


def check(settings: Settings) -> parts.Parts:
    """Return the parts after building all that API and worker need; raises SettingsError as they would.

    Opens no connection and starts no thread.
    """
    from shipyard_api.api.http.dialect import mounted
    from shipyard_api.wiring import monitoring

    mounted(lambda dialect: dialect)
    ASSIGNMENTS.installed()
    built = parts.build(settings)
    access.identities(settings, built.store)
    access.policy(settings)
    webhooks.targets(settings)
    provisioners.links(settings)
    parts.definitions(built)
    monitoring.check_traces(settings.traces)
    if fault := logs.audit_fault(settings.log.audit_file):
        raise SettingsError([f"[log] audit_file: {fault}"])
    return built


def api(
    settings: Settings, costly: "CostlyWork | None" = None, *, site: str = "", bound: ConnectionBound | None = None
) -> "Mount":
    """Return the ASGI application. ``costly``: runs its plans and forecasts; None: this process does.

    ``site``: its name in a process that serves many. ``bound``: as of ``parts.build``.
    """
    from shipyard_api.adapters.identity.tokens import TicketIdentities
    from shipyard_api.adapters.postgres_listen import PostgresNotices
    from shipyard_api.api import oidc as oidc
    from shipyard_api.api.airship.app import Collaborators, dialect
    from shipyard_api.api.airship.costly_work import CostlyWork
    from shipyard_api.api.dashboard.app import PREFIX, Dashboard
    from shipyard_api.api.events import resources as events
    from shipyard_api.api.events.hub import Hub
    from shipyard_api.api.http.dialect import Guards, create_app, mounted
    from shipyard_api.api.http.limits import Application
    from shipyard_api.api.http.waiting import EndedActions
    from shipyard_api.api.mount import Mount
    from shipyard_api.usecases.callers import LimitWrites
    from shipyard_api.usecases.health import CheckHealth
    from shipyard_api.usecases.tokens import EventTickets
    from shipyard_api.wiring import monitoring, site_use_cases

    monitoring.trace("api", settings.traces)
    built = parts.build(settings, bound)
    store, limits = built.store, settings.api
    identities, sign_in = access.identities(settings, store)
    policy = access.policy(settings)
    guards = Guards(identities, policy, LimitWrites(store, limits.writes_per_minute, limits.writes_burst))
    cases = site_use_cases.of_api(built, identities)
    skew = monitoring.clock_skew(settings, built.provisioner.name, built.clock.ahead_of_host)
    tickets = EventTickets(store)
    hub = Hub(cases.journal.follow, PostgresNotices(partial(conninfo, settings.database.url), SERVER_KEEPALIVES))
    collaborators = Collaborators(
        use_cases=cases,
        check_schema=store.check_schema,
        clock_skew=skew,
        check_health=CheckHealth(store, store.check_schema, skew, pooled=bool(site)),
        metrics=monitoring.api_metrics(store, skew.latest, site),
        ended_actions=EndedActions(cases.operate.ended),
        events=events.routes(hub, tickets),
        sign_in=oidc.routes(sign_in),
        openapi=share_directory() / "schemas" / "openapi.yaml",
        security_contact=limits.security_contact,
        costly=costly or CostlyWork(),
    )
    prefixes: dict[str, Application] = {**mounted(lambda dialect: create_app(dialect, cases, guards))}
    with_tickets = TicketIdentities(identities, tickets.authenticate, events.PATH)
    airship = create_app(dialect(collaborators), cases, replace(guards, identities=with_tickets))
    page = Dashboard(otherwise=prefixes.get("/", airship))
    return Mount(airship, {**prefixes, "/": page, PREFIX: page})


def worker(settings: Settings) -> "TurnWorker":
    """Return the worker. Raises UnsuitableDatabase or StoreUnavailable."""
    from shipyard_api.adapters.procrastinate.worker import TurnWorker
    from shipyard_api.wiring import monitoring, pulls

    monitoring.trace("worker", settings.traces)
    avoid_old_primary(settings.database.url)
    built = parts.build(settings)
    check_database(settings.database.url)
    name = f"{socket.gethostname()}:{os.getpid()}"
    engine = Engine(
        built.store,
        parts.definitions(built),
        built.clock,
        settle=settings.engine.settle_seconds,
        worker=name,
    )
    options = settings.worker
    pause = STRAGGLER_SECONDS * settings.engine.time_scale
    watch = WatchStragglers(built.store, built.provisioner, built.clock.now, pause, name)
    machines = partial(design_stores.machines, built.rendered)
    observe = ObserveNodes(built.store, built.provisioner, built.cluster, machines, built.clock.now, pause)
    minute = WINDOW_SECONDS * settings.engine.time_scale
    hold = PlaceWindowHolds(built.store, built.designs, built.rendered, built.rules, built.clock.now, minute)
    nodes = NodeHolds(built.store, built.designs, built.rendered, built.clock)
    health = PollHealth(ReportHealth(nodes), built.provisioner, built.clock.now, 2 * minute)

    kept = settings.actions
    prune = PruneHistory(built.store, built.clock.now, int(kept.keep_days), int(kept.keep_newest), ACTIONS.of_the_site)

    def sweep() -> int:
        built.store.check_schema()
        check_old_primary(settings.database.url)
        built.clock.measure()
        return engine.sweep(grace=options.overdue_seconds)

    return TurnWorker(
        conninfo(settings.database.url),
        engine.run,
        engine.items.run,
        sweep,
        options,
        waiting=engine.bulkhead.waiting,
        lag=engine.bulkhead.lag,
        chores=(watch, observe, prune.chore, WatchReplication(built.store), hold, health, *pulls.pull(built)),
        chores_seconds=max(pause / 2, _SHORTEST_PAUSE),
        on_connect=SERVER_KEEPALIVES,
        beside=webhooks.deliveries(settings, built.store, name),
    )
