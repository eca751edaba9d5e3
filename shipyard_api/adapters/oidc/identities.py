"""Callers with tokens of an OpenID provider, with sessions of the page, or with API tokens of Shipyard."""

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.domain.json_types import member, texts
from shipyard_api.domain.plans.plan import with_subject
from shipyard_api.ports.identity import Identities, Identity, Request

from . import OidcOptions
from .provider import Provider

COOKIE = "shipyard_session"
_LONGEST_NAME = 128
_SAFE = ("GET", "HEAD", "OPTIONS")


class OidcIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads.

    ``tokens`` and ``sessions`` find the owners of API tokens and of the page's sessions, both sent as X-Auth-Token.
    """

    challenge = 'Bearer realm="Shipyard"'

    def __init__(self, options: OidcOptions, provider: Provider, *, tokens: Identities, sessions: Identities) -> None:
        self._options = options
        self._provider = provider
        self._tokens = tokens
        self._sessions = sessions

    def cached(self, request: Request) -> Identity | None:
        """Return the caller if that is known without waiting."""
        token = request.get("HTTP_X_AUTH_TOKEN")
        if token:
            return None if _is_jwt(token) else self._tokens.cached(request)
        session = self._session(request)
        return self._sessions.cached(session) if session else None

    def of(self, request: Request) -> Identity:
        """Return the caller. Raises Unauthenticated, Forbidden, StoreUnavailable; PeerError if keys cannot be read."""
        token = request.get("HTTP_X_AUTH_TOKEN")
        if token and _is_jwt(token):
            return identity_of(self._options, self._provider.claims(token, self._options.audiences))
        if token:
            return self._tokens.of(request)
        session = self._session(request)
        if not session:
            raise Unauthenticated
        return self._sessions.of(session)

    def _session(self, request: Request) -> Request | None:
        """Return the request with its session as its token; raises Forbidden for a write of another site's page."""
        secret = session_in(request.get("HTTP_COOKIE", ""))
        if not secret:
            return None
        if request.get("REQUEST_METHOD") not in _SAFE:
            check_origin(self._options, request.get("HTTP_ORIGIN", ""), request.get("HTTP_SEC_FETCH_SITE", ""))
        return {**request, "HTTP_X_AUTH_TOKEN": secret}


def check_origin(options: OidcOptions, origin: str, site: str) -> None:
    """Raise Forbidden unless a browser says that the page itself sent the request: cookies are sent unasked."""
    if not origin and site == "same-origin":
        return
    page = urlsplit(options.page_url)
    if origin != f"{page.scheme}://{page.netloc}":
        raise Forbidden("The request comes from another page (Origin)")


def session_in(cookies: str) -> str:
    """Return the session in a Cookie header; empty: there is none."""
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def identity_of(options: OidcOptions, claims: Mapping[str, Any]) -> Identity:
    """Return the person of verified claims: its key is the subject, which the provider gives to nobody else."""
    subject = claims["sub"]
    name = str(claims.get(options.name_claim) or "") if options.name_claim else ""
    shown = "".join(character for character in name if character.isprintable())[:_LONGEST_NAME].strip()
    return Identity(
        key=f"oidc:{subject}",
        user=with_subject(shown, subject),
        roles=options.roles.roles(_groups(claims, options.roles_claim)),
        user_id=subject,
    )


def _groups(claims: Mapping[str, Any], path: str) -> list[str]:
    """Return the values of a claim, which may be one word, several or a list; of a path only without such a claim."""
    found: Any = claims.get(path)
    if found is None:
        found = member(claims, *path.split("."))
    if isinstance(found, str):
        return found.split()
    return texts(found)


def _is_jwt(token: str) -> bool:
    """Return whether a token has the form of a signed JWT; API tokens have no dots."""
    return token.count(".") == 2
