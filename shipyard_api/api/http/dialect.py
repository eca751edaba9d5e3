"""What a dialect of the API is made of, and the application that serves it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import falcon.asgi

from shipyard_api.api.http.audit import Audit
from shipyard_api.api.http.authentication import Authentication, Guarded
from shipyard_api.api.http.compression import Compression
from shipyard_api.api.http.entity_tags import EntityTags
from shipyard_api.api.http.request_context import RequestContextMiddleware
from shipyard_api.api.http.security_headers import SecurityHeaders
from shipyard_api.api.http.write_limit import WriteLimit
from shipyard_api.ports.identity import Identities, Policy
from shipyard_api.usecases.callers.limit_writes import LimitWrites

App = falcon.asgi.App[Any, Any]


@dataclass(frozen=True, slots=True)
class Guards:
    """What every dialect is protected by."""

    identities: Identities
    policy: Policy
    limit_writes: LimitWrites


@dataclass(frozen=True, slots=True)
class Dialect:
    """``routes``: addresses to resources. ``install_errors`` makes every failure an answer in the dialect's form.

    ``middleware`` runs after the request has its id and before its caller is authenticated. ``ignores_trailing_slash``:
    an address is the same with a slash at its end. ``for_known_callers``: middleware after authentication.
    """

    routes: Mapping[str, Guarded]
    install_errors: Callable[[App], None]
    middleware: Sequence[Any] = ()
    ignores_trailing_slash: bool = False
    for_known_callers: Sequence[Any] = ()


def create_app(dialect: Dialect, guards: Guards) -> App:
    """Return the ASGI application of a dialect."""
    middleware: list[Any] = [
        Audit(),
        SecurityHeaders(),
        RequestContextMiddleware(),
        Compression(),
        EntityTags(),
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
    for address, resource in dialect.routes.items():
        app.add_route(address, resource)
    return app
