"""Authentication and authorization: every route names its rule, and a role satisfies the rule or does not.

The names of the rules are upstream's (contract: shipyard-rest, chapter 4), so that policy files stay valid later.
"""

import base64
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import falcon
import falcon.asgi

from shipyard_api.api.http.limits import AUTHENTICATED
from shipyard_api.api.http.threads import in_thread
from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.observing import request_context
from shipyard_api.ports import identity as ports
from shipyard_api.ports.identity import ACCEPTED
from shipyard_api.usecases.callers import Caller

Policy = Mapping[str, str | None]
"""A resource's rule for each of its methods; None for what anyone may ask."""

# One of our own has 41 characters and one of Keystone some hundreds; anything near this is an attempt to be expensive.
_LONGEST = 4096


@runtime_checkable
class Guarded(Protocol):
    """A resource that says which rule guards which of its methods."""

    @property
    def policy(self) -> Policy:
        """Return the rule of each method."""


class Authentication:
    """Middleware; ``policy`` of a resource maps a method to its rule, None for what anyone may ask."""

    def __init__(self, identities: ports.Identities, policy: ports.Policy) -> None:
        self._identities = identities
        self._policy = policy

    async def process_resource(
        self, req: falcon.asgi.Request, _resp: falcon.Response, resource: Guarded, _params: dict[str, str]
    ) -> None:
        """Know the caller, or refuse. A method that the resource does not have is left to become a 405."""
        # A word that only resembles a method ("get") is none: the framework refuses it.
        if req.method == "OPTIONS" or not req.method.isupper() or not hasattr(resource, f"on_{req.method.lower()}"):
            return
        rule = resource.policy[req.method]
        if rule is None:
            return
        req.context.challenge = self._identities.challenge
        sent = _as_sent(req)
        identity = self._identities.cached(sent)
        if identity is None:
            try:
                identity = await in_thread(self._identities.of, sent)
            except Unauthenticated:
                raise Unauthenticated("HTTP_X_AUTH_TOKEN" in sent) from None
        req.context.identity = identity
        req.scope[AUTHENTICATED] = True
        request_context.name_user(identity.user)
        req.context.policy = self._policy
        req.context.caller = Caller(identity.user, identity.roles, req.context.marker, identity.key)
        require(req, rule)


def may(req: falcon.Request, rule: str) -> bool:
    """Say whether the caller, who is known by now, satisfies a further rule. Raises PolicyBroken."""
    policy: ports.Policy = req.context.policy
    return policy.allows(rule, req.context.identity)


def require(req: falcon.Request, rule: str) -> None:
    """Raise Forbidden unless the caller satisfies a further rule, one for what a parameter asks for."""
    if not may(req, rule):
        raise Forbidden


def _as_sent(req: falcon.asgi.Request) -> Mapping[str, Any]:
    """Return the request as a WSGI environment, with its token where Keystone's clients put theirs."""
    token = _secret(req)
    if token and len(token) > _LONGEST:
        raise Unauthenticated
    environ = _environ(req)
    environ.pop("HTTP_X_AUTH_TOKEN", None)
    if token:
        environ["HTTP_X_AUTH_TOKEN"] = token
    return environ


def _environ(req: falcon.asgi.Request) -> dict[str, Any]:
    scope = req.scope
    client, server = scope.get("client"), scope.get("server")
    host, port = server or ("", None)
    return {
        "REQUEST_METHOD": req.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": req.path.encode().decode("latin-1"),
        "QUERY_STRING": req.query_string,
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "SERVER_NAME": str(host),
        "SERVER_PORT": str(port or ""),
        # Over a unix socket neither side has an address.
        "REMOTE_ADDR": str(client[0]) if client else "",
        ACCEPTED: str(host) if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.errors": sys.stderr,
        **{_variable(name): value for name, value in req.headers.items()},
    }


@lru_cache(maxsize=256)
def _variable(header: str) -> str:
    """Return the name of a header in a WSGI environment."""
    return f"HTTP_{header.upper().replace('-', '_')}"


def _secret(req: falcon.Request) -> str | None:
    """Return the token: from where Keystone's clients put theirs, as a bearer token (RFC 6750), or as the password of
    basic authentication (RFC 7617), which is all that a Drydock can send with a plain ``http`` design reference.
    """
    sent = req.get_header("X-Auth-Token")
    if sent:
        return sent.strip()
    scheme, _, credentials = (req.get_header("Authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return _password(credentials.strip()) if scheme.lower() == "basic" else None


def _password(credentials: str) -> str | None:
    try:
        return base64.b64decode(credentials, validate=True).decode("utf-8").partition(":")[2]
    except ValueError:
        return None
