"""Access to a Kubernetes API server: a kubeconfig, or an address with a token."""

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import yaml
from lightkube.config.client_adapter import user_auth, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster, User
from lightkube.core.exceptions import ConfigError


@dataclass(frozen=True, slots=True)
class Kubeconfig:
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


@dataclass(frozen=True, slots=True)
class Connection:
    """An authenticated client, its URL, and the secrets that no error may quote."""

    client: httpx2.Client
    url: str
    secrets: tuple[str, ...] = field(repr=False)


def connection(access: Access, timeout: httpx2.Timeout) -> Connection:
    """Return a connection to the API server; reads files, but opens no connection.

    Certificates are always verified. Proxies and authorities of the environment are ignored. Raises ValueError for an
    unusable access; it names the file, and quotes nothing of its content.
    """
    config, where = _config(access)
    _check(config, where)
    user = config.user or User()
    client, fault = None, ""
    try:
        client = httpx2.Client(
            base_url=config.cluster.server,
            auth=user_auth(user),
            verify=_authorities(config, user),
            timeout=timeout,
            trust_env=False,
            headers={"accept-encoding": "identity"},
        )
    except (ConfigError, OSError, ValueError, TypeError) as error:
        fault = _said(error)
    if client is None:
        # Outside the except block: the error would keep the files to which lightkube writes keys.
        raise ValueError(f"{where}: its certificates or credentials cannot be used: {fault}")
    return Connection(client, config.cluster.server.rstrip("/"), tuple(filter(None, (user.token, user.password))))


def _authorities(config: SingleConfig, user: User) -> ssl.SSLContext:
    if urlsplit(config.cluster.server).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without authorities, which take 20 ms to read
    return verify_cluster(config.cluster, user, config.abs_file, trust_env=False)


def _config(access: Access) -> tuple[SingleConfig, str]:
    """Return the settings of an access, and their name for errors."""
    if isinstance(access, Kubeconfig):
        return _read(access), str(access.file)
    cluster = Cluster(server=access.url, certificate_auth=str(access.ca_file.absolute()) if access.ca_file else None)
    config = KubeConfig.from_one(cluster=cluster, user=User(token=access.token or None)).get()
    if config is None:
        raise AssertionError("a configuration made of one cluster has a current context")
    return config, "the address"


def _read(access: Kubeconfig) -> SingleConfig:
    try:
        # Not KubeConfig.from_file: the errors of its YAML quote the file, tokens included.
        content = yaml.safe_load(access.file.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"{access.file} is not YAML{line}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{access.file} cannot be read: {_said(error)}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{access.file} is no kubeconfig")  # noqa: TRY004  # the file's fault, not the caller's
    try:
        return _chosen(content, access)
    except KeyError as error:
        raise ValueError(f"{access.file} names nothing called {error}") from error
    except (ConfigError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{access.file} is no kubeconfig that can be used: {_said(error)}") from error


def _chosen(content: Mapping[str, Any], access: Kubeconfig) -> SingleConfig:
    every = KubeConfig.from_dict(dict(content), fname=access.file.absolute())
    config = every.get(access.context or None)
    if config is None:
        raise ConfigError("no context is chosen")
    # lightkube needs a user; an API server may not.
    return config if config.user else config._replace(user=User())


def _check(config: SingleConfig, where: str) -> None:
    """Raise ValueError for settings that would fail, or be unsafe, only in use."""
    if not _is_server(config.cluster.server):
        wanted = "http:// or https://, a host, perhaps a port and a path, and no user, query or fragment"
        raise ValueError(f"{where}: the API server's URL must be {wanted}")
    if config.cluster.insecure:
        raise ValueError(f"{where}: insecure-skip-tls-verify is not supported; name the certificate-authority")
    user = config.user or User()
    if user.exec:
        # It would run a program in our process tree, without a time limit.
        raise ValueError(f"{where}: credentials from a program (exec) are not supported; use a token or a certificate")
    if bool(user.client_cert or user.client_cert_data) != bool(user.client_key or user.client_key_data):
        raise ValueError(f"{where}: a client certificate and its key are only of use together")
    data = (config.cluster.certificate_auth_data, user.client_cert_data, user.client_key_data)
    if not all(_is_base64(each) for each in data if each):
        raise ValueError(f"{where}: the data of a certificate or key is not base64")
    if user.token and not (user.token.isascii() and user.token.isprintable()):
        raise ValueError(f"{where}: the token holds characters that HTTP does not allow")


def _is_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        return False
    extra = "@" in parts.netloc or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not extra


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text)
    except ValueError:
        return False
    return True


def _said(error: Exception) -> str:
    """Return a library's error about settings in one line, never the value of a credential."""
    if isinstance(error, ssl.SSLError):
        return f"no certificate or key in PEM, or not the key of the certificate ({error.reason})"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}"
    return " ".join(str(error).split()) if isinstance(error, ConfigError) else type(error).__name__
