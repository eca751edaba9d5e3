"""What a design says about etcd and genesis: promenade/EtcdClusters/v1, Genesis/v1 (contract: promenade, 4.6).

The documents about etcd carry private keys, so findings about them quote no value.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import Document, Revision
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_members import NO_MINIMUM, Minimum
from shipyard_api.domain.teardown.limits import TeardownLimits

ETCD_CLUSTERS = "promenade/EtcdClusters/v1"
GENESIS = "promenade/Genesis/v1"
REQUEST_TIMEOUT = 10.0

_SHIPPED = "etcd_clusters_v1"
_NAMES_KEYS_ONLY = ("required ", "additionalProperties ")
_PEM = {"ca": "CERTIFICATE", "cert": "CERTIFICATE", "key": "PRIVATE KEY"}


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """One entry of the document promenade/EtcdClusters/v1: how to reach a cluster, and what the site wants of it.

    ``ca``, ``cert``, ``key``: PEM texts, empty without TLS. They are written to no log, and to no file that outlives
    the call. ``server_name``: the name that certificates are checked against; empty: the address.
    ``request_timeout``: seconds for each request.
    """

    name: str
    endpoints: tuple[str, ...]
    ca: str = field(default="", repr=False)
    cert: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    server_name: str = ""
    minimum: Minimum = NO_MINIMUM
    node_label: tuple[tuple[str, str], ...] = ()
    request_timeout: float = REQUEST_TIMEOUT

    def with_addresses(self, urls: Iterable[str]) -> Self:
        """Return the same access with further endpoints, which members listed: keep them while a teardown runs.

        The endpoints of the document may all be on the node that goes.
        """
        return dataclasses.replace(self, endpoints=tuple(dict.fromkeys((*self.endpoints, *urls))))


def read_etcd_clusters(
    documents: Iterable[Document], check: Callable[[str, object], tuple[Finding, ...]]
) -> tuple[tuple[EtcdAccess, ...], tuple[Finding, ...]]:
    """Return the etcd clusters of a rendered design, and an error for each broken rule; then use no cluster.

    ``check``: checks a value against a schema that ships with Shipyard. No such document: no clusters, etcd is not
    managed.
    """
    clusters: dict[str, EtcdAccess] = {}
    findings: list[Finding] = []
    for document in documents:
        if document.schema != ETCD_CLUSTERS:
            continue
        faults = [_unquoted(fault) for fault in check(_SHIPPED, document.data)]
        for place, entry in enumerate(document.data["clusters"]) if not faults else ():
            path = f"/clusters/{place}"
            faults += _faults(entry, path)
            if entry["name"] in clusters:
                faults.append(_fault(f"{path}/name", "another cluster has this name: names must be unique."))
            clusters.setdefault(entry["name"], _access(entry))
        findings += [fault.about(document.ref) for fault in faults]
    return (() if findings else tuple(clusters.values())), tuple(findings)


def genesis_hosts(documents: Iterable[Document]) -> frozenset[NodeName]:
    """Return the names of the hosts that a design names as genesis; usually one."""
    names = (
        document.data.get("hostname")
        for document in documents
        if document.schema == GENESIS and isinstance(document.data, Mapping)
    )
    return frozenset(NodeName(name) for name in names if isinstance(name, str) and name)


def _access(entry: Mapping[str, Any]) -> EtcdAccess:
    tls, minimum = entry.get("tls", {}), entry.get("minimum", {})
    return EtcdAccess(
        entry["name"],
        tuple(entry["endpoints"]),
        **{name: tls.get(name, "") for name in ("ca", "cert", "key", "server_name")},
        minimum=Minimum(int(minimum.get("members", 0)), int(minimum.get("healthy", 0))),
        node_label=tuple(sorted(entry.get("node_label", {}).items())),
        request_timeout=float(entry.get("request_timeout", REQUEST_TIMEOUT)),
    )


def _faults(entry: Mapping[str, Any], path: str) -> Iterator[Finding]:
    for place, endpoint in enumerate(entry["endpoints"]):
        if not _is_base_url(endpoint):
            message = "must be a URL such as https://etcd.example.org:2379, without user, path or query."
            yield _fault(f"{path}/endpoints/{place}", message)
    tls = entry.get("tls", {})
    if not tls.get("ca") and any(endpoint.lower().startswith("https:") for endpoint in entry["endpoints"]):
        yield _fault(f"{path}/tls/ca", "is required for https.")
    for given, needed in (("cert", "key"), ("key", "cert")):
        if tls.get(given) and not tls.get(needed):
            yield _fault(f"{path}/tls/{needed}", f"is required with {given}.")
    for name, kind in _PEM.items():
        if tls.get(name) and not re.search(rf"-----BEGIN [A-Z ]*{kind}-----", tls[name]):
            yield _fault(f"{path}/tls/{name}", f"must be a PEM text with a {kind.lower()}.")
    minimum = entry.get("minimum", {})
    if "members" in minimum and minimum.get("healthy", 0) > minimum["members"]:
        yield _fault(f"{path}/minimum/healthy", "must not be more than minimum.members.")


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    is_bare = parts.path in ("", "/") and not (parts.query or parts.fragment) and "@" not in parts.netloc
    names_host = bool(parts.hostname) and port != 0 and text.isprintable() and " " not in text
    return parts.scheme in ("http", "https") and is_bare and names_host


def _fault(path: str, message: str) -> Finding:
    return error("EtcdClusterInvalid", f"{path}: {message}", path=path)


def _unquoted(fault: Finding) -> Finding:
    """Return a schema's finding without the value at fault, which may be a private key."""
    if fault.diagnostic.startswith(_NAMES_KEYS_ONLY):
        return fault
    return replace(fault, message=f"{fault.path or 'the document'}: does not satisfy {fault.diagnostic}")


class Protection(Struct, frozen=True):
    """What protects running things. ``revision``: None without a committed design.

    ``clusters``: the managed etcd clusters. ``genesis``: the hosts that are not torn down. ``limits``: of drains, the
    usual ones if the design sets none. ``faults``: errors that hide the clusters or the hosts.
    """

    limits: TeardownLimits = TeardownLimits()  # immutable
    revision: Revision | None = None
    clusters: Sequence[EtcdAccess] = ()
    genesis: frozenset[NodeName] = frozenset()
    faults: Sequence[Finding] = ()
