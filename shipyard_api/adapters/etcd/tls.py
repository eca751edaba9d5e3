"""Trust and credentials of an etcd cluster, from the PEM texts of a design."""

import os
import ssl

from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.ports.errors import Refused

SYSTEM = "etcd"


def tls_context(access: EtcdAccess) -> ssl.SSLContext | None:
    """Return the context for all connections to the cluster, None without an authority.

    OpenSSL reads a private key from files only: it gets one that exists in memory, for the duration of the call.
    Raises Refused, without any of the texts, if they cannot be used.
    """
    if not access.ca:
        return None
    try:
        context = ssl.create_default_context(cadata=access.ca)
        if access.key:
            _load_key(context, f"{access.cert}\n{access.key}\n")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        detail = f"the certificates or the key of cluster {access.name} cannot be used ({reason})"
        raise Refused(SYSTEM, "TLS", detail) from None
    return context


def _load_key(context: ssl.SSLContext, pem: str) -> None:
    with os.fdopen(os.memfd_create("etcd"), "w", encoding="utf-8") as memory:
        memory.write(pem)
        memory.flush()
        # Without a password, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(f"/proc/self/fd/{memory.fileno()}", password="")
