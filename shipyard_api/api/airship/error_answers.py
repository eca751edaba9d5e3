"""Every failure as a Status object: our own errors, failures of peers and of the database, bugs."""

import logging
import math
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import falcon

from shipyard_api.api.airship.errors import (
    DetailsUnavailable,
    StatusesUnavailable,
    error_type_of,
    text_of,
    unknown_address,
    wrong_method,
)
from shipyard_api.api.airship.statuses import details, error_status, plain
from shipyard_api.api.http.dialect import App
from shipyard_api.api.http.errors import RETRY_SECONDS, set_headers, status_of
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.ports.documents import SecretsLocked
from shipyard_api.ports.errors import Busy, PeerError, Purpose, Refused, Unavailable
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable, UnsuitableDatabase
from shipyard_api.usecases.nodes.list import StatusKind

LOG = logging.getLogger(__name__)

# Class of failure -> code, errorType and whether the same request may succeed later. ShipyardErrors have their kinds.
SYSTEMS: dict[type[Exception], tuple[str, str, bool]] = {
    Refused: (falcon.HTTP_502, "PeerError", False),
    Busy: (falcon.HTTP_503, "PeerError", True),
    Unavailable: (falcon.HTTP_503, "PeerError", True),
    PolicyBroken: (falcon.HTTP_417, "ApiError", False),
    StoreUnavailable: (falcon.HTTP_503, "DatabaseError", True),
    UnsuitableDatabase: (falcon.HTTP_503, "DatabaseError", False),
    SecretsLocked: (falcon.HTTP_503, "SecretsLocked", False),
}

# The one peer whose failures have titles of their own in the contract, wherever they show (shipyard-rest, 3 and 5.4).
_DESIGN_STORE = "Deckhand"
_DESIGN_TITLES = {
    Purpose.READ_DESIGN: "Unable to retrieve revisions",
    Purpose.RENDER_DESIGN: "Deckhand indicated an error while rendering",
}
# Contract: shipyard-rest, 10.
_STATUS_TITLES = {
    StatusKind.PROVISIONING: "Unable to retrieve nodes status",
    StatusKind.POWER: "Unable to retrieve nodes power-state",
}


