"""Keystone's Identity API v3: one user's tokens, and what its answers mean in terms of ``ports.errors``.

What is asked, and how an answer is read, is keystoneauth1's business. It goes over our own HTTP client, which knows its
limits: keystoneauth1's session would follow redirects with the password, and read an answer however long it takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from keystoneauth1.access import AccessInfoV3
from keystoneauth1.exceptions import CatalogException, ClientException
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from requests import PreparedRequest, Response
from requests import Session as Transport
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from shipyard_api import http
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.scrubbing import Scrubber

from .options import KeystoneOptions, Scope

SYSTEM = "Keystone"
LONGEST_TEXT = 400  # characters of Keystone's own words that go into ours

_OPERATION = "POST /auth/tokens"
_NOBODY_KNOWS = 500  # from here on


@dataclass(frozen=True, slots=True)
class Grant:
    """A token. ``lifetime``: seconds, by Keystone's own clock, from when it was given."""

    token: str = field(repr=False)
    lifetime: float
    access: AccessInfoV3 = field(repr=False)

    def endpoint(self, service_type: str, *, interface: str, region: str = "") -> str:
        """Return a service's address out of the catalog; any region's, if none is named. Raises Refused for none."""
        wanted = f"{interface} endpoint of a {service_type} service" + (f" in region {region}" if region else "")
        try:
            url = self.access.service_catalog.url_for(service_type, interface, region or None)
        except CatalogException as error:
            raise Refused(SYSTEM, "catalog", f"it has no {wanted} for our user") from error
        return str(url)


class KeystoneClient:
    """One user of one Keystone; may be shared by threads. Raises ValueError for an ``auth_url`` that is no address."""

    def __init__(self, options: KeystoneOptions) -> None:
        told = credentials(options)
        self._http = http.HttpClient(
            told["auth_url"],
            system=SYSTEM,
            connect_timeout=options.connect_timeout_seconds,
            read_timeout=options.read_timeout_seconds,
            total_timeout=options.read_timeout_seconds,
            scrubber=Scrubber(options.password),
            verify=options.ca_file or True,
        )
        self._options = options
        self._identity = Password(**told)

    def grant(self) -> Grant:
        """Ask for a new token. May be repeated: the tokens that were given before stay good.

        Raises Refused when Keystone does not let the user in, or has nothing of the kind; Busy and Unavailable when it
        gives no usable answer.
        """
        transport = Transport()
        transport.trust_env = False
        for scheme in ("http://", "https://"):
            transport.mount(scheme, _OverOurHttp(self._http, self._options))
        try:
            access = self._identity.get_auth_ref(Session(session=transport, redirect=False))
            issued, expires = access.issued, access.expires
            token = access.auth_token
        except (ClientException, KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unreadable() from error
        if not (token and issued and expires) or expires <= issued:
            raise _unreadable()
        return Grant(token, (expires - issued).total_seconds(), access)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


def credentials(options: KeystoneOptions) -> dict[str, Any]:
    """Return who we are before Keystone, and where it is, as keystoneauth1's ``Password`` takes it."""
    in_project = options.scope is Scope.PROJECT
    return {
        "auth_url": options.auth_url.rstrip("/").removesuffix("/v3") + "/v3",
        "username": options.user,
        "password": options.password,
        "user_domain_name": options.user_domain,
        "project_name": options.project if in_project else None,
        "project_domain_name": options.project_domain if in_project else None,
        "system_scope": None if in_project else "all",
    }


class _OverOurHttp(BaseAdapter):
    """Carries what keystoneauth1 sends; an answer that gives no token becomes an error of ours here."""

    def __init__(self, client: http.HttpClient, options: KeystoneOptions) -> None:
        super().__init__()
        self._http = client
        self._options = options

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: object = None,
        verify: object = True,
        cert: object = None,
        proxies: Mapping[str, str] | None = None,
    ) -> Response:
        """Send the request, once; how long that may take and whom to believe was told to the client."""
        path = str(request.url).removeprefix(self._http.base_url)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        answer = self._http.send(str(request.method), path, headers=headers, body=body)
        if not answer.ok:
            raise _fault(answer, self._options)
        carried = Response()
        carried.status_code = answer.status
        carried.headers = CaseInsensitiveDict(answer.headers)
        carried.raw = BytesIO(answer.body)
        carried.url = str(request.url)
        carried.request = request
        return carried

    def close(self) -> None:
        """Keep the connections: others use them."""


def _unreadable() -> Unavailable:
    return Unavailable(SYSTEM, _OPERATION, "answered, but not with a token that can be read")


def _fault(answer: http.Response, options: KeystoneOptions) -> PeerError:
    """Return what an answer without a token means. Keystone's 401 is one for all: it tells nobody what was wrong."""
    said = f"answered {answer.status}" + (f": {text}" if (text := _text(answer)) else "")
    operation = answer.operation
    match answer.status:
        case 401:
            hint = "is it the right password, and has the user a role there?"
            return Refused(SYSTEM, operation, f"no token for {options.whose}; {hint} ({said})")
        case 403:
            return Refused(SYSTEM, operation, f"no token for {options.whose} ({said})")
        case 404:
            return Refused(SYSTEM, operation, f"there is no Identity API v3 at this address ({said})")
        case 429:
            return Busy(SYSTEM, operation, said, retry_after=http.retry_after(answer.headers, now=datetime.now(UTC)))
        case status if status >= _NOBODY_KNOWS or status == 408:
            return Unavailable(SYSTEM, operation, said)
    return Refused(SYSTEM, operation, f"no token for {options.whose} ({said})")


def _text(answer: http.Response) -> str:
    """Return Keystone's words in one line."""
    try:
        body: Any = answer.json()
    except Unavailable:
        return ""
    error = body.get("error") if isinstance(body, dict) else None
    text = error.get("message") if isinstance(error, dict) else None
    return answer.scrubber.line(str(text or ""), LONGEST_TEXT)
