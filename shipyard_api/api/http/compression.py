"""Answers compressed with gzip for callers who accept it (RFC 9110, 8.4.1 and 12.5.3)."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator

import falcon
import falcon.asgi
from falcon import parse_header

from shipyard_api.api.http.threads import in_thread

# Bytes. A smaller answer fits into one packet; a larger one than the second is compressed outside the event loop.
_LEAST, _LARGE = 1024, 64 * 1024
_LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS
_BODILESS = (falcon.HTTP_204, falcon.HTTP_304)


class Compression:
    """Middleware; its place is behind whatever changes bodies."""

    async def process_response(
        self, req: falcon.Request, resp: falcon.asgi.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Compress the body, piece by piece if it is a stream."""
        if resp.status in _BODILESS:
            return
        stream = resp.stream
        body = None if stream else await resp.render_body()
        if not stream and (body is None or len(body) < _LEAST):
            return
        resp.append_header("Vary", "Accept-Encoding")
        if not accepts_gzip(req.get_header("Accept-Encoding")):
            return
        resp.set_header("Content-Encoding", "gzip")
        if stream:
            resp.stream = _compressed(stream)
            resp.content_length = None
        elif body is not None:
            resp.text = resp.media = None
            resp.data = _packed(body) if len(body) < _LARGE else await in_thread(_packed, body)


def accepts_gzip(written: str | None) -> bool:
    """Return whether the header Accept-Encoding allows gzip; a weight of 0 forbids it."""
    if not written:
        return False
    weights = {}
    for preference in written.lower().split(","):
        coding, parameters = parse_header(preference.strip())
        weights[coding] = parameters.get("q", "1")
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", "0")))
    return weight.strip("0.") != ""


def _packed(body: bytes) -> bytes:
    return zlib.compress(body, _LEVEL, wbits=_GZIP)


async def _compressed(stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    async for piece in stream:
        if packed := await in_thread(packer.compress, piece):
            yield packed
    yield packer.flush()
