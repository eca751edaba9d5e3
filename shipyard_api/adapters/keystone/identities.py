"""Callers with Keystone tokens, validated by OpenStack's own keystonemiddleware.

The middleware does not wrap the application; it is called with a copy of each request that needs an identity. So routes
without authentication never reach Keystone, and forged identity headers vanish with the copy.
"""

import hashlib
import importlib
import logging
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from typing import Any, Generic, TypeVar

from keystoneauth1.access import AccessInfo
from keystoneauth1.exceptions import ClientException
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from oslo_config import cfg

from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import Identity, Request

from . import KeystoneOptions
from .circuit_breaker import OPERATION, CircuitBreaker
from .client import SYSTEM, credentials

# The most valid tokens (a few kilobytes each), and the most invalid ones, that one process caches.
MOST_KNOWN = 1024
# Seconds for which an unknown token is not validated again.
WRONG_SECONDS = 2.0

_Value = TypeVar("_Value")
_CACHE, _SEEN = "shipyard.keystone.cache", "shipyard.keystone.seen"


class KeystoneIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads. Without the extra ``keystone``: ImportError.

    ``uri``: where callers get tokens. ``answer_seconds``: timeout of Keystone's answers, rounded up to whole seconds.
    ``at_once``: the most callers waiting for it. ``service_roles``: the roles that make a token a service token.
    ``project``: the names of the project whose tokens are accepted and of its domain; None: any project.
    """

    def __init__(
        self,
        options: KeystoneOptions,
        *,
        uri: str,
        cache_seconds: float,
        answer_seconds: float,
        at_once: int,
        service_roles: Iterable[str],
        project: tuple[str, str] | None = None,
    ) -> None:
        # It would log a warning for every invalid token, and we log an unreachable Keystone ourselves.
        logging.getLogger("keystonemiddleware").setLevel(logging.ERROR)
        self.challenge = f'Keystone uri="{uri}"'
        self._project = project
        self._cache_seconds = cache_seconds
        self._known: TokenCache[Any] = TokenCache()
        self._wrong: TokenCache[bool] = TokenCache()
        self._breaker = CircuitBreaker(at_once=at_once, slow_seconds=answer_seconds / 2)
        conf = cfg.ConfigOpts()
        conf([], project="shipyard", default_config_files=[], default_config_dirs=[])
        self._protocol: Callable[..., Iterable[bytes]] = _middleware(_Account(options), self._fetched)(
            _remember,
            {
                # An empty configuration, so that no file of the host has any effect.
                "oslo_config_config": conf,
                "auth_version": "v3",
                # With delayed decisions, an unreachable Keystone looks like an invalid token.
                "delay_auth_decision": False,
                "www_authenticate_uri": uri,
                "cache": _CACHE,
                "service_token_roles": list(service_roles),
                "service_token_roles_required": True,
                "service_type": "shipyard",
                "include_service_catalog": False,
                "interface": options.interface.value,
                "region_name": options.region or None,
                "cafile": options.ca_file or None,
                "http_connect_timeout": math.ceil(answer_seconds),
                # Callers get Retry-After instead: a hanging Keystone then costs a thread one timeout, not four.
                "http_request_max_retries": 0,
            },
        )

    def cached(self, _request: Request) -> Identity | None:
        """Return None: cached tokens still pass through the middleware, which may ask Keystone."""
        return None

    def of(self, request: Request) -> Identity:
        """Return the owner of the token; for a service that acts for a user, the service.

        Raises Unauthenticated; Forbidden for a token of another project; Unavailable or Busy if it cannot be checked.
        """
        user, service = request.get("HTTP_X_AUTH_TOKEN"), request.get("HTTP_X_SERVICE_TOKEN")
        token = service or user
        # A token must fit into a header. A password of Basic authentication, which may hold one, may not.
        if not token or not (token.isascii() and token.isprintable()):
            raise Unauthenticated
        validated = self._validated(request, token)

        def fact(name: str) -> str:
            return str(validated.get(f"HTTP_X_{name}") or "")

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
        """Return the request as the middleware passes it on, with the token's identity in its headers.

        With a service token, the user it acts for does not matter (contract: shipyard-rest, chapter 1). The middleware
        requires a user, so it gets the service's own token; it still checks that this is a service token.
        """
        seen: list[Mapping[str, Any]] = []
        statuses: list[str] = []
        environ = {
            **request,
            "HTTP_X_AUTH_TOKEN": token,
            "wsgi.input": BytesIO(),
            "CONTENT_LENGTH": "0",
            _CACHE: _NO_CACHE,
            _SEEN: seen,
        }

        def start_response(status: str, _headers: object, _error: object = None) -> None:
            statuses.append(status)

        try:
            for _part in self._protocol(environ, start_response):
                pass
        except (ClientException, ValueError, KeyError, TypeError) as error:
            raise Unavailable(SYSTEM, OPERATION, f"{type(error).__name__}: {error}") from error
        if seen:
            return seen[0]
        if statuses[0].startswith("401"):
            raise Unauthenticated
        raise Unavailable(SYSTEM, OPERATION, f"the token could not be validated: {statuses[0]}")

    def _fetched(self, token: str, ask: Callable[[], Any]) -> Any:
        """Return the record of a token from the cache or Keystone; None for an unknown token."""
        digest = hashlib.sha256(token.encode()).digest()
        identity = self._known.get(digest)
        if identity is not None or self._wrong.get(digest):
            return identity
        identity = self._breaker.call(ask)
        if identity is None:
            self._wrong.keep(digest, True, min(self._cache_seconds, WRONG_SECONDS))  # a value
        else:
            self._known.keep(digest, identity, self._cache_seconds)
        return identity


class TokenCache(Generic[_Value]):
    """A bounded cache by token digest; may be shared by threads.

    The middleware's own in-process cache is unbounded and separate for each thread.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._lock = threading.Lock()
        self._kept: dict[bytes, tuple[float, _Value]] = {}

    def get(self, digest: bytes) -> _Value | None:
        """Return the value unless it has expired."""
        good_until, value = self._kept.get(digest, (0.0, None))
        return value if value is not None and self._now() < good_until else None

    def keep(self, digest: bytes, value: _Value, seconds: float) -> None:
        """Keep a value for some seconds; 0: not at all. A full cache drops its oldest entry."""
        with self._lock:
            self._kept.pop(digest, None)
            if seconds <= 0:
                return
            if len(self._kept) >= MOST_KNOWN:
                del self._kept[next(iter(self._kept))]
            self._kept[digest] = (self._now() + seconds, value)


