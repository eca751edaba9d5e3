"""Who may do what: every route names its rule, and a rule names the roles that satisfy it.

The names of the rules are upstream's (contract: shipyard-rest, chapter 4), so that policy files stay valid later.
"""

import base64
from collections.abc import Mapping
from typing import ClassVar, Protocol, runtime_checkable

import falcon

from shipyard_api.domain.errors import Forbidden, Unauthenticated
from shipyard_api.usecases.context import Caller
from shipyard_api.usecases.tokens import ApiTokens

Policy = Mapping[str, str | None]
"""A resource's rule for each of its methods; None for what anyone may ask."""

READ = frozenset({"admin", "viewer"})
WRITE = frozenset({"admin"})
# A provisioner needs the passwords of the machines that it installs, and nothing else of ours.
DESIGN = READ | {"peer"}
SECRETS = WRITE | {"peer"}

_PREFIX = "workflow_orchestrator:"
RULES = {
    f"{_PREFIX}list_actions": READ,
    f"{_PREFIX}create_action": WRITE,
    f"{_PREFIX}get_action": READ,
    f"{_PREFIX}get_action_step": READ,
    f"{_PREFIX}get_notedetails": READ,
    f"{_PREFIX}get_site_statuses": READ,
    f"{_PREFIX}list_nodes": READ,
    f"{_PREFIX}invoke_action_control": WRITE,
    f"{_PREFIX}get_configdocs_status": READ,
    f"{_PREFIX}create_configdocs": WRITE,
    f"{_PREFIX}get_configdocs": READ,
    f"{_PREFIX}get_configdocs_cleartext": WRITE,
    f"{_PREFIX}commit_configdocs": WRITE,
    f"{_PREFIX}get_renderedconfigdocs": DESIGN,
    f"{_PREFIX}get_renderedconfigdocs_cleartext": SECRETS,
}

# A token is 41 characters; anything near this length is an attempt to be expensive.
_LONGEST = 4096


@runtime_checkable
class Guarded(Protocol):
    """A resource that says which rule guards which of its methods."""

    policy: ClassVar[Policy]


class Authentication:
    """Middleware; ``policy`` of a resource maps a method to its rule, None for what anyone may ask."""

    def __init__(self, tokens: ApiTokens) -> None:
        self._tokens = tokens

    def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: dict[str, str]
    ) -> None:
        """Know the caller, or refuse. A method that the resource does not have is left to become a 405."""
        # A word that only resembles a method ("get") is none: the framework refuses it.
        if req.method == "OPTIONS" or not req.method.isupper() or not hasattr(resource, f"on_{req.method.lower()}"):
            return
        if not isinstance(resource, Guarded):
            raise TypeError(f"{type(resource).__name__} names no policy")
        rule = resource.policy[req.method]
        if rule is None:
            return
        secret = _secret(req)
        if not secret or len(secret) > _LONGEST:
            raise Unauthenticated
        token = self._tokens.authenticate(secret)
        if token.role not in RULES[rule]:
            raise Forbidden
        req.context.caller = Caller(token.name, token.role, req.context.marker)


def may(req: falcon.Request, rule: str) -> bool:
    """Say whether the caller, who is known by now, satisfies a further rule."""
    return req.context.caller.role in RULES[rule]


def require(req: falcon.Request, rule: str) -> None:
    """Raise Forbidden unless the caller satisfies a further rule, one for what a parameter asks for."""
    if not may(req, rule):
        raise Forbidden


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
