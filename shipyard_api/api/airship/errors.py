"""The only place that knows status codes of errors: which class of error is which answer."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import falcon

from shipyard_api.api.airship.statuses import error_status, messages
from shipyard_api.api.http.errors import InvalidFormat
from shipyard_api.domain import errors
from shipyard_api.domain.findings import Finding
from shipyard_api.ports.documents import SecretsLocked
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreUnavailable

LOG = logging.getLogger(__name__)


class BrokenDesign(errors.ShipyardError):
    """The documents of a version do not make a design; `messageList` says why."""

    def __init__(self, title: str, reason: str, findings: Sequence[Finding]) -> None:
        super().__init__(title, reason)
        self.findings = tuple(findings)


class DetailsOutOfReach(errors.ShipyardError):
    """A note leads to more, and whoever keeps that does not give it."""

    def __init__(self, note: str) -> None:
        super().__init__(
            "Unable to retrieve URL information for note",
            f"Note {note} has additional information, but it cannot be accessed by Shipyard at this time",
        )


# Class of error -> code, errorType and whether asking again may help. The first class that fits counts; a test walks
# all subclasses of our errors, so that a new one cannot be forgotten.
TABLE: tuple[tuple[type[Exception], str, str, bool], ...] = (
    (InvalidFormat, falcon.HTTP_400, "InvalidFormatError", False),
    (errors.Invalid, falcon.HTTP_400, "ApiError", False),
    (errors.Precondition, falcon.HTTP_400, "ApiError", False),
    (errors.Unauthenticated, falcon.HTTP_401, "ApiError", False),
    (errors.Forbidden, falcon.HTTP_403, "ApiError", False),
    (errors.NotFound, falcon.HTTP_404, "ApiError", False),
    (errors.KeyReused, falcon.HTTP_422, "ApiError", False),
    (errors.Conflict, falcon.HTTP_409, "ApiError", False),
    (errors.TooLarge, falcon.HTTP_413, "ApiError", False),
    (PolicyBroken, falcon.HTTP_417, "ApiError", False),
    (errors.TooManyRequests, falcon.HTTP_429, "ApiError", True),
    (BrokenDesign, falcon.HTTP_500, "ApiError", False),
    (DetailsOutOfReach, falcon.HTTP_500, "ApiError", False),
    (Refused, falcon.HTTP_502, "PeerError", False),
    (Busy, falcon.HTTP_503, "PeerError", True),
    (Unavailable, falcon.HTTP_503, "PeerError", True),
    (StoreUnavailable, falcon.HTTP_503, "DatabaseError", True),
    (SecretsLocked, falcon.HTTP_503, "SecretsLocked", False),
)


# The one peer whose trouble has words of its own wherever it shows, in the contract as in its adapter.
_DESIGN_STORE = "Deckhand"


def install(app: "falcon.App[Any, Any]") -> None:
    """Let every error of ours, of the framework, and every bug end in a Status object."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework)
    app.add_error_handler(StoreUnavailable, _store)
    app.add_error_handler(PeerError, _peer)
    app.add_error_handler(SecretsLocked, _locked)
    app.add_error_handler(PolicyBroken, _policy)
    app.add_error_handler(errors.ShipyardError, _ours)
    app.add_error_handler(DetailsOutOfReach, _out_of_reach)


def lookup(kind: type[Exception]) -> tuple[str, str, bool]:
    """Return code, errorType and retry hint of a class of error; raises KeyError if it has no line in the table."""
    for known, code, error_type, retry in TABLE:
        if issubclass(kind, known):
            return code, error_type, retry
    raise KeyError(kind.__name__)


def _ours(req: falcon.Request, resp: falcon.Response, error: errors.ShipyardError, _params: Any) -> None:
    code, error_type, retry = lookup(type(error))
    if error_type == "ApiError" and not isinstance(error, errors.Forbidden | errors.Blocked):
        error_type = getattr(req.context, "error_type", error_type)
    findings: Sequence[Finding] = getattr(error, "findings", ())
    again = error.again if isinstance(error, errors.Conflict) else retry
    told = messages(findings)
    if isinstance(error, errors.TooManyRequests):
        resp.set_header("Retry-After", str(error.seconds))
    _answer(req, resp, code, error.title, error.reason, error_type, retry=again, told=told)
    if code == falcon.HTTP_401:
        resp.set_header("WWW-Authenticate", req.context.challenge)


def _out_of_reach(req: falcon.Request, resp: falcon.Response, error: DetailsOutOfReach, params: Any) -> None:
    LOG.error("what a note leads to is out of reach", extra={"trouble": str(error.__cause__)})
    _ours(req, resp, error, params)


