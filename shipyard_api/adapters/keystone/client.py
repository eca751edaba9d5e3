"""Keystone's Identity API v3: one user's tokens, and Keystone's answers as ``ports.errors``.

keystoneauth1 builds requests and parses answers. Our own HTTP client transports them, with its limits: keystoneauth1's
session would follow redirects with the password, and read an answer without a time limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from shipyard_api.domain.json_types import member
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import PeerError, Refused, Unavailable

from . import KeystoneOptions, Scope

SYSTEM = "Keystone"
LONGEST_TEXT = 400  # characters of Keystone's message in an error

_OPERATION = "POST /auth/tokens"
_UNKNOWN_OUTCOME = 500  # and above


@dataclass(frozen=True, slots=True)
class Grant:
    """A token. ``lifetime``: seconds from its issue, by Keystone's clock."""

    token: str = field(repr=False)
    lifetime: float
    access: AccessInfoV3 = field(repr=False)

    def endpoint(self, service_type: str, *, interface: str, region: str = "") -> str:
        """Return a service's address from the catalog; in any region if none is named. Raises Refused for none."""
        wanted = f"{interface} endpoint of a {service_type} service" + (f" in region {region}" if region else "")
        try:
            url = self.access.service_catalog.url_for(service_type, interface, region or None)
        except CatalogException as error:
            raise Refused(SYSTEM, "catalog", f"it has no {wanted} for our user", whole_site=True) from error
        return str(url)


class KeystoneClient:
    """One user of one Keystone; may be shared by threads. Raises ValueError for an invalid ``auth_url``."""

    def __init__(self, options: KeystoneOptions) -> None:
        arguments = credentials(options)
        self._http = http.HttpClient(
            arguments["auth_url"],
            system=SYSTEM,
            connect_timeout=options.connect_timeout_seconds,
            read_timeout=options.read_timeout_seconds,
            total_timeout=options.read_timeout_seconds,
            scrubber=Scrubber(options.password),
            ca_file=options.ca_file,
        )
        self._options = options
        self._identity = Password(**arguments)

    def grant(self) -> Grant:
        """Return a new token. May be repeated: earlier tokens stay valid.

        Raises Refused if Keystone rejects the user or has no Identity API v3; Busy or Unavailable without a usable
        answer.
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
    """Return Keystone's address and our credentials as arguments of keystoneauth1's ``Password``."""
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
    """Transports keystoneauth1's requests; an answer without a token becomes one of our errors."""

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
        """Send the request once; timeouts and trusted certificates are those of our client."""
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
        """Keep the connections, which others use."""


def _unreadable() -> Unavailable:
    return Unavailable(SYSTEM, _OPERATION, "answered without a readable token")


def _fault(answer: http.Response, options: KeystoneOptions) -> PeerError:
    """Return the error for an answer without a token. Keystone's 401 never gives a reason."""
    detail = answer.answered(text := _text(answer))
    match answer.status:
        case 401:
            hint = "check the password and the user's role there"
            return http.refusal(answer, f"no token for {options.whose}; {hint} ({detail})")
        case 403:
            return http.refusal(answer, f"no token for {options.whose} ({detail})")
        case 404:
            return http.refusal(answer, f"no Identity API v3 at this address ({detail})")
        case 408 | 429:
            return answer.failure(text)
        case status if status < _UNKNOWN_OUTCOME:
            return Refused(SYSTEM, answer.operation, f"no token for {options.whose} ({detail})", whole_site=True)
    return answer.failure(text)


def _text(answer: http.Response) -> str:
    """Return Keystone's message in one line."""
    try:
        body: Any = answer.json()
    except Unavailable:
        return ""
    return answer.scrubber.line(str(member(body, "error", "message") or ""), LONGEST_TEXT)
