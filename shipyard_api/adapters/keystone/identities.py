"""Callers with tokens of Keystone, which keystonemiddleware validates: OpenStack's own judgement, not a copy of it.

It is asked for one request at a time, with a copy of the request, and from inside: so our own checks of the address
come first, what needs no identity never asks Keystone, and what a caller writes into the headers that carry identities
is thrown away with the copy.
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

from shipyard_api.domain.errors import Forbidden, Unauthenticated
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import Identity, Request

from .client import SYSTEM, credentials
from .options import KeystoneOptions
from .questions import OPERATION, Questions

# Tokens that one process remembers: so many that are good, whose records have some kilobytes, and so many that are not.
MOST_KNOWN = 1024
# For how long a token that Keystone does not know is not asked about again.
WRONG_SECONDS = 2.0

_Value = TypeVar("_Value")
_CACHE, _SEEN = "shipyard.keystone.cache", "shipyard.keystone.seen"


class KeystoneIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads. Without the extra ``keystone``: ImportError.

    ``uri`` is where callers get tokens. ``answer_seconds``: how long Keystone may take to answer, in whole seconds or
    somewhat more. ``at_once``: how many callers may wait for it. ``service_roles``: what makes a token one of a
    service. ``project`` and its domain, both names: whose tokens are good; none for those of every project.
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
        # Whatever a stranger sends as a token it would warn of; that it cannot reach Keystone is our own error to log.
        logging.getLogger("keystonemiddleware").setLevel(logging.ERROR)
        self.challenge = f'Keystone uri="{uri}"'
        self._project = project
        self._cache_seconds = cache_seconds
        self._known: Remembered[Any] = Remembered()
        self._wrong: Remembered[bool] = Remembered()
        self._questions = Questions(at_once=at_once, slow_seconds=answer_seconds / 2)
        conf = cfg.ConfigOpts()
        conf([], project="shipyard", default_config_files=[], default_config_dirs=[])
        self._protocol: Callable[..., Iterable[bytes]] = _middleware(_Account(options), self._fetched)(
            _remember,
            {
                # One that no file has been read into: whatever else there is to say stands here.
                "oslo_config_config": conf,
                "auth_version": "v3",
                # Its delayed decisions do not tell a Keystone that is out of reach from a token that is not good.
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
                # The caller is told to come back, and a Keystone that hangs holds up our threads once, not four times.
                "http_request_max_retries": 0,
            },
        )

    def of(self, request: Request) -> Identity:
        """Return who shows this token; of a service that acts for a user, the service.

        Raises Unauthenticated, Forbidden for a token of another project, and Unavailable or Busy when nobody can tell.
        """
        user, service = request.get("HTTP_X_AUTH_TOKEN"), request.get("HTTP_X_SERVICE_TOKEN")
        token = service or user
        # What cannot be sent on in a header is no token: a password, in which one may come, has room for anything.
        if not token or not (token.isascii() and token.isprintable()):
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
            _CACHE: _FORGETFUL,
            _SEEN: seen,
        }

        def start_response(status: str, _headers: object, _trouble: object = None) -> None:
            statuses.append(status)

        try:
            for _part in self._protocol(asked, start_response):
                pass
        except (ClientException, ValueError, KeyError, TypeError) as error:
            raise Unavailable(SYSTEM, OPERATION, f"{type(error).__name__}: {error}") from error
        if seen:
            return seen[0]
        if statuses[0].startswith("401"):
            raise Unauthenticated
        raise Unavailable(SYSTEM, OPERATION, f"nobody can tell: {statuses[0]}")

    def _fetched(self, token: str, ask: Callable[[], Any]) -> Any:
        """Return what Keystone says of a token, or said a while ago; None for one that it does not know."""
        digest = hashlib.sha256(token.encode()).digest()
        found = self._known.get(digest)
        if found is not None or self._wrong.get(digest):
            return found
        found = self._questions.ask(ask)
        if found is None:
            self._wrong.keep(digest, True, min(self._cache_seconds, WRONG_SECONDS))  # a value
        else:
            self._known.keep(digest, found, self._cache_seconds)
        return found


class Remembered(Generic[_Value]):
    """What is known of tokens, by their digests, for a while; may be shared by threads.

    The middleware's own cache in the process has no bound, and each of its threads may know other tokens.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._lock = threading.Lock()
        self._kept: dict[bytes, tuple[float, _Value]] = {}

    def get(self, digest: bytes) -> _Value | None:
        """Return what is known and not too old."""
        good_until, value = self._kept.get(digest, (0.0, None))
        return value if value is not None and self._now() < good_until else None

    def keep(self, digest: bytes, value: _Value, seconds: float) -> None:
        """Keep a value for some seconds; for 0, not at all. The oldest goes if there are too many."""
        with self._lock:
            self._kept.pop(digest, None)
            if seconds <= 0:
                return
            if len(self._kept) >= MOST_KNOWN:
                del self._kept[next(iter(self._kept))]
            self._kept[digest] = (self._now() + seconds, value)


class _Forgetful:
    """What the middleware is handed as its cache: ours stands before it, and knows which tokens cost a question."""

    def get(self, _key: str) -> None:
        """Know nothing."""

    def set(self, _key: str, _value: bytes, time: int = 0) -> None:
        """Keep nothing."""


_FORGETFUL = _Forgetful()


class _Account(Password):
    """Who we are before Keystone; may be shared by threads.

    Threads that need our own token while another one asks for it wait, and share the trouble that comes of it. The
    library lets them ask one after another, each for the whole time limit.
    """

    def __init__(self, options: KeystoneOptions) -> None:
        super().__init__(**credentials(options))
        self._asking = threading.Lock()
        self._attempts = 0
        self._trouble: ClientException | None = None

    def get_access(self, session: Session, **options: Any) -> AccessInfo:
        """Return our token and what came with it. Raises ClientException."""
        attempts = self._attempts
        with self._asking:
            if self._trouble and self._attempts != attempts:
                raise self._trouble  # it came while this thread waited
            self._trouble = None
            try:
                return super().get_access(session, **options)
            except ClientException as error:
                self._trouble = error
                raise
            finally:
                self._attempts += 1


def _middleware(account: Password, fetched: Callable[[str, Callable[[], Any]], Any]) -> Any:
    """Return the middleware's class, with our account, and with our say in when Keystone is asked. Raises ImportError.

    ``fetched`` gets a token and what asks Keystone about it, and returns the token's record or None. The question
    returns the same, and raises Unavailable.
    """
    # It has no types, and loads a great deal, some of it out of fashion: only where it is wanted.
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
                    raise Unavailable(SYSTEM, OPERATION, "it gave no answer that can be used") from error
                except (ClientException, ValueError, KeyError, TypeError) as error:
                    raise Unavailable(SYSTEM, OPERATION, f"{type(error).__name__}: {error}") from error

            found = fetched(token, ask)
            if found is None:
                raise auth_token.InvalidToken("Token authorization failed")
            return found

    return Protocol


def _remember(environ: Mapping[str, Any], start_response: Callable[[str, list[Any]], object]) -> Iterable[bytes]:
    """Stand where an application stands behind the middleware, and keep what it is given."""
    environ[_SEEN].append(environ)
    start_response("200 OK", [])
    return []
