"""Callers with tokens of Keystone, which keystonemiddleware validates: OpenStack's own judgement, not a copy of it.

It is asked for one request at a time, with a copy of the request, and from inside: so our own checks of the address
come first, what needs no identity never asks Keystone, and what a caller writes into the headers that carry identities
is thrown away with the copy.
"""

import importlib
import logging
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from typing import Any

from keystoneauth1 import loading
from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from shipyard_api.domain.errors import Forbidden, Unauthenticated
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import Identity, Request

from .client import SYSTEM
from .options import KeystoneOptions, Scope

# Validated tokens that one process keeps; a token's record has some kilobytes.
MOST_KNOWN = 1024

_OPERATION = "validation of a token"
_GROUP = "keystone_authtoken"
_PLUGIN = "v3password"
_CACHE, _SEEN = "shipyard.keystone.cache", "shipyard.keystone.seen"


class KeystoneIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads. Without the extra ``keystone``: ImportError.

    ``uri`` is where callers get tokens. ``service_roles``: what makes a token one of a service. ``project`` and its
    domain, both names: whose tokens are good; none for those of every project.
    """

    def __init__(
        self,
        options: KeystoneOptions,
        *,
        uri: str,
        cache_seconds: float,
        service_roles: Iterable[str],
        project: tuple[str, str] | None = None,
    ) -> None:
        # It has no types, and loads a great deal, some of it out of fashion: only where it is wanted.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            middleware: Any = importlib.import_module("keystonemiddleware.auth_token")
        # Whatever a stranger sends as a token it would warn of; that it cannot reach Keystone is our own error to log.
        logging.getLogger("keystonemiddleware").setLevel(logging.ERROR)
        self.challenge = f'Keystone uri="{uri}"'
        self._project = project
        self._cache = KnownTokens()
        self._protocol: Callable[..., Iterable[bytes]] = middleware.AuthProtocol(
            _remember,
            {
                "oslo_config_config": _account(options),
                "auth_type": _PLUGIN,
                "auth_version": "v3",
                # Its delayed decisions do not tell a Keystone that is out of reach from a token that is not good.
                "delay_auth_decision": False,
                "www_authenticate_uri": uri,
                "cache": _CACHE,
                "token_cache_time": round(cache_seconds),
                "service_token_roles": list(service_roles),
                "service_token_roles_required": True,
                "service_type": "shipyard",
                "include_service_catalog": False,
                "interface": options.interface.value,
                "region_name": options.region or None,
                "cafile": options.ca_file or None,
                "http_connect_timeout": math.ceil(options.read_timeout_seconds),
                # The caller is told to come back, and a Keystone that hangs holds up our threads once, not four times.
                "http_request_max_retries": 0,
            },
        )

    def of(self, request: Request) -> Identity:
        """Return who shows this token; of a service that acts for a user, the service.

        Raises Unauthenticated, Forbidden for a token of another project, and Unavailable when nobody can tell.
        """
        user, service = request.get("HTTP_X_AUTH_TOKEN"), request.get("HTTP_X_SERVICE_TOKEN")
        token = service or user
        if not token:
            raise Unauthenticated
        told = self._validated(request, token)

        def fact(name: str) -> str:
            return str(told.get(f"HTTP_X_{name}") or "")

        if self._project and (fact("PROJECT_NAME"), fact("PROJECT_DOMAIN_NAME")) != self._project:
            raise Forbidden(f"The token is not for the project {self._project[0]} of the domain {self._project[1]}")
        return Identity(
            key=fact("USER_ID"),
            user=fact("USER_NAME"),
            roles=frozenset(role.strip() for role in fact("ROLES").split(",") if role.strip()),
            user_id=fact("USER_ID"),
            user_domain_id=fact("USER_DOMAIN_ID"),
            project_id=fact("PROJECT_ID"),
            project_domain_id=fact("PROJECT_DOMAIN_ID"),
            is_admin_project=fact("IS_ADMIN_PROJECT") == "True",
        )

    def _validated(self, request: Request, token: str) -> Mapping[str, Any]:
        """Return the request as the middleware passes it on, with what it found out about the token.

        Where a service shows its token, whose user it acts for does not matter (contract: shipyard-rest, chapter 1).
        The middleware wants a user all the same, and gets the service itself; that it is a service is still checked.
        """
        seen: list[Mapping[str, Any]] = []
        statuses: list[str] = []
        asked = {
            **request,
            "HTTP_X_AUTH_TOKEN": token,
            "wsgi.input": BytesIO(),
            "CONTENT_LENGTH": "0",
            _CACHE: self._cache,
            _SEEN: seen,
        }

        def start_response(status: str, _headers: object, _trouble: object = None) -> None:
            statuses.append(status)

        try:
            for _part in self._protocol(asked, start_response):
                pass
        except (ClientException, ValueError, KeyError, TypeError) as error:
            raise Unavailable(SYSTEM, _OPERATION, f"{type(error).__name__}: {error}") from error
        if seen:
            return seen[0]
        if statuses[0].startswith("401"):
            raise Unauthenticated
        raise Unavailable(SYSTEM, _OPERATION, "it cannot be asked, and this token is not known from before")


class KnownTokens:
    """What Keystone said of tokens, for a while; may be shared by threads.

    The middleware's own cache in the process has no bound, and each of its threads may know other tokens. The keys that
    it asks by are digests of tokens.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, bytes]] = {}

    def get(self, key: str) -> bytes | None:
        """Return what is known and not too old."""
        good_until, value = self._known.get(key, (0.0, b""))
        return value if value and self._now() < good_until else None

    def set(self, key: str, value: bytes, time: int = 0) -> None:
        """Keep a value for some seconds; for 0, not at all."""
        with self._lock:
            self._known.pop(key, None)
            if time <= 0:
                return
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = (self._now() + time, value)


def _account(options: KeystoneOptions) -> cfg.ConfigOpts:
    """Return who we are before Keystone, in the form that the middleware reads; no file is read for it."""
    conf = cfg.ConfigOpts()
    conf([], project="shipyard", default_config_files=[], default_config_dirs=[])
    conf.register_opts(loading.get_auth_plugin_conf_options(_PLUGIN), group=_GROUP)
    in_project = options.scope is Scope.PROJECT
    told = {
        "auth_url": options.auth_url.rstrip("/").removesuffix("/v3") + "/v3",
        "username": options.user,
        "password": options.password,
        "user_domain_name": options.user_domain,
        "project_name": options.project if in_project else None,
        "project_domain_name": options.project_domain if in_project else None,
        "system_scope": None if in_project else "all",
    }
    for name, value in told.items():
        conf.set_override(name, value, group=_GROUP)
    return conf


def _remember(environ: Mapping[str, Any], start_response: Callable[[str, list[Any]], object]) -> Iterable[bytes]:
    """Stand where an application stands behind the middleware, and keep what it is given."""
    environ[_SEEN].append(environ)
    start_response("200 OK", [])
    return []
