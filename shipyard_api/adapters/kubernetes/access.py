"""Access to a Kubernetes API server: a kubeconfig, or an address with a token."""

import base64
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import certifi
import yaml
from msgspec import Struct

from shipyard_api.adapters.kubernetes.answer import SYSTEM
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import Headers, checked_base
from shipyard_api.ports.errors import Unavailable


class Kubeconfig(Struct, frozen=True):
    """A kubeconfig file and one of its contexts; empty: the file's current context."""

    file: Path
    context: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """An API server's URL with a bearer token, and a CA file (None: the well-known authorities)."""

    url: str
    token: str = field(default="", repr=False)
    ca_file: Path | None = None


Access = Kubeconfig | Address

_MAPPINGS = frozenset({"exec", "auth-provider", "extensions"})


@dataclass(frozen=True, slots=True)
class Connection:
    """The API server's URL, what each request sends to prove its caller, and the secrets that no error may quote.

    ``tls``: None without TLS. ``credentials`` raises Unavailable if a file with a token cannot be read.
    """

    url: str
    credentials: Callable[[], Headers] = field(repr=False)
    tls: ssl.SSLContext | None
    secrets: tuple[str, ...] = field(repr=False)


def connection(access: Access) -> Connection:
    """Return the connection to the API server; reads files, but connects to nothing.

    Certificates are always verified. Raises ValueError for an unusable access; the error names the file, and quotes
    nothing of its content.
    """
    if isinstance(access, Address):
        where, directory = "the address", Path()
        cluster, user = {"server": access.url}, {"token": access.token}
        if access.ca_file:
            cluster["certificate-authority"] = str(access.ca_file.absolute())
    else:
        where, directory = str(access.file), access.file.absolute().parent
        cluster, user = _read(access)
    try:
        return _connection(cluster, user, directory)
    except ssl.SSLError as error:
        why = f"no certificate or key in PEM, or not the key of the certificate ({error.reason})"
        raise ValueError(f"{where}: {why}") from None
    except OSError as error:
        raise ValueError(f"{where}: {error.filename}: {error.strerror}") from error
    except _UnusableError as error:
        raise ValueError(f"{where}: {error}") from None


def _read(access: Kubeconfig) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of the cluster and the user of a context."""
    file = access.file
    try:
        return _chosen(yaml.safe_load(file.read_text(encoding="utf-8")), access.context)
    except yaml.MarkedYAMLError as error:
        # Without the error, which quotes the file, tokens included.
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"{file} is not YAML{line}") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError):
        raise ValueError(f"{file} cannot be read: it is no text") from None
    except _UnusableError as error:
        raise ValueError(f"{file} is no kubeconfig that can be used: {error}") from None


def _chosen(content: object, context: str) -> tuple[dict[str, str], dict[str, str]]:
    if not isinstance(content, dict):
        raise _UnusableError("it is no mapping")
    name = context or content.get("current-context")
    if not name:
        raise _UnusableError("no context is chosen")
    chosen = _named(content, "context", name)
    user = _named(content, "user", chosen["user"]) if chosen.get("user") else {}
    return _texts(_named(content, "cluster", chosen.get("cluster"))), _texts(user)


def _named(content: JsonObject, kind: str, name: object) -> JsonObject:
    """Return the context, cluster or user of a name."""
    entries = content.get(f"{kind}s")
    for entry in entries if isinstance(entries, list) else ():
        section = entry.get(kind) if isinstance(entry, dict) and entry.get("name") == name else None
        if isinstance(section, dict):
            return section
    raise _UnusableError(f"{kind.capitalize()} {str(name)!r} not found")


def _texts(section: JsonObject) -> dict[str, str]:
    """Return the settings, which are texts; switches count if they are on, and a mapping only by its name."""
    for key, value in section.items():
        if not isinstance(value, str | bool | None) and key not in _MAPPINGS:
            raise _UnusableError(f"{key} is no text")
    return {key: str(value) for key, value in section.items() if value}


def _connection(cluster: Mapping[str, str], user: Mapping[str, str], directory: Path) -> Connection:
    if "insecure-skip-tls-verify" in cluster:
        raise _UnusableError("insecure-skip-tls-verify is not supported; name the certificate-authority")
    if "exec" in user or "auth-provider" in user:
        # It would run a program in our process tree, without a time limit.
        raise _UnusableError("credentials from a program (exec) are not supported; use a token or a certificate")
    try:
        url = checked_base(cluster.get("server", ""))
    except ValueError as error:
        raise _UnusableError(f"the API server's URL cannot be used: {error}") from None
    token, password = user.get("token", ""), user.get("password", "")
    if token and not (token.isascii() and token.isprintable()):
        raise _UnusableError("the token holds characters that HTTP does not allow")
    tls = _tls(cluster, user, directory) if url.startswith("https:") else None
    return Connection(url, _credentials(user, directory), tls, tuple(filter(None, (token, password))))


def _credentials(user: Mapping[str, str], directory: Path) -> Callable[[], Headers]:
    if user.get("token"):
        headers = {"authorization": f"Bearer {user['token']}"}
    elif user.get("tokenFile"):
        return lambda: {"authorization": f"Bearer {_token(directory / user['tokenFile'])}"}
    elif user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        headers = {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
    else:
        headers = {}
    return lambda: headers


def _token(file: Path) -> str:
    """Return the token of a file: Kubernetes replaces it before it expires."""
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token or not token.isprintable():
        detail = "the file with the token, which the kubeconfig names, cannot be used"
        raise Unavailable(SYSTEM, "authentication", detail, sent=False)
    return token


def _tls(cluster: Mapping[str, str], user: Mapping[str, str], directory: Path) -> ssl.SSLContext:
    authority = _pem(cluster, "certificate-authority", directory)
    if authority:
        # With the line break it is never empty: then every well-known authority would be trusted.
        context = ssl.create_default_context(cadata=authority.decode("ascii", "ignore") + "\n")
    else:
        context = ssl.create_default_context(cafile=certifi.where())
    certificate, key = (_pem(user, name, directory) for name in ("client-certificate", "client-key"))
    if bool(certificate) != bool(key):
        raise _UnusableError("a client certificate and its key are only of use together")
    if key:
        # OpenSSL reads keys from files only: this one exists in memory, and without a password it would ask for one.
        with os.fdopen(os.memfd_create("kubernetes"), "wb") as memory:
            memory.write(certificate + b"\n" + key + b"\n")
            memory.flush()
            context.load_cert_chain(f"/proc/self/fd/{memory.fileno()}", password="")
    return context


def _pem(settings: Mapping[str, str], name: str, directory: Path) -> bytes:
    """Return the content of a file, or the data that stands in its place; empty only if neither is named."""
    file, data = settings.get(name), settings.get(f"{name}-data")
    if not (file or data):
        return b""
    try:
        content = (directory / file).read_bytes() if file else base64.b64decode(data or "", validate=True)
    except ValueError:
        raise _UnusableError(f"the data of {name} is not base64") from None
    if not content.strip():
        raise _UnusableError(f"{name} is empty")
    return content


class _UnusableError(Exception):
    """Settings that would fail, or be unsafe, only in use."""