def _peer(req: falcon.Request, resp: falcon.Response, error: PeerError, _params: Any) -> None:
    code, error_type, retry = lookup(type(error))
    LOG.error("peer in trouble", extra={"trouble": str(error)})
    if isinstance(error, Busy) and error.retry_after:
        resp.set_header("Retry-After", str(math.ceil(error.retry_after)))
    title, reason = f"{error.system} does not answer as it should", f"{error.operation}: {error.detail}"
    if error.system == _DESIGN_STORE:
        title, reason, error_type = _told_of_designs(error, title), _responded(error, reason), "AppError"
        if error.code is not None or isinstance(error, Refused):
            code, retry = falcon.HTTP_500, False
    elif hasattr(req.context, "peer_trouble"):
        # What the contract has clients told when this peer fails, here (contract: shipyard-rest, 10).
        title, error_type = req.context.peer_trouble, "AppError"
        reason = f"{error.system} has responded unexpectedly: {reason}"
    _answer(req, resp, code, title, reason, error_type, retry=retry)


def _told_of_designs(error: PeerError, otherwise: str) -> str:
    """Return what the contract has clients told when the store of designs is in trouble (shipyard-rest, 3 and 5.4)."""
    if not error.operation.startswith("GET "):
        return otherwise
    is_rendering = error.operation.endswith("/rendered-documents")
    return "Deckhand indicated an error while rendering" if is_rendering else "Unable to retrieve revisions"


def _responded(error: PeerError, otherwise: str) -> str:
    """Return the code and the text of the peer's answer as the contract writes them, or what else there is to say."""
    text = error.detail.removeprefix(f"answered {error.code}").removeprefix(":").strip()
    return f"{error.system} has responded unexpectedly: " + (f"{error.code}:{text}" if error.code else otherwise)


def _store(req: falcon.Request, resp: falcon.Response, error: StoreUnavailable, _params: Any) -> None:
    code, error_type, retry = lookup(StoreUnavailable)
    LOG.error("database out of reach", extra={"trouble": str(error)})
    reason = "The database cannot be reached at this moment. Ask again."
    _answer(req, resp, code, "No database connection", reason, error_type, retry=retry)


def _locked(req: falcon.Request, resp: falcon.Response, error: SecretsLocked, _params: Any) -> None:
    code, error_type, retry = lookup(SecretsLocked)
    LOG.error("secrets cannot be opened", extra={"trouble": str(error)})
    reason = f"{error}. Check the keys in [secrets]: the one that these were encrypted with must be among them."
    _answer(req, resp, code, "Secrets cannot be opened", reason, error_type, retry=retry)


def _policy(req: falcon.Request, resp: falcon.Response, error: PolicyBroken, _params: Any) -> None:
    """Say no more than the contract does (shipyard-rest, chapter 3): the rules are nobody else's business."""
    code, error_type, retry = lookup(PolicyBroken)
    LOG.error("policy cannot be evaluated", extra={"trouble": str(error)})
    told = [{"message": "Expectation Failed", "error": True}]
    _answer(req, resp, code, "Expectation Failed", None, error_type, retry=retry, told=told)


def _framework(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    """The framework's description is the message and its title the reason: existing clients expect it so."""
    resp.set_headers(error.headers or {})
    title = falcon.code_to_http_status(error.status) if not error.title else error.title
    kind = type(error).__name__
    code = falcon.code_to_http_status(error.status)
    told = [{"message": error.description or title, "error": True}]
    _answer(req, resp, code, error.description, title, kind, retry=False, told=told)


def _bug(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    """Say that it is our fault and nothing else: the text of an unforeseen error may hold anything."""
    LOG.exception("unhandled error", exc_info=error)
    name = type(error).__name__
    told = [{"message": "An error occurred, but was not specified", "error": True}]
    title = f"Unhandled Exception raised: {name}"
    _answer(req, resp, falcon.HTTP_500, title, "", name, retry=True, told=told)


def _answer(
    req: falcon.Request,
    resp: falcon.Response,
    code: str,
    title: str | None,
    reason: str | None,
    error_type: str,
    *,
    retry: bool,
    told: list[dict[str, Any]] | None = None,
) -> None:
    resp.status = code
    resp.content_type = falcon.MEDIA_JSON
    resp.media = error_status(
        path=req.path,
        title=title,
        reason=reason,
        error_type=error_type,
        code=code,
        retry=retry,
        told=told or (),
    )
