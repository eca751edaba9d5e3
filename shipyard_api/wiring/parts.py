"""The parts that API and worker share, built from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from msgspec.structs import replace

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.site_checks import ActionDesigns, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.findings import Level
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.version_rule import VersionRule
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.addresses import check_address, open_connection
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.connections import ConnectionBound, ConnectionWatchdog
from shipyard_api.storage.unit_of_work import Store, connect, connect_readers
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.actions.forecast import measured, usual_durations
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.parts import SiteParts
from shipyard_api.wiring import (
    clusters,
    design_stores,
    monitoring,
    peer_tokens,
    promenades,
    provisioners,
    remote_nodes,
)
from shipyard_api.wiring.settings import Settings, SettingsError, Severity, share_directory
from shipyard_api.workflow.definition import Definition

# How old the committed design may be that lists of nodes are compared with, if a peer keeps it.
_DESIGN_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Parts(SiteParts):
    """The parts that the API and the worker share."""

    settings: Settings
    clock: DatabaseClock


def build(settings: Settings, bound: ConnectionBound | None = None) -> Parts:
    """Return the parts, without connecting yet. Raises SettingsError if a required setting is missing.

    ``bound``: of the connections of all sites of the process; None for one site, which has its pools.
    """
    needed = {
        "DATABASE_URL": settings.database.url,
        **provisioners.needed(settings),
        **peer_tokens.needed(settings),
    }
    if settings.promenade.url:
        needed["[drydock] design_url"] = provisioners.design_url(settings)
    if settings.promenade.teardown:
        needed["[promenade] url"] = settings.promenade.url
    other_store = settings.design_store()
    if other_store:
        needed[f"[{settings.designs.store}] url"] = other_store[1].url
    faults = [f"{name} is not set" for name, value in needed.items() if not value]
    if settings.database.url:
        try:
            check_address(settings.database.url)
        except StoreUnavailable as error:
            faults.append(str(error))
    if other_store and not design_stores.keys(settings):
        faults.append(
            f"[secrets] keys is not set: with [designs] store = {settings.designs.store} it keeps the fingerprints "
            "that readers see instead of secrets from being guessed; `shipyard db new-key` makes one"
        )
    faults += provisioners.faults(settings)
    faults += peer_tokens.faults(settings)
    faults += [*settings.worker.faults(), *settings.git.faults()]
    if faults:
        raise SettingsError(list(dict.fromkeys(faults)))  # provisioner and peers may share a Keystone
    url, size, open_with = settings.database.url, settings.database.pool_size, bound.open if bound else open_connection
    engine = connect(url, pool_size=size, open_with=open_with)
    readers = connect_readers(url, pool_size=size, open_with=open_with)
    (bound or ConnectionWatchdog()).watch(engine, readers)
    compile_schema, schemas = DataSchemas(), _schema_files(share_directory() / "schemas")
    designs = design_stores.design_store(settings, engine, compile_schema)
    rendered = RenderedDesigns(designs, remember=_DESIGN_SECONDS if other_store else 0.0)
    cluster = clusters.cluster(settings)
    version = version_rule(settings, settings.validations.deployment_version_commit)
    wakeup = ProcrastinateWakeup()
    clock = DatabaseClock(engine, wakeup)
    machines = partial(design_stores.machines, rendered)
    provisioner = provisioners.provisioner(settings, machines, clock.now)
    store = Store(engine, wakeup, readers)
    return Parts(
        settings=settings,
        store=store,
        designs=designs,
        rendered=rendered,
        lock=SqlWriterLock(engine),
        clock=clock,
        schemas=schemas,
        compile_schema=compile_schema,
        rules=DesignRules(
            schemas.check,
            version,
            cluster is not None,
            provisioner.capabilities.limits,
            drains=cluster is not None or settings.promenade.teardown,
            queries=bool(settings.prometheus.url),
            max_share=settings.actions.max_share_touched,
            time_scale=settings.engine.time_scale,
            now=clock.now,
            measured=partial(measured, store),
            learn=partial(usual_durations, store),
        ),
        provisioner=provisioner,
        cluster=cluster,
        cluster_nodes=cluster.nodes if cluster else None,
        etcd=EtcdGateway(),
        access=remote_nodes.access(settings),
    )


@cache
def _schema_files(directory: Path) -> SchemaFiles:
    """Return the schemas of the directory, compiled once for all sites of this process."""
    return SchemaFiles(directory)


def definitions(parts: Parts) -> Mapping[ActionName, Definition]:
    """Return the definition of every action. Raises SettingsError."""
    engine = parts.settings.engine
    retry = RetryPolicy(engine.question_seconds, engine.question_pause_seconds)
    designs = ActionDesigns(parts.designs, parts.rendered.of)
    promenade, service = promenades.validation(parts.settings), promenades.teardown(parts.settings)
    systems = Systems(
        parts.provisioner,
        parts.cluster,
        promenade,
        parts.cluster_nodes,
        parts.etcd if parts.cluster else None,
        service,
        promenades.design_of(parts.settings),
        parts.access,
        monitoring.queries(parts.settings),
    )
    # An action's checks show the seconds that the design writes.
    rules = replace(parts.rules, time_scale=1.0)
    return catalog(parts.store, designs, systems, rules, retry, engine.time_scale)


def version_rule(settings: Settings, demand: Severity) -> VersionRule:
    """Return the rule for designs without a deployment version."""
    levels = {Severity.INFO: Level.INFO, Severity.WARNING: Level.WARNING, Severity.ERROR: Level.ERROR}
    info = settings.document_info
    return VersionRule(levels.get(demand), info.deployment_version_schema, info.deployment_version_name)
