"""The dashboard: static files, read once, for browsers. Everything else of it goes through the public API."""

import zlib
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable

from msgspec import Struct

from shipyard_api.api.http.compression import accepts_gzip
from shipyard_api.api.http.limits import Application, Receive, Scope, Send

PREFIX = "/dashboard"
"""Below it are the files of the page; the page itself is the root."""

_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_PLAIN = b"text/plain; charset=utf-8"
# Nothing from elsewhere and nothing inline: a text of a design that reached the page as markup would not run.
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # A browser asks again and gets 304 until a release changes the file.
    (b"cache-control", b"no-cache"),
    (b"vary", b"Accept, Accept-Encoding"),
)


class _File(Struct, frozen=True):
    content: bytes
    packed: bytes
    type: bytes
    tag: bytes


class Dashboard:
    """ASGI application. ``otherwise`` answers the root to clients that do not ask for a page.

    ``page``: the file that browsers get there.
    """

    def __init__(self, otherwise: Application, page: str = "/index.html") -> None:
        self._otherwise = otherwise
        self._page = page
        self._files = _files()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the page, or with one of its files."""
        # ASGI promises iterables of headers, names and values, which may be read only once.
        scope = {**scope, "headers": [(name, value) for name, value in scope["headers"]]}
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        is_read = scope["method"] in ("GET", "HEAD")
        if scope["path"] == "/":
            if not (is_read and _wants_page(headers.get(b"accept", ""))):
                await self._otherwise(scope, receive, send)
                return
            file = self._files.get(self._page)
        else:
            file = self._files.get(scope["path"].removeprefix(PREFIX))
        if not is_read:
            await _answer(send, 405, (*_ALWAYS, (b"allow", b"GET, HEAD")))
        elif file is None:
            await _answer(send, 404, _ALWAYS)
        else:
            await _send_file(send, file, headers, is_head=scope["method"] == "HEAD")


async def _send_file(send: Send, file: _File, headers: Mapping[bytes, str], *, is_head: bool) -> None:
    tagged: tuple[tuple[bytes, bytes], ...] = (*_ALWAYS, (b"etag", file.tag))
    if file.tag.decode() in headers.get(b"if-none-match", ""):
        await _answer(send, 304, tagged)
        return
    body = file.content
    if accepts_gzip(headers.get(b"accept-encoding")):
        body = file.packed
        tagged = (*tagged, (b"content-encoding", b"gzip"))
    length = (b"content-length", str(len(body)).encode())
    await _answer(send, 200, (*tagged, (b"content-type", file.type), length), b"" if is_head else body)


async def _answer(send: Send, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes = b"") -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})


def _wants_page(accept: str) -> bool:
    """Return whether the header names HTML: browsers do, and no client of the API."""
    return "text/html" in accept.lower()


@cache
def _files() -> Mapping[str, _File]:
    """Return the files of the page by their paths, read and packed once for all sites of a process."""
    return dict(_read(resources.files(__package__).joinpath("static"), ""))


def _read(directory: Traversable, below: str) -> list[tuple[str, _File]]:
    files = []
    for entry in directory.iterdir():
        path = f"{below}/{entry.name}"
        if entry.is_dir():
            files += _read(entry, path)
            continue
        content = entry.read_bytes()
        tag = f'W/"{blake2b(content, digest_size=15).hexdigest()}"'.encode()
        kind = _TYPES.get(entry.name.rpartition(".")[2], _PLAIN)
        files.append((path, _File(content, zlib.compress(content, 9, wbits=16 + zlib.MAX_WBITS), kind, tag)))
    return files
