"""The client of the REST API: one request, or all pages of a list; errors in the contract's words.

Every command imports this module, also for ``--help``: what it sends with is imported by the first request.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shipyard_api.cli.errors import ApiError, UnreadableError
from shipyard_api.cli.global_options import GlobalOptions, ca_bundle
from shipyard_api.cli.output import answers
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.shapes import JsonObject, as_object, as_objects, parse_json

if TYPE_CHECKING:
    from shipyard_api.cli.keystone import KeystoneLogin
    from shipyard_api.http import RequestOptions

API = "/api/v1.0"
TEMPLATES = "/v1"
"""Where deploy templates are; this dialect takes no parameter that it does not know, and needs a version."""
_TEMPLATES_VERSION = {"X-OpenStack-Ironic-API-Version": "1.55"}
SOFTWARE = "/api/v1"
"""Where task graphs, roles and tags are."""

ANSWER_TIMEOUT = 600.0  # seconds: a commit asks every peer to validate the design
LEAST_TOTAL_TIMEOUT = 60.0  # seconds for an answer that has begun
PAGE_SIZE = 1000
_YAML = {"Content-Type": "application/x-yaml"}
_PERHAPS = "The server may have done it: check before you send it again."
_TLS = "if it speaks TLS, its address begins with https://"

Query = Sequence[tuple[str, str]]
_Result = TypeVar("_Result")


class Api:
    """One Shipyard server: the one that the options name, else the one in the catalog of a Keystone.

    Its address may end in ``/api/v1.0`` or not. ``timeout``: seconds to wait for an answer to begin. ``base``:
    where its paths begin.
    """

    def __init__(self, options: GlobalOptions, *, timeout: float = ANSWER_TIMEOUT, base: str = API) -> None:
        from shipyard_api.http import HttpClient

        self._options = options
        self._base = base
        login = self._keystone_login()
        options = self._options
        url = options.url or (self._address_in_catalog(login) if login else "")
        headers = {"X-Context-Marker": options.context_marker, "X-Auth-Token": options.token}
        headers |= _TEMPLATES_VERSION if base == TEMPLATES else {}
        self._root = url.rstrip("/").removesuffix(API)
        logged_in = not (options.token or login) and self._has_login()
        self._has_token = bool(options.token or login or logged_in)
        try:
            self._http = HttpClient(
                self._root + base,
                system="Shipyard",
                headers={name: value for name, value in headers.items() if value},
                credentials=self._kept_login if logged_in else self._credentials(login),
                read_timeout=timeout,
                total_timeout=max(timeout, LEAST_TOTAL_TIMEOUT),
                ca_file=ca_bundle(),
            )
        except ValueError as error:
            is_given = str(error).startswith("a base URL") and self._options.url
            hint = ": correct SHIPYARD_URL or --url" if is_given else ""
            raise ApiError(f"Error: Client Error: {error}{hint}") from error

    def _credentials(self, login: "KeystoneLogin | None") -> "Callable[[], dict[str, str]] | None":
        if login is None or self._options.token:
            return None
        return lambda: {"X-Auth-Token": _from_keystone(login.token)}

    def _has_login(self) -> bool:
        return bool(self._kept_login()["X-Auth-Token"])

    def _kept_login(self) -> dict[str, str]:
        """Return the token of `shipyard login` for this server, empty without one."""
        from shipyard_api.cli import oidc

        try:
            return {"X-Auth-Token": oidc.token(self._root)}
        except oidc.LoginError as error:
            raise ApiError(f"Error: {error}") from error

    def _keystone_login(self) -> "KeystoneLogin | None":
        keystone = self._options.keystone
        if not keystone.auth_url:
            if not self._options.url:
                raise ApiError(
                    "Error: Missing the address of the server: set SHIPYARD_URL or give --url, or name a Keystone that "
                    "knows it: set OS_AUTH_URL or give --os-auth-url"
                )
            if (keystone.username or keystone.password) and not (self._options.token or keystone.token):
                raise ApiError(
                    "Error: Missing the Keystone that OS_USERNAME and OS_PASSWORD are for: set OS_AUTH_URL or give "
                    "--os-auth-url; or set SHIPYARD_TOKEN or give --token, which needs no Keystone"
                )
            # Without a Keystone the token cannot be exchanged, so it is sent unchanged.
            if keystone.token and not self._options.token:
                self._options = replace(self._options, token=keystone.token)
            return None
        needed = not (self._options.url and self._options.token)
        usable = keystone.token or keystone.username or not self._options.url
        if not (needed and usable):
            return None
        from shipyard_api.cli.keystone import KeystoneLogin

        return _from_keystone(lambda: KeystoneLogin(keystone))

    def _address_in_catalog(self, login: "KeystoneLogin") -> str:
        began = time.monotonic()
        url = _from_keystone(login.address)
        if self._options.debug:
            click.echo(f"Keystone's catalog has Shipyard at {url}, {time.monotonic() - began:.3f} s", err=True)
        return url

    def request(self, method: str, path: str, query: Query = (), *, json: object = None) -> Answer:
        """Return the answer to any request that may be repeated. Raises ApiError without an answer."""
        return self._send(method, path, query, {} if json is None else {"json": json})

    def get(self, path: str, query: Query = ()) -> Answer:
        """Return the answer to a read, error answers included. Raises ApiError without an answer."""
        return self._send("GET", path, query, {})

    def post(self, path: str, query: Query = (), *, json: object = None, yaml: bytes = b"") -> Answer:
        """Return the answer to a write of ``json``, or else of ``yaml``. Raises ApiError without an answer."""
        if json is not None:
            return self._send("POST", path, query, {"json": json})
        return self._send("POST", path, query, {"body": yaml, "headers": _YAML})

    def patch(self, path: str, json: JsonObject | Sequence[JsonObject]) -> Answer:
        """Return the answer to a change that may be repeated. Raises ApiError without an answer."""
        return self._send("PATCH", path, (), {"json": json})

    def put(self, path: str, json: object) -> Answer:
        """Return the answer to a replacement that may be repeated. Raises ApiError without an answer."""
        return self._send("PUT", path, (), {"json": json})

    def delete(self, path: str, query: Query = ()) -> Answer:
        """Return the answer to a removal that may be repeated. Raises ApiError without an answer."""
        return self._send("DELETE", path, query, {})

    def post_once(self, path: str, query: Query = (), *, json: JsonObject | None = None, template: str = "") -> Answer:
        """Return the answer to a write that must not happen twice; if the answer is lost, send the write once more.

        Only a server that accepts ``Idempotency-Key`` for this path gets it again. ``template``: the path in the
        server's OpenAPI document, if it contains an id. A proxy's answer in place of the server's is a lost answer.
        Raises ApiError if no answer arrived; its text says that the write may have been done.
        """
        key = {"Idempotency-Key": str(uuid.uuid4())}
        request: RequestOptions = (
            {"body": b"", "headers": _YAML | key} if json is None else {"json": json, "headers": key}
        )
        try:
            result = self._attempt(path, query, request)
            if isinstance(result, ApiError) and not result.sent:
                raise result
            if _is_lost(result) and self._accepts_idempotency_key(template or path):
                result = self._attempt(path, query, request)
        except KeyboardInterrupt:
            click.echo(_PERHAPS, err=True)
            raise
        if isinstance(result, Answer) and not _is_lost(result):
            return result
        text = result if isinstance(result, ApiError) else answers.rendered(result, "cli", expected=0, cli=str)[0]
        raise ApiError(f"{text}\n{_PERHAPS}", temporary=True, sent=True)

    def _attempt(self, path: str, query: Query, request: "RequestOptions") -> Answer | ApiError:
        try:
            return self._send("POST", path, query, request)
        except ApiError as error:
            return error

    def _accepts_idempotency_key(self, path: str) -> bool:
        """Return whether the server's OpenAPI document has the header Idempotency-Key for a POST to this path."""
        from shipyard_api.http import HttpClient
        from shipyard_api.ports.errors import PeerError

        try:
            # The document is outside the API, and everyone may read it, so no token is sent.
            document = HttpClient(self._root, system="Shipyard", ca_file=ca_bundle()).get("openapi.json").json()
            return "Idempotency-Key" in str(document["paths"][f"{API}/{path}"]["post"])
        except (PeerError, LookupError, TypeError):
            return False

    def read(self, path: str, query: Query = ()) -> JsonObject:
        """Return the JSON object of a successful read. Raises ApiError with the API's own words otherwise."""
        return as_object(json_content(self.get(path, query)), "the body")

    def pages(self, path: str, name: str, query: Query = ()) -> Iterator[JsonObject]:
        """Yield all entries of a paged list, in the server's order. Raises as ``read``."""
        marker = ""
        while True:
            page = self.read(path, [*query, ("limit", str(PAGE_SIZE))] + ([("marker", marker)] if marker else []))
            yield from as_objects(page.get(name), name)
            marker = str(page.get("next") or "")
            if not marker:
                return

    def _send(self, method: str, path: str, query: Query, request: "RequestOptions") -> Answer:
        from shipyard_api.http.failures import hung_up
        from shipyard_api.ports.errors import PeerError

        verbosity = [("verbosity", str(self._options.verbosity))] if self._base == API else []
        request["params"] = [*query, *verbosity]
        began = time.monotonic()
        try:
            response = self._http.send(method, path, **request)
        except PeerError as error:
            if self._options.debug:
                took = time.monotonic() - began
                click.echo(f"{method} /{path} no answer {took:.3f} s from {self._http.base_url}", err=True)
            hint = f"; {_TLS}" if self._root.startswith("http://") and hung_up(error) else ""
            why = f"{error.detail}{hint}"
            raise ApiError(f"Error: Client Error: {error}{hint}", temporary=True, sent=error.sent, why=why) from error
        headers = response.headers
        if self._options.debug:
            took = time.monotonic() - began
            line = f"{method} /{path} {response.status} {len(response.body)} bytes {took:.3f} s"
            click.echo(f"{line} request {headers.get('x-shipyard-req', '-')}", err=True)
        # The contract prints bodies that cannot be decoded, so invalid UTF-8 must not raise here.
        text = response.body.decode("utf-8", "replace")
        content_type, location = headers.get("content-type", ""), headers.get("location", "")
        warnings = headers.get("x-shipyard-warnings", "")
        return Answer(
            method, response.status, content_type, text, f"/{path}", self._root, location, self._has_token, warnings
        )


def json_content(answer: Answer, *, expected: int = 200) -> Any:
    """Return the JSON of an answer with the expected status. Raises ApiError otherwise."""
    if answer.status == expected:
        try:
            return parse_json(answer.text)
        except UnreadableError as error:
            raise ApiError(f"Error: Unable to decode response. Value: {answer.text}") from error
    text, _ = answers.rendered(answer, "cli", expected=expected, cli=str)
    raise ApiError(str(text), temporary=answer.status in (429, 502, 503, 504), status=answer.status)


def _is_lost(result: Answer | ApiError) -> bool:
    """Return whether it is unknown what the server did: without an answer, or with one of a proxy."""
    if isinstance(result, ApiError):
        return True
    if result.status != 503:
        return result.status in (502, 504)
    try:
        body = parse_json(result.text)
    except UnreadableError:
        return True
    return not (isinstance(body, dict) and "message" in body)


def _from_keystone(request: Callable[[], _Result]) -> _Result:
    """Return the result of a request to Keystone. Raises ApiError in the contract's words."""
    from shipyard_api.cli.keystone import KeystoneError

    try:
        return request()
    except KeystoneError as error:
        raise ApiError(f"Error: Client Error: {error}") from error
