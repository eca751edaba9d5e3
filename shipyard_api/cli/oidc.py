"""Logins with an OpenID provider: the device code flow (RFC 8628), and where the command line keeps the result.

A login is kept in the system's keyring where there is one, else in a file that only its owner can read.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shipyard_api.cli.global_options import ca_bundle
from shipyard_api.http import HttpClient
from shipyard_api.ports.errors import PeerError

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_KEYRING = "shipyard"
_TIMEOUT = 30.0
# Seconds before its end in which a token is renewed, or not sent any more.
_MARGIN = 15.0


class LoginError(Exception):
    """There is no login, or none can be made; the text is for people."""


def login(url: str, show: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> str:
    """Let a person log in at the provider of a server, keep the login, and return where. ``show``: prints a line."""
    ours = _read(f"{url}/oidc", "the server")
    if not ours.get("client_id"):
        raise LoginError("the server has no [oidc] cli_client_id, so only its page signs in with the provider")
    provider = _read(str(ours["issuer"]).rstrip("/") + "/.well-known/openid-configuration", "the identity provider")
    session, error = _session(str(ours["client_id"]))
    begun = session.post(
        str(provider.get("device_authorization_endpoint")),
        data={"client_id": ours["client_id"], "scope": ours["scopes"]},
        withhold_token=True,
        timeout=_TIMEOUT,
    ).json()
    if "device_code" not in begun:
        raise LoginError(f"the identity provider has no device code for us: {begun.get('error', 'no reason given')}")
    show(f"Open {begun.get('verification_uri_complete') or begun['verification_uri']}")
    show(f"and confirm the code {begun['user_code']}")
    interval, ends = float(begun.get("interval", 5)), time.monotonic() + float(begun["expires_in"])
    while time.monotonic() < ends:
        pause(interval)
        try:
            token = session.fetch_token(
                str(provider["token_endpoint"]),
                grant_type=GRANT,
                device_code=begun["device_code"],
                timeout=_TIMEOUT,
            )
        except error as answer:
            if answer.error not in ("authorization_pending", "slow_down"):
                raise LoginError(f"the identity provider refused the login: {answer.error}") from answer
            interval += 5.0 * (answer.error == "slow_down")
            continue
        return _keep(url, _kept(token, str(ours["client_id"]), str(provider["token_endpoint"])))
    raise LoginError("nobody confirmed the code in time")


def token(url: str) -> str:
    """Return a token of the login for this server, renewed if need be; empty: there is no login. Raises LoginError."""
    kept = _load(url)
    if not kept:
        return ""
    if time.time() < float(kept["ends_at"]) - _MARGIN:
        return str(kept["token"])
    if not kept["refresh_token"]:
        raise LoginError("your login has ended: run `shipyard login` again")
    session, error = _session(kept["client_id"])
    try:
        renewed = session.refresh_token(kept["endpoint"], kept["refresh_token"], timeout=_TIMEOUT)
    except error as answer:
        raise LoginError(f"your login has ended ({answer.error}): run `shipyard login` again") from answer
    kept = _kept({"refresh_token": kept["refresh_token"], **renewed}, kept["client_id"], kept["endpoint"])
    _keep(url, kept)
    return str(kept["token"])


def logout(url: str) -> bool:
    """Forget the login for this server; return whether there was one. Raises LoginError."""
    logins = _logins()
    kept = logins.pop(url, None)
    if kept is None:
        return False
    try:
        if _keyring("get_password", url):
            _keyring("delete_password", url)
    except LoginError:
        # Of a login in the file, the keyring may only have an older one, from before it was locked.
        if kept == {}:
            raise
    _write(logins)
    return True


def _kept(token: Mapping[str, Any], client: str, endpoint: str) -> dict[str, Any]:
    """Return what is kept of the provider's answer: the access token if the server can read it, else the ID token."""
    access = str(token.get("access_token", ""))
    return {
        "token": access if access.count(".") == 2 else str(token.get("id_token", "")),
        "refresh_token": str(token.get("refresh_token") or ""),
        "ends_at": float(token.get("expires_at") or time.time() + 300.0),
        "client_id": client,
        "endpoint": endpoint,
    }


def _keep(url: str, login: dict[str, Any]) -> str:
    """Store a login; return where. Of one in the keyring, the file has only the server."""
    try:
        _keyring("set_password", url, json.dumps(login))
    except LoginError:
        _write(_logins() | {url: login})
        return str(_file())
    _write(_logins() | {url: {}})
    return "the system's keyring"


def _load(url: str) -> Mapping[str, Any]:
    kept: Mapping[str, Any] | None = _logins().get(url)
    if kept == {}:
        kept = json.loads(_keyring("get_password", url) or "{}")
    return kept or {}


def _keyring(request: str, url: str, *password: str) -> Any:
    """Return the answer of the system's keyring. Raises LoginError if it is locked, or there is none that is safe."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise LoginError("your login is in the system's keyring: install keyring") from error
    try:
        if keyring.core.recommended(keyring.get_keyring()):
            return getattr(keyring, request)(_KEYRING, url, *password)
    except KeyringError as error:
        raise LoginError(f"your login is in the system's keyring, which refuses: {error}") from error
    raise LoginError("your login is in the system's keyring, which is out of reach here")


def _file() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "shipyard" / "logins.json"


def _logins() -> dict[str, Any]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(logins: Mapping[str, Any]) -> None:
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        json.dump(logins, out)
    part.replace(file)


def _read(address: str, whose: str) -> Mapping[str, Any]:
    base, _, path = address.rpartition("/")
    try:
        answer = HttpClient(base, system=whose, ca_file=ca_bundle()).get(path)
        if answer.ok:
            return answer.object()
    except (PeerError, ValueError) as error:
        raise LoginError(str(error)) from error
    raise LoginError(f"{whose} has no sign-in at {address} ({answer.status})")


def _session(client: str) -> tuple[Any, Any]:
    """Return a session of OAuth's client, and the class of its errors."""
    try:
        from authlib.integrations.base_client import OAuthError
        from authlib.integrations.requests_client import OAuth2Session
    except ImportError as error:
        raise LoginError("install authlib, which shipyard[oidc] brings") from error
    session = OAuth2Session(client, token_endpoint_auth_method="none")  # noqa: S106  # a public client
    session.verify = ca_bundle() or True
    return session, OAuthError
