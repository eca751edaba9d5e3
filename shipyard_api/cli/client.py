"""The REST API as commands see it: one request, or all pages of a list; failures in the contract's words."""

import contextlib
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from shipyard_api.cli.global_options import Settings, trusted
from shipyard_api.cli.output import answers
from shipyard_api.cli.output.printout import Page
from shipyard_api.http import HttpClient, Options, hung_up
from shipyard_api.http import segment as quoted
from shipyard_api.ports.errors import PeerError

if TYPE_CHECKING:
    from shipyard_api.cli.keystone import Login

API = "/api/v1.0"
PATIENCE = 600.0  # seconds: a commit asks every peer to validate the design
LONGEST = 60.0  # seconds for an answer that has begun, at least
PAGE = 1000
_YAML = {"Content-Type": "application/x-yaml"}
_PERHAPS = "It may have been done all the same: look before you ask for it again."
_TLS = "if it speaks TLS, its address begins with https://"

Query = Sequence[tuple[str, str]]
_Said = TypeVar("_Said")

__all__ = ["Api", "ApiError", "segment", "show"]


class ApiError(Exception):
    """The request failed; the text is what the contract prints.

    ``passing``: it may well work a little later. ``sent``: the server may have got it, and acted on it.
    """

    def __init__(self, text: str, *, passing: bool = False, sent: bool = False) -> None:
        super().__init__(text)
        self.passing = passing
        self.sent = sent


