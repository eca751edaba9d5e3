"""Microversions: which version of the API a request asks for, and which there are (contract, 3)."""

import re

import falcon
from msgspec import Struct

from shipyard_api.api.ironic.reading import NotServed

HEADER = "X-OpenStack-Ironic-API-Version"
OLDEST, NEWEST = 1, 55
"""N of the first and of the last version 1.N. Only templates are served, which came with the last one."""

TEMPLATES = ("/v1/deploy_templates", "/v1/deploy-templates")
"""Where templates are served: as Ironic does, and as seed 003 has it."""

_COMMON_HEADER = "OpenStack-API-Version"
_SERVICE = "baremetal"
_WRITTEN = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_RANGE = {f"{HEADER[:-7]}Minimum-Version": f"1.{OLDEST}", f"{HEADER[:-7]}Maximum-Version": f"1.{NEWEST}"}


class Asked(Struct, frozen=True):
    """The version of a request: N of 1.N."""

    minor: int

    @property
    def has_templates(self) -> bool:
        """Whether templates exist in this version."""
        return self.minor >= NEWEST


class Microversions:
    """Middleware: finds the version of a request, and names it in the answer."""

    async def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Find the version; one that is not served is refused once the caller is known."""
        # Below version 1.91 of Ironic the ending means nothing.
        req.path = req.path.removesuffix(".json")
        try:
            asked = _asked(req, resp)
        except NotServed as refused:
            req.context.not_served = refused
            return
        if asked.has_templates or not _is_below(req.path, TEMPLATES):
            req.context.api_version = asked
            return
        code = falcon.HTTP_404 if req.method == "GET" else falcon.HTTP_405
        req.context.not_served = NotServed("The API version does not allow deploy templates", code)

    async def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        """Add the version that was used and the range, and the id by which OpenStack's clients name a request."""
        if asked := getattr(req.context, "api_version", None):
            resp.set_headers({HEADER: f"1.{asked.minor}", **_RANGE})
        resp.append_header("Vary", HEADER)
        if request := getattr(req.context, "request_id", None):
            resp.set_header("X-Openstack-Request-Id", f"req-{request}")


class VersionCheck:
    """Middleware, after the one that identifies callers: a stranger gets 401, whatever the version."""

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, _params: object
    ) -> None:
        """Refuse other versions than ours, and templates below theirs."""
        if refused := getattr(req.context, "not_served", None):
            raise refused


def _asked(req: falcon.Request, resp: falcon.Response) -> Asked:
    written = (_common(req.get_header(_COMMON_HEADER)) or req.get_header(HEADER) or "").strip()
    if not written:
        return Asked(OLDEST)
    if written.lower() == "latest":
        return Asked(NEWEST)
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise NotServed(f"Invalid value for {HEADER} header", falcon.HTTP_406)
    major, minor = int(match[1]), int(match[2])
    if major != 1 or not OLDEST <= minor <= NEWEST:
        resp.set_headers(_RANGE)
        text = f"Version {major}.{minor} is not supported. Supported are 1.{OLDEST} to 1.{NEWEST}."
        raise NotServed(text, falcon.HTTP_406)
    return Asked(minor)


def _common(written: str | None) -> str | None:
    """Return the version of our service in the header that names versions of several."""
    for requested in (written or "").split(","):
        service, _, version = requested.strip().partition(" ")
        if service.lower() == _SERVICE:
            return version.strip()
    return None


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)