def install(app: App, addresses: Collection[str]) -> None:
    """Let every error of ours, of the framework, and every bug end in a Status object; ``addresses``: all there are."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework(addresses))
    app.add_error_handler(StoreUnavailable, _store)
    app.add_error_handler(UnsuitableDatabase, _unsuitable)
    app.add_error_handler(PeerError, _peer)
    app.add_error_handler(StatusesUnavailable, _statuses)
    app.add_error_handler(SecretsLocked, _locked)
    app.add_error_handler(PolicyBroken, _policy)
    app.add_error_handler(ShipyardError, _ours)


def line_of(kind: type[Exception]) -> tuple[str, str, bool]:
    """Return the line of a class, or of the nearest of its bases that has one."""
    return next(SYSTEMS[base] for base in kind.__mro__ if base in SYSTEMS)


async def _ours(req: falcon.Request, resp: falcon.Response, error: ShipyardError, _params: Any) -> None:
    kind, text = error.kind, text_of(error)
    if kind is DetailsUnavailable:
        LOG.error("details of a note unavailable", extra={"trouble": str(error.__cause__)})
    set_headers(req, resp, error)
    code, listed = status_of(kind.family), details(text.findings, text.cause)
    _answer(req, resp, code, text.title, text.reason, error_type_of(kind), retry=kind.retry, listed=listed)


async def _peer(req: falcon.Request, resp: falcon.Response, error: PeerError, _params: Any) -> None:
    code, error_type, retry = _logged(resp, error)
    title, reason = f"{error.system} does not answer as it should", f"{error.operation}: {error.detail}"
    if error.system == _DESIGN_STORE:
        title, error_type = _DESIGN_TITLES.get(error.purpose, title), "AppError"
        said = f"{error.code}:{error.said or error.detail}" if error.code else reason
        reason = f"{error.system} has responded unexpectedly: {said}"
        if error.code is not None or isinstance(error, Refused):
            code, retry = falcon.HTTP_500, False
    _answer(req, resp, code, title, reason, error_type, retry=retry)


async def _statuses(req: falcon.Request, resp: falcon.Response, error: StatusesUnavailable, _params: Any) -> None:
    peer = error.cause
    code, _, retry = _logged(resp, peer)
    reason = f"{peer.system} has responded unexpectedly: {peer.operation}: {peer.detail}"
    _answer(req, resp, code, _STATUS_TITLES[error.kind], reason, "AppError", retry=retry)


def _logged(resp: falcon.Response, error: PeerError) -> tuple[str, str, bool]:
    """Log a failure of a peer, name the pause it asked for, and return the line of the table."""
    LOG.error("peer in trouble", extra={"trouble": str(error)})
    if isinstance(error, Busy) and error.retry_after:
        resp.set_header("Retry-After", str(math.ceil(error.retry_after)))
    return line_of(type(error))


async def _store(req: falcon.Request, resp: falcon.Response, error: StoreUnavailable, _params: Any) -> None:
    code, error_type, retry = SYSTEMS[StoreUnavailable]
    if isinstance(error, StoreFull):
        LOG.error("database full", extra={"trouble": str(error)})
        title, reason = "Database full", "The disk of the database server is full. Free space there, then ask again."
    else:
        LOG.error("database out of reach", extra={"trouble": str(error)})
        title, reason = "No database connection", "The database cannot be reached at this moment. Ask again."
    _answer(req, resp, code, title, reason, error_type, retry=retry)


async def _unsuitable(req: falcon.Request, resp: falcon.Response, error: UnsuitableDatabase, _params: Any) -> None:
    code, error_type, retry = SYSTEMS[UnsuitableDatabase]
    LOG.error("database unsuitable", extra={"trouble": str(error)})
    _answer(req, resp, code, "Unsuitable database", f"{error}.", error_type, retry=retry)


async def _locked(req: falcon.Request, resp: falcon.Response, error: SecretsLocked, _params: Any) -> None:
    code, error_type, retry = SYSTEMS[SecretsLocked]
    LOG.error("secrets cannot be opened", extra={"trouble": str(error)})
    reason = f"{error}. Check the keys in [secrets]: the one that these were encrypted with must be among them."
    _answer(req, resp, code, "Secrets cannot be opened", reason, error_type, retry=retry)


async def _policy(req: falcon.Request, resp: falcon.Response, error: PolicyBroken, _params: Any) -> None:
    """Say no more than the contract does (shipyard-rest, chapter 3): callers do not learn the rules."""
    code, error_type, retry = SYSTEMS[PolicyBroken]
    LOG.error("policy cannot be evaluated", extra={"trouble": str(error)})
    listed = [plain("Expectation Failed")]
    _answer(req, resp, code, "Expectation Failed", None, error_type, retry=retry, listed=listed)


def _framework(addresses: Collection[str]) -> Callable[..., Awaitable[None]]:
    """The framework's description is the message and its title the reason: existing clients expect it so."""

    async def answer(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
        resp.set_headers(error.headers or {})
        code = falcon.code_to_http_status(error.status)
        title = error.title or code
        cause = error.description or title
        if isinstance(error, falcon.HTTPRouteNotFound):
            cause = unknown_address(req.path, addresses)
        elif isinstance(error, falcon.HTTPMethodNotAllowed):
            cause = wrong_method(req.method, req.path, resp.get_header("Allow") or "none")
        kind = type(error).__name__
        _answer(req, resp, code, error.description, title, kind, retry=False, listed=[plain(cause)])

    return answer


async def _bug(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    """Name the class and nothing else: the text of an unforeseen error may hold anything."""
    LOG.exception("unhandled error", exc_info=error)
    name = type(error).__name__
    listed = [plain("An error occurred, but was not specified")]
    title = f"Unhandled Exception raised: {name}"
    _answer(req, resp, falcon.HTTP_500, title, "", name, retry=True, listed=listed)


def _answer(
    req: falcon.Request,
    resp: falcon.Response,
    code: str,
    title: str | None,
    reason: str | None,
    error_type: str,
    *,
    retry: bool,
    listed: list[dict[str, Any]] | None = None,
) -> None:
    resp.status = code
    if retry and code == falcon.HTTP_503 and resp.get_header("Retry-After") is None:
        resp.set_header("Retry-After", RETRY_SECONDS)
    resp.content_type = falcon.MEDIA_JSON
    resp.media = error_status(
        path=req.path,
        title=title,
        reason=reason,
        error_type=error_type,
        code=code,
        retry=retry,
        messages=listed or (),
    )