class Api:
    """One Shipyard server: the one that the settings name, else the one in the catalog of a Keystone.

    Addresses may be given with or without ``/api/v1.0`` at the end. ``patience``: seconds that it may keep silent.
    """

    def __init__(self, settings: Settings, *, patience: float = PATIENCE) -> None:
        self._settings = settings
        login = self._login()
        settings = self._settings
        url = settings.url or (self._address(login) if login else "")
        headers = {"X-Context-Marker": settings.context_marker, "X-Auth-Token": settings.token}
        self._root = url.rstrip("/").removesuffix(API)
        try:
            self._http = HttpClient(
                self._root + API,
                system="Shipyard",
                headers={name: value for name, value in headers.items() if value},
                credentials=None if login is None or settings.token else lambda: {"X-Auth-Token": _asked(login.token)},
                read_timeout=patience,
                total_timeout=max(patience, LONGEST),
                verify=trusted(),
            )
        except ValueError as error:
            raise ApiError(f"Error: Client Error: {error}") from error

    def _login(self) -> "Login | None":
        identity = self._settings.identity
        if not identity.auth_url:
            if not self._settings.url:
                raise ApiError(
                    "Error: Missing the address of the server: set SHIPYARD_URL or give --url, or name a Keystone that "
                    "knows it: set OS_AUTH_URL or give --os-auth-url"
                )
            if (identity.username or identity.password) and not (self._settings.token or identity.token):
                raise ApiError(
                    "Error: Missing the Keystone that OS_USERNAME and OS_PASSWORD are for: set OS_AUTH_URL or give "
                    "--os-auth-url; or set SHIPYARD_TOKEN or give --token, which needs no Keystone"
                )
            # Without a Keystone there is nobody to exchange it, so it is sent as it is.
            if identity.token and not self._settings.token:
                self._settings = replace(self._settings, token=identity.token)
            return None
        needed = not (self._settings.url and self._settings.token)
        known = identity.token or identity.username or not self._settings.url
        if not (needed and known):
            return None
        from shipyard_api.cli.keystone import Login

        return _asked(lambda: Login(identity))

    def _address(self, login: "Login") -> str:
        began = time.monotonic()
        url = _asked(login.address)
        if self._settings.debug:
            click.echo(f"Shipyard is at {url}, says Keystone, {time.monotonic() - began:.3f} s", err=True)
        return url

    def get(self, path: str, query: Query = ()) -> answers.Answer:
        """Read. Raises ApiError if no answer came; every answer is returned, errors too."""
        return self._send("GET", path, query, {})

    def post(self, path: str, query: Query = (), *, json: object = None, yaml: bytes = b"") -> answers.Answer:
        """Write: ``json`` if given, else ``yaml``. Raises ApiError if no answer came."""
        if json is not None:
            return self._send("POST", path, query, {"json": json})
        return self._send("POST", path, query, {"body": yaml, "headers": _YAML})

    def post_once(self, path: str, query: Query = (), *, json: object = None, template: str = "") -> answers.Answer:
        """Write what must happen only once, also where the answer is lost: then the same is asked for once more.

        That is safe with servers that know ``Idempotency-Key`` for this path, which is called ``template`` in their
        description where it holds an id. Others are not asked again, since they might do it twice: ApiError says that
        it may have been done. An answer of a proxy instead of the server's is a lost answer.
        """
        key = {"Idempotency-Key": str(uuid.uuid4())}
        options: Options = {"body": b"", "headers": _YAML | key} if json is None else {"json": json, "headers": key}
        try:
            said = self._tried(path, query, options)
            if isinstance(said, ApiError) and not said.sent:
                raise said
            if _is_lost(said) and self._knows_keys(template or path):
                said = self._tried(path, query, options)
        except KeyboardInterrupt:
            click.echo(_PERHAPS, err=True)
            raise
        if isinstance(said, answers.Answer) and not _is_lost(said):
            return said
        told = said if isinstance(said, ApiError) else answers.answer(said, "cli", expected=0, cli=str)[0]
        raise ApiError(f"{told}\n{_PERHAPS}", passing=True, sent=True)

    def _tried(self, path: str, query: Query, options: Options) -> answers.Answer | ApiError:
        try:
            return self._send("POST", path, query, options)
        except ApiError as error:
            return error

    def _knows_keys(self, path: str) -> bool:
        """Say whether the server's description of itself has the header Idempotency-Key for writing to this path."""
        try:
            # Next to the API, not in it; and asked without the token, since everybody may read it.
            described = HttpClient(self._root, system="Shipyard", verify=trusted()).get("openapi.json").json()
            return "Idempotency-Key" in str(described["paths"][f"{API}/{path}"]["post"])
        except (PeerError, LookupError, TypeError):
            return False

    def read(self, path: str, query: Query = ()) -> Any:
        """Return the JSON object of a successful read. Raises ApiError with the API's own words otherwise."""
        found = content(self.get(path, query), expected=200)
        if not isinstance(found, dict):
            raise ApiError(f"{answers.MISSHAPEN} (not an object)")
        return found

    def pages(self, path: str, name: str) -> Iterator[Any]:
        """Yield all entries of a paged list, in the server's order. Raises as ``read``."""
        marker = ""
        while True:
            page = self.read(path, [("limit", str(PAGE))] + ([("marker", marker)] if marker else []))
            listed = page.get(name)
            if not (isinstance(listed, list) and all(isinstance(one, dict) for one in listed)):
                raise ApiError(f"{answers.MISSHAPEN} ({name} is not a list of objects)")
            yield from listed
            marker = str(page.get("next") or "")
            if not marker:
                return

    def _send(self, method: str, path: str, query: Query, options: Options) -> answers.Answer:
        options["params"] = [*query, ("verbosity", str(self._settings.verbosity))]
        began = time.monotonic()
        try:
            got = self._http.send(method, path, **options)
        except PeerError as error:
            if self._settings.debug:
                took = time.monotonic() - began
                click.echo(f"{method} /{path} no answer {took:.3f} s from {self._http.base_url}", err=True)
            hint = f"; {_TLS}" if self._root.startswith("http://") and hung_up(error) else ""
            raise ApiError(f"Error: Client Error: {error}{hint}", passing=True, sent=error.sent) from error
        if self._settings.debug:
            request = got.headers.get("x-shipyard-req", "-")
            took = time.monotonic() - began
            click.echo(f"{method} /{path} {got.status} {len(got.body)} bytes {took:.3f} s request {request}", err=True)
        # The contract shows undecodable bodies to people, so bytes that are no text must not stop us here.
        text = got.body.decode("utf-8", "replace")
        kind, location = got.headers.get("content-type", ""), got.headers.get("location", "")
        return answers.Answer(method, got.status, kind, text, f"/{path}", self._root, location)


