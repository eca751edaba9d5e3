"""Entity tags and conditional GET: a caller who holds the current answer gets 304 instead (RFC 9110, 8.8.3 and 13).

Tags are weak, because an answer has the same tag whether it is compressed or not.
"""

from hashlib import blake2b
from importlib.metadata import version as version_of_package

import falcon
import falcon.asgi

from shipyard_api.api.http.threads import in_thread

# Another release may show the same version of something in another form.
_RELEASE = version_of_package("shipyard")
# Bytes from which hashing leaves the event loop.
_LARGE = 256 * 1024


def holds(req: falcon.Request, resp: falcon.Response, *version: object) -> bool:
    """Name the version of the answer, before it is rendered, and return whether the caller holds it.

    If so, the response is a 304 and the resource has nothing to render. ``version``: parts whose texts change whenever
    the body or the headers of the answer to this address and query do.
    """
    tag = tag_of(*version)
    resp.set_header("ETag", tag)
    return _compare(req, resp, tag)


def tag_of(*version: object) -> str:
    """Return the tag of a version, as ``holds`` sets it."""
    return _tag(repr((_RELEASE, *version)).encode())


def is_for(req: falcon.Request, tag: str) -> bool:
    """Return whether ``If-Match`` lets a request change what has this tag; without the header it may.

    RFC 9110, 13.1.1, compares strongly, so weak tags would never match. Ours change with every change of the resource,
    which is all that a writer needs.
    """
    written = req.get_header("If-Match")
    return written is None or _names(written, tag)


class EntityTags:
    """Middleware: names what no resource has named by the hash of its body."""

    async def process_response(
        self, req: falcon.Request, resp: falcon.asgi.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Compare the answer with what the caller holds."""
        if req.method != "GET":
            return
        if resp.status != falcon.HTTP_200:
            # The resource failed after it named its version.
            if resp.status != falcon.HTTP_304:
                resp.delete_header("ETag")
            return
        if resp.get_header("ETag") is not None:
            return
        body = await resp.render_body()
        if body is None:
            return
        tag = _tag(body) if len(body) < _LARGE else await in_thread(_tag, body)
        resp.set_header("ETag", tag)
        _compare(req, resp, tag)


def _compare(req: falcon.Request, resp: falcon.Response, tag: str) -> bool:
    held = req.get_header("If-None-Match")
    if held is None:
        return False
    if not _names(held, tag):
        return False
    resp.status = falcon.HTTP_304
    return True


def _names(written: str, tag: str) -> bool:
    """Return whether a header names the tag. Weak comparison ignores the prefix. No tag of ours has a comma."""
    bare = tag.removeprefix("W/")
    return written.strip() == "*" or bare in [tag.strip().removeprefix("W/") for tag in written.split(",")]


def _tag(value: bytes) -> str:
    return f'W/"{blake2b(value, digest_size=15).hexdigest()}"'
