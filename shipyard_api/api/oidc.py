"""``/oidc``: sign in to the page with an OpenID provider by the authorization code flow with PKCE, and sign out."""

from typing import Any, ClassVar, Protocol

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Guarded, Policy
from shipyard_api.api.http.reading import single
from shipyard_api.api.http.threads import threaded, threaded_peer
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.errors import PeerError

PATH = "/oidc"
_FLOW_COOKIE = "shipyard_sign_in"
# How long a person may take at the provider.
_FLOW_SECONDS = 600


class SignIn(Protocol):
    """What the resources work with. ``path``: where the page is below its host. All raise PeerError."""

    cookie: str
    path: str
    seconds: float

    def configuration(self) -> dict[str, Any]:
        """Return what the page and the command line need to know; nothing is asked."""

    def begin(self) -> tuple[str, str]:
        """Return the provider's address for a sign-in, and what must come back with its answer."""

    def finish(self, flow: str, answer: dict[str, str]) -> str:
        """Return the secret of a new session. Raises Unauthenticated."""

    def is_open(self, secret: str) -> bool:
        """Return whether a session has not ended."""

    def close(self, secret: str, origin: str, site: str) -> str:
        """End a session and return where the provider ends its own; empty: nowhere. Raises Forbidden."""


class _Part:
    def __init__(self, sign_in: SignIn | None) -> None:
        self._sign_in = sign_in

    def _found(self) -> SignIn:
        if self._sign_in is None:
            raise falcon.HTTPNotFound(title="Not served", description="[identity] kind is not oidc.")
        return self._sign_in


class Configuration(_Part):
    """``/oidc``."""

    policy: ClassVar[Policy] = {"GET": None}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the provider, the client of the command line, and whether this browser is signed in."""
        sign_in = self._found()
        secret = req.cookies.get(sign_in.cookie, "")
        resp.media = sign_in.configuration() | {"signed_in": bool(secret) and sign_in.is_open(secret)}
        resp.set_header("Cache-Control", "no-store")


class Start(_Part):
    """``/oidc/sign-in``."""

    policy: ClassVar[Policy] = {"GET": None}

    @threaded_peer
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Send the browser to the provider."""
        sign_in = self._found()
        address, flow = sign_in.begin()
        # Lax: the provider's page sends the browser back.
        _cookie(resp, sign_in, _FLOW_COOKIE, flow, _FLOW_SECONDS, "Lax")
        _go(resp, address)


class Callback(_Part):
    """``/oidc/callback``."""

    policy: ClassVar[Policy] = {"GET": None}

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Exchange the code for the person's identity, and send the browser to the page with a session."""
        sign_in = self._found()
        answer = {name: single(req, name) or "" for name in ("state", "code", "iss")}
        flow = req.cookies.get(_FLOW_COOKIE, "")
        _forget(resp, sign_in, _FLOW_COOKIE, "Lax")
        try:
            secret = sign_in.finish(flow, answer)
        except Unauthenticated:
            _go(resp, f"{sign_in.path}#refused=The+sign-in+did+not+succeed.+Try+again.")
        except PeerError:
            _go(resp, f"{sign_in.path}#refused=The+identity+provider+does+not+answer.+Try+again.")
        else:
            _cookie(resp, sign_in, sign_in.cookie, secret, int(sign_in.seconds), "Strict")
            _go(resp, sign_in.path)


class SignOut(_Part):
    """``/oidc/sign-out``."""

    policy: ClassVar[Policy] = {"POST": None}

    @threaded
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """End the session of this browser."""
        sign_in = self._found()
        secret = req.cookies.get(sign_in.cookie, "")
        origin, site = req.get_header("Origin", default=""), req.get_header("Sec-Fetch-Site", default="")
        resp.media = {"end_session": sign_in.close(secret, origin, site)}
        _forget(resp, sign_in, sign_in.cookie, "Strict")
        resp.set_header("Cache-Control", "no-store")


def routes(sign_in: SignIn | None) -> dict[str, Guarded]:
    """Return every address with its resource. None: there is no provider, and each answers 404."""
    return {
        PATH: Configuration(sign_in),
        f"{PATH}/sign-in": Start(sign_in),
        f"{PATH}/callback": Callback(sign_in),
        f"{PATH}/sign-out": SignOut(sign_in),
    }


def _cookie(resp: falcon.Response, sign_in: SignIn, name: str, value: str, seconds: int, same_site: Any) -> None:
    resp.set_cookie(name, value, max_age=seconds, path=sign_in.path, secure=True, http_only=True, same_site=same_site)


def _forget(resp: falcon.Response, sign_in: SignIn, name: str, same_site: Any) -> None:
    resp.unset_cookie(name, path=sign_in.path, same_site=same_site)


def _go(resp: falcon.Response, address: str) -> None:
    resp.status = falcon.HTTP_303
    resp.location = address
    resp.set_header("Cache-Control", "no-store")