def segment(text: str) -> str:
    """Return the text as one segment of a path. One that would lead elsewhere is a usage error."""
    if text in ("", ".", ".."):
        raise click.UsageError(f"'{text}' names nothing that a server could have.")
    return quoted(text)


def _is_lost(said: answers.Answer | ApiError) -> bool:
    """Say whether no answer came, or a proxy answered in the server's stead, so that nobody knows what was done."""
    if isinstance(said, ApiError):
        return True
    if said.status != 503:
        return said.status in (502, 504)
    try:
        body = answers.parsed(said.text)
    except ValueError:
        return True
    return not (isinstance(body, dict) and "message" in body)


def content(said: answers.Answer, *, expected: int) -> Any:
    """Return the JSON of an answer with the expected status. Raises ApiError otherwise."""
    if said.status == expected:
        try:
            return answers.parsed(said.text)
        except ValueError as error:
            raise ApiError(f"Error: Unable to decode response. Value: {said.text}") from error
    text, _ = answers.answer(said, "cli", expected=expected, cli=str)
    raise ApiError(str(text), passing=said.status in (429, 502, 503, 504))


@contextlib.contextmanager
def shaped() -> Iterator[None]:
    """Turn what fails on an answer of another shape than agreed into ApiError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ApiError(f"{answers.MISSHAPEN} ({error!r})") from error


def show(
    settings: Settings,
    request: Callable[[Api], answers.Answer],
    *,
    expected: int,
    cli: Callable[[str], str | Page],
    kind: str = answers.JSON,
    explained: Callable[[answers.Answer], Iterable[str]] = lambda said: (),
) -> None:
    """Make one request and print its answer as the output form asks; exit with 1 unless it succeeded.

    ``kind``: what a successful answer is, as in ``answers.answer``. ``explained``: what to add on stderr to an answer
    that is no success, one line each.
    On a terminal pages and errors are dressed for people, and nothing that the server says can command the terminal.
    """
    notes: list[str] = []
    try:
        api = Api(settings)
        with shaped():
            said = request(api)
        shown, good = answers.answer(said, settings.form, expected=expected, cli=cli, kind=kind)
        if not good:
            # The other forms may be the body alone, which need not say that it is an error.
            origin = answers.origin(said)
            notes += [origin] if origin not in str(shown) else []
            notes += explained(said)
    except ApiError as error:
        shown, good = str(error), False
    write(settings, shown if good or isinstance(shown, Page) else Page([shown]))
    for note in notes:
        click.echo(answers.harmless(note), err=True)
    if not good:
        raise SystemExit(1)


def fail(settings: Settings, error: ApiError) -> NoReturn:
    """Print what failed, as ``show`` does, and exit with 1."""
    write(settings, Page([str(error)]))
    raise SystemExit(1) from error


def write(settings: Settings, shown: str | Page) -> None:
    """Print text as it is, and a page as the contract has it, or dressed for people on a terminal."""
    if settings.form == "raw" or not sys.stdout.isatty():
        # With color=True nothing is taken out: what is not for a terminal is printed as it was received.
        click.echo(str(shown), color=True)
    elif isinstance(shown, Page) and settings.form == "cli" and _colours_wanted():
        from shipyard_api.cli.output import tables

        tables.write(shown)
    else:
        click.echo(answers.harmless(str(shown)), color=True)


def _asked(question: Callable[[], _Said]) -> _Said:
    """Return what Keystone says. Raises ApiError in the contract's words."""
    from shipyard_api.cli.keystone import KeystoneError

    try:
        return question()
    except KeystoneError as error:
        raise ApiError(f"Error: Client Error: {error}") from error


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
