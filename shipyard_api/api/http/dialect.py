"""What a dialect of the API is made of, what it works with, and the application that serves it.

A dialect registers as an entry point of the group ``shipyard.dialects``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import falcon.asgi
from msgspec import Struct

from shipyard_api.api.http.audit import Audit
from shipyard_api.api.http.authentication import Authentication, Guarded
from shipyard_api.api.http.compression import Compression
from shipyard_api.api.http.deprecation import Deprecation
from shipyard_api.api.http.entity_tags import EntityTags
from shipyard_api.api.http.limits import WriteLimit
from shipyard_api.api.http.request_context import RequestContextMiddleware
from shipyard_api.api.http.security import SecurityHeaders
from shipyard_api.ports.identity import Identities, Policy
from shipyard_api.ports.schemas import Schemas
from shipyard_api.settings.plugins import Group
from shipyard_api.settings.types import SettingsError
from shipyard_api.usecases.actions.build import ActionUseCases
from shipyard_api.usecases.callers import LimitWrites
from shipyard_api.usecases.configdocs.build import ConfigdocsUseCases
from shipyard_api.usecases.deploy_templates.manage import ManageTemplates
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.drift.find import FindDrift
from shipyard_api.usecases.holds.manage import NodeHolds
from shipyard_api.usecases.journal.build import JournalUseCases
from shipyard_api.usecases.node_operations.etcd_health import EtcdHealth
from shipyard_api.usecases.node_operations.operate import OperateNodes
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from shipyard_api.usecases.nodes.build import NodeUseCases
from shipyard_api.usecases.software.build import SoftwareUseCases

App = falcon.asgi.App[Any, Any]
T = TypeVar("T")


class Guards(Struct, frozen=True):
    """What every dialect is protected by."""

    identities: Identities
    policy: Policy
    limit_writes: LimitWrites


class UseCases(Struct, frozen=True, kw_only=True):
    """What the resources of every dialect work with. The two limits are the largest bodies accepted, in bytes.

    ``tokens``: who a token belongs to; None if requests need none.
    """

    actions: ActionUseCases
    configdocs: ConfigdocsUseCases
    journal: JournalUseCases
    nodes: NodeUseCases
    operate: OperateNodes
    etcd_health: EtcdHealth
    node_holds: NodeHolds
    adopt: AdoptNodes
    templates: ManageTemplates
    plan_steps: PlanDeploySteps
    find_drift: FindDrift
    software: SoftwareUseCases
    schemas: Schemas
    tokens: Identities | None
    design_bytes: int
    json_bytes: int


class Dialect(Struct, frozen=True):
    """``routes``: addresses to resources. ``install_errors`` makes every failure an answer in the dialect's form.

    ``prefixes``: the beginnings of its addresses, as of ``Mount``. ``middleware`` runs after the request has its id and
    before its caller is authenticated. ``ignores_trailing_slash``: an address is the same with a slash at its end.
    ``for_known_callers``: middleware after authentication. Middleware keeps nothing of a request: all sites of a
    process share it.
    """

    routes: Callable[[UseCases], Mapping[str, Guarded]]
    install_errors: Callable[[App], None]
    prefixes: Sequence[str] = ()
    middleware: Sequence[Any] = ()
    ignores_trailing_slash: bool = False
    for_known_callers: Sequence[Any] = ()


DIALECTS = Group("shipyard.dialects", Dialect, "dialect")


def mounted(make: Callable[[Dialect], T]) -> dict[str, T]:
    """Return what ``make`` returns for each installed dialect, by prefix.

    Raises SettingsError for a dialect that cannot be loaded, or that has the prefix of another.
    """
    owners: dict[str, str] = {}
    applications: dict[str, T] = {}
    for name, dialect in DIALECTS.installed().items():
        if taken := sorted(owners.keys() & set(dialect.prefixes)):
            faults = [f"{DIALECTS.group}: {name} and {owners[prefix]} both serve {prefix}" for prefix in taken]
            raise SettingsError(faults)
        owners |= dict.fromkeys(dialect.prefixes, name)
        applications |= dict.fromkeys(dialect.prefixes, make(dialect))
    return applications


def create_app(dialect: Dialect, use_cases: UseCases, guards: Guards) -> App:
    """Return the ASGI application of a dialect."""
    middleware: list[Any] = [
        Audit(),
        SecurityHeaders(),
        RequestContextMiddleware(),
        Compression(),
        EntityTags(),
        Deprecation(),
        *dialect.middleware,
        Authentication(guards.identities, guards.policy),
        *dialect.for_known_callers,
        WriteLimit(guards.limit_writes),
    ]
    app: App = falcon.asgi.App(middleware=middleware)
    app.req_options.auto_parse_qs_csv = False
    app.req_options.keep_blank_qs_values = False
    app.req_options.strip_url_path_trailing_slash = dialect.ignores_trailing_slash
    app.resp_options.secure_cookies_by_default = True
    dialect.install_errors(app)
    for address, resource in dialect.routes(use_cases).items():
        app.add_route(address, resource)
    return app
