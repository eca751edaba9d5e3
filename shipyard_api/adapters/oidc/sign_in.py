"""The page's sign-in: authlib plays the authorization code flow with PKCE, and the ID token says who it was."""

import logging
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from requests import RequestException

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import Identity, Request

from . import OidcOptions
from .identities import COOKIE, check_origin, identity_of
from .provider import SYSTEM, Provider

LOG = logging.getLogger(__name__)


class PageSignIn:
    """Fills ``api.oidc.resources.SignIn``. ``open_session``, ``close_session`` and ``find`` keep sessions."""

    cookie = COOKIE

    def __init__(
        self,
        options: OidcOptions,
        provider: Provider,
        *,
        open_session: Callable[[Identity], str],
        close_session: Callable[[str], None],
        find: Callable[[Request], Identity],
    ) -> None:
        self._options = options
        self._provider = provider
        self._open, self._close, self._find = open_session, close_session, find
        self.seconds = options.session_seconds
        self.path = urlsplit(options.page_url).path.rstrip("/") + "/"

    def configuration(self) -> dict[str, Any]:
        """Return the provider and its clients."""
        options = self._options
        return {
            "issuer": options.issuer,
            "page": bool(options.client_id),
            "client_id": options.cli_client_id,
            "scopes": options.scopes,
        }

    def begin(self) -> tuple[str, str]:
        """Return the provider's address, and the flow as the cookie keeps it."""
        flow = {name: secrets.token_urlsafe(36) for name in ("state", "nonce", "code_verifier")}
        endpoint = str(self._provider.metadata().get("authorization_endpoint"))
        address, _ = self._session().create_authorization_url(endpoint, **flow)
        return str(address), ".".join(flow.values())

    def finish(self, flow: str, answer: dict[str, str]) -> str:
        """Exchange the code, and open a session for the person of the ID token."""
        try:
            state, nonce, verifier = flow.split(".")
        except ValueError:
            raise Unauthenticated from None
        if not answer["code"] or not secrets.compare_digest(state.encode(), answer["state"].encode()):
            raise Unauthenticated
        options = self._options
        if answer["iss"] not in ("", options.issuer):  # RFC 9207
            raise Unauthenticated
        try:
            with self._session() as session:
                token = session.fetch_token(
                    str(self._provider.metadata().get("token_endpoint")),
                    code=answer["code"],
                    code_verifier=verifier,
                    timeout=options.answer_seconds,
                    verify=options.ca_file or True,
                )
        except OAuthError as error:
            LOG.warning("the identity provider refused a sign-in", extra={"trouble": str(error)})
            raise Unauthenticated from error
        except (RequestException, ValueError) as error:
            raise Unavailable(SYSTEM, "token", type(error).__name__) from error
        claims = self._provider.claims(str(token.get("id_token")), [options.client_id], nonce=nonce)
        return self._open(identity_of(options, claims))

    def is_open(self, secret: str) -> bool:
        """Return whether a session has not ended."""
        try:
            self._find({"HTTP_X_AUTH_TOKEN": secret})
        except Unauthenticated:
            return False
        return True

    def close(self, secret: str, origin: str, site: str) -> str:
        """End a session, and return the provider's address for the end of its own, as far as that is known."""
        check_origin(self._options, origin, site)
        self._close(secret)
        endpoint = self._provider.known().get("end_session_endpoint")
        words = {"client_id": self._options.client_id, "post_logout_redirect_uri": f"{self._options.page_url}/"}
        return f"{endpoint}?{urlencode(words)}" if endpoint else ""

    def _session(self) -> OAuth2Session:
        options = self._options
        return OAuth2Session(
            options.client_id,
            options.client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if options.client_secret else "none",
            scope=options.scopes,
            redirect_uri=f"{options.page_url.rstrip('/')}/oidc/callback",
            code_challenge_method="S256",
        )
