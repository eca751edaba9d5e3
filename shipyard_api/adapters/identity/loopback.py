"""Callers on this machine, who need no token; every other request is refused.

A loopback connection is not enough: a proxy on this machine forwards requests of strangers, and a stranger's web page
in a browser on this machine can send requests, also by a name that resolves to this machine.

Browsers are recognizable by their headers. A proxy may not be: one that speaks HTTP/1.1, sets Host to our address and
adds no headers looks like curl. That case cannot be detected, and is documented instead.
"""

import logging
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from shipyard_api.domain.error_kinds import Forbidden
from shipyard_api.ports.identity import ACCEPTED, Identity, Request

LOG = logging.getLogger(__name__)

EVERYBODY = Identity("anonymous", "anonymous", frozenset({"admin"}), user_id="anonymous")

# Headers of proxies, load balancers and caches; our own clients send none of them.
_PASSED_ON = frozenset((
    "HTTP_VIA", "HTTP_CDN_LOOP", "HTTP_CLIENT_IP", "HTTP_TRUE_CLIENT_IP", "HTTP_FASTLY_CLIENT_IP",
    "HTTP_FLY_CLIENT_IP", "HTTP_CLUSTER_CLIENT_IP", "HTTP_PROXY_CLIENT_IP", "HTTP_WL_PROXY_CLIENT_IP",
    "HTTP_SURROGATE_CAPABILITY", "HTTP_MAX_FORWARDS", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP",
    "HTTP_X_CLUSTER_CLIENT_IP", "HTTP_X_AZURE_CLIENTIP", "HTTP_X_APPENGINE_USER_IP", "HTTP_X_REMOTE_IP",
    "HTTP_X_REMOTE_ADDR", "HTTP_X_SCHEME", "HTTP_X_HOST", "HTTP_X_PROXYUSER_IP", "HTTP_X_PROXY_ID",
    "HTTP_X_BLUECOAT_VIA", "HTTP_X_VARNISH", "HTTP_X_AMZN_TRACE_ID", "HTTP_X_AMZ_CF_ID",
))  # fmt: skip
_PASSED_ON_BEGINS = (
    "HTTP_FORWARDED", "HTTP_X_FORWARD", "HTTP_X_ORIGINAL_", "HTTP_X_ORIGINATING_", "HTTP_X_ENVOY_", "HTTP_CF_",
    "HTTP_X_ARR_", "HTTP_X_TRAEFIK_", "HTTP_X_KONG_",
)  # fmt: skip
# Only proxies still use it by default, such as nginx before 1.29.7.
_OLD = ("HTTP/0.9", "HTTP/1.0")
_PORTS = {"http": 80, "https": 443}
_OURS = ("same-origin", "none")


class LoopbackIdentities:
    """Fills ``ports.identity.Identities``: every caller on this machine is an administrator."""

    challenge = 'Loopback realm="Shipyard"'

    def __init__(self) -> None:
        LOG.warning("no authentication: every caller of this port, also through a local proxy, is an administrator")

    def cached(self, request: Request) -> Identity | None:
        """Return the same as ``of``, which waits for nothing."""
        return self.of(request)

    def of(self, request: Request) -> Identity:
        """Return the only identity; raises Forbidden with the reason."""
        reason = next(_reasons(request), None)
        if reason is not None:
            raise Forbidden(
                f"Without identities ([identity] kind = none) this API serves its own machine only: {reason}"
            )
        return EVERYBODY


def open_to_others(addresses: Iterable[Any]) -> list[str]:
    """Return those socket addresses of a server (from ``getsockname``) that other machines can reach."""
    return [_shown(address) for address in addresses if not _is_local(address)]


def _reasons(request: Request) -> Iterator[str]:
    accepted = request.get(ACCEPTED, "")
    if accepted and not _is_loopback(accepted):
        yield "it listens on an address that others can reach"
    caller = request.get("REMOTE_ADDR", "")
    # Over a unix socket a caller has no address.
    if caller and not _is_loopback(caller):
        yield "the request comes from elsewhere"
    passed_on = [name for name in request if name in _PASSED_ON or name.startswith(_PASSED_ON_BEGINS)]
    if passed_on:
        yield f"the request was passed on by a proxy ({passed_on[0].removeprefix('HTTP_').replace('_', '-').title()})"
    if request.get("SERVER_PROTOCOL") in _OLD:
        yield "the request was passed on by a proxy, or by a client that speaks HTTP/1.0 only"
    host = _origin(f"{request['wsgi.url_scheme']}://{request.get('HTTP_HOST', '')}")
    if host is None or not _is_loopback(host[1]):
        yield "the request is addressed to another host (Host)"
    elif "HTTP_ORIGIN" in request and _origin(request["HTTP_ORIGIN"]) != host:
        yield "the request comes from a web page of another origin (Origin)"
    if request.get("HTTP_SEC_FETCH_SITE", "none") not in _OURS:
        yield "the request comes from a web page of another site (Sec-Fetch-Site)"


def _origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an origin; None for an invalid one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port if port is not None else _PORTS.get(parts.scheme, 0)


def _is_local(address: Any) -> bool:
    """Return whether only this machine reaches a socket: its address is loopback, a path, or absent."""
    return not isinstance(address, tuple) or _is_loopback(str(address[0]))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _shown(address: Any) -> str:
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