class _NoCache:
    """An empty cache for the middleware; ours is in front of it."""

    def get(self, _key: str) -> None:
        """Return nothing."""

    def set(self, _key: str, _value: bytes, time: int = 0) -> None:
        """Store nothing."""


_NO_CACHE = _NoCache()


class _Account(Password):
    """Our credentials for Keystone; may be shared by threads.

    Threads that need our token during a request for one wait, and share its error. The library would let each of them
    send its own request in turn, each for the whole timeout.
    """

    def __init__(self, options: KeystoneOptions) -> None:
        super().__init__(**credentials(options))
        self._request_lock = threading.Lock()
        self._attempts = 0
        self._error: ClientException | None = None

    def get_access(self, session: Session, **options: Any) -> AccessInfo:
        """Return our token with its catalog. Raises ClientException."""
        attempts = self._attempts
        with self._request_lock:
            if self._error and self._attempts != attempts:
                raise self._error  # raised while this thread waited
            self._error = None
            try:
                return super().get_access(session, **options)
            except ClientException as error:
                self._error = error
                raise
            finally:
                self._attempts += 1


def _middleware(account: Password, fetched: Callable[[str, Callable[[], Any]], Any]) -> Any:
    """Return the middleware's class with our credentials and our cache. Raises ImportError.

    ``fetched`` gets a token and a function that fetches its record from Keystone (None for an unknown token; raises
    Unavailable), and returns the record or None.
    """
    # An untyped, slow import with deprecation warnings: only if it is used.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        auth_token: Any = importlib.import_module("keystonemiddleware.auth_token")
        no_answer: Any = importlib.import_module("webob.exc").HTTPException

    class Protocol(auth_token.AuthProtocol):  # type: ignore[misc]  # it has no types
        def _create_auth_plugin(self) -> Password:
            return account

        def fetch_token(self, token: str, **options: Any) -> Any:
            """Return a token's record; raises InvalidToken, Unavailable and Busy."""
            fetch = super().fetch_token

            def ask() -> Any:
                try:
                    return fetch(token, **options)
                except auth_token.InvalidToken:
                    return None
                except no_answer as error:
                    raise Unavailable(SYSTEM, OPERATION, "no usable answer") from error
                except (ClientException, ValueError, KeyError, TypeError) as error:
                    raise Unavailable(SYSTEM, OPERATION, f"{type(error).__name__}: {error}") from error

            fetched_token = fetched(token, ask)
            if fetched_token is None:
                raise auth_token.InvalidToken("Token authorization failed")
            return fetched_token

    return Protocol


def _remember(environ: Mapping[str, Any], start_response: Callable[[str, list[Any]], object]) -> Iterable[bytes]:
    """The WSGI application behind the middleware: it stores the request it gets."""
    environ[_SEEN].append(environ)
    start_response("200 OK", [])
    return []
