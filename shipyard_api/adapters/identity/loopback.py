"""Callers on this very machine, who need no token; everybody else is turned away.

That a request comes over loopback is not enough: a proxy on this machine passes on requests of strangers, and a page
of a stranger, open in a browser on this machine, sends requests of its own, by a name that leads here if it must.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from shipyard_api.domain.errors import Forbidden
from shipyard_api.ports.identity import Identity, Request

EVERYBODY = Identity("anonymous", "anonymous", frozenset({"admin"}), user_id="anonymous")

_PASSED_ON = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_REAL_IP", "HTTP_VIA")
_PORTS = {"http": 80, "https": 443}
_OURS = ("same-origin", "none")


class LoopbackIdentities:
    """Fills ``ports.identity.Identities``: everybody on this machine is an administrator."""

    challenge = 'Loopback realm="Shipyard"'

    def of(self, request: Request) -> Identity:
        """Return the one identity that there is; raises Forbidden, which says why."""
        reason = next(_reasons(request), None)
        if reason is not None:
            raise Forbidden(
                f"Without identities ([identity] kind = none) this API serves its own machine only: {reason}"
            )
        return EVERYBODY


def open_to_others(addresses: Iterable[Any]) -> list[str]:
    """Return those of a server's socket addresses (as ``getsockname`` tells them) that other machines may reach."""
    return [_shown(address) for address in addresses if not _is_local(address)]


def _reasons(request: Request) -> Iterator[str]:
    accepted = request.get("gunicorn.socket")
    if accepted is not None:
        with suppress(OSError):  # the caller has gone away: then it does not matter
            if not _is_local(accepted.getsockname()):
                yield "it listens on an address that others can reach"
    caller = request.get("REMOTE_ADDR", "")
    # Over a unix socket a caller has no address.
    if caller and not _is_loopback(caller):
        yield "the request comes from elsewhere"
    if any(name in request for name in _PASSED_ON):
        yield "the request was passed on by a proxy"
    host = _origin(f"{request['wsgi.url_scheme']}://{request.get('HTTP_HOST', '')}")
    if host is None or not _is_loopback(host[1]):
        yield "the request is addressed to another host (Host)"
    elif "HTTP_ORIGIN" in request and _origin(request["HTTP_ORIGIN"]) != host:
        yield "the request comes from a web page of another origin (Origin)"
    if request.get("HTTP_SEC_FETCH_SITE", "none") not in _OURS:
        yield "the request comes from a web page of another site (Sec-Fetch-Site)"


def _origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an origin; None for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port if port is not None else _PORTS.get(parts.scheme, 0)


def _is_local(address: Any) -> bool:
    """Return whether only this machine reaches a socket: it has a path or no address at all, or one of loopback."""
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
