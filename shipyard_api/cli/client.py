"""The REST API as commands see it: one request, or all pages of a list; failures in the contract's words."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from shipyard_api.cli import render
from shipyard_api.cli.settings import Settings
from shipyard_api.http import HttpClient, Options, segment
from shipyard_api.ports.errors import PeerError

API = "/api/v1.0"
PATIENCE = 600.0  # seconds: a commit asks every peer to validate the design
PAGE = 1000

Query = Sequence[tuple[str, str]]

__all__ = ["Api", "ApiError", "segment", "show"]


class ApiError(Exception):
    """The request failed; the text is what the contract prints. ``passing``: it may well work a little later."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


class Api:
    """One Shipyard server. Its address may be given with or without ``/api/v1.0`` at the end."""

    def __init__(self, settings: Settings) -> None:
        if not settings.url:
            raise ApiError("Error: Missing the address of the server: set SHIPYARD_URL or give --url")
        headers = {"X-Context-Marker": settings.context_marker, "X-Auth-Token": settings.token}
        self._settings = settings
        try:
            self._http = HttpClient(
                settings.url.rstrip("/").removesuffix(API) + API,
                system="Shipyard",
                headers={name: value for name, value in headers.items() if value},
                read_timeout=PATIENCE,
                total_timeout=PATIENCE,
                verify=os.environ.get("REQUESTS_CA_BUNDLE") or True,
            )
        except ValueError as error:
            raise ApiError(f"Error: Client Error: {error}") from error

    def get(self, path: str, query: Query = ()) -> render.Answer:
        """Read. Raises ApiError if no answer came; every answer is returned, errors too."""
        return self._send("GET", path, query, {})

    def post(self, path: str, query: Query = (), *, json: object = None, yaml: bytes = b"") -> render.Answer:
        """Write: ``json`` if given, else ``yaml``. Raises ApiError if no answer came."""
        if json is not None:
            return self._send("POST", path, query, {"json": json})
        return self._send("POST", path, query, {"body": yaml, "headers": {"Content-Type": "application/x-yaml"}})

    def read(self, path: str, query: Query = ()) -> Any:
        """Return the JSON of a successful read. Raises ApiError with the API's own words otherwise."""
        return content(self.get(path, query), expected=200)

    def pages(self, path: str, name: str) -> Iterator[Any]:
        """Yield all entries of a paged list, in the server's order. Raises as ``read``."""
        marker = ""
        while True:
            page = self.read(path, [("limit", str(PAGE))] + ([("marker", marker)] if marker else []))
            yield from page[name]
            marker = str(page.get("next") or "")
            if not marker:
                return

    def _send(self, method: str, path: str, query: Query, options: Options) -> render.Answer:
        options["params"] = [*query, ("verbosity", str(self._settings.verbosity))]
        began = time.monotonic()
        try:
            got = self._http.send(method, path, **options)
        except PeerError as error:
            raise ApiError(f"Error: Client Error: {error}", passing=True) from error
        if self._settings.debug:
            request = got.headers.get("x-shipyard-req", "-")
            took = time.monotonic() - began
            click.echo(f"{method} /{path} {got.status} {len(got.body)} bytes {took:.3f} s request {request}", err=True)
        # The contract shows undecodable bodies to people, so bytes that are no text must not stop us here.
        text = got.body.decode("utf-8", "replace")
        return render.Answer(method, got.status, got.headers.get("content-type", ""), text)


def content(said: render.Answer, *, expected: int) -> Any:
    """Return the JSON of an answer with the expected status. Raises ApiError otherwise."""
    if said.status == expected:
        try:
            return render.parsed(said.text)
        except ValueError as error:
            raise ApiError(f"Error: Unable to decode response. Value: {said.text}") from error
    text, _ = render.answer(said, "cli", expected=expected, cli=str)
    raise ApiError(text, passing=said.status in (429, 502, 503, 504))


def show(
    settings: Settings,
    request: Callable[[Api], render.Answer],
    *,
    expected: int,
    cli: Callable[[str], str],
    paint: Callable[[str], str] = str,
) -> None:
    """Make one request and print its answer as the output form asks; exit with 1 unless it succeeded.

    On a terminal, ``paint`` may add colours to a success, and nothing that the server says can command the terminal.
    """
    try:
        text, good = render.answer(request(Api(settings)), settings.form, expected=expected, cli=cli)
    except ApiError as error:
        text, good = str(error), False
    if settings.form != "raw" and sys.stdout.isatty():
        text = render.harmless(text)
        if good and settings.form == "cli" and _colours_wanted():
            text = paint(text)
    # With color=True nothing is taken out: what is not for a terminal is printed as it was received.
    click.echo(text, color=True)
    if not good:
        raise SystemExit(1)


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
