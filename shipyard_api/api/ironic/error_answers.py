"""Every failure in the forms of Ironic's errors (contract, 5): an object with one text that is JSON again."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import falcon

from shipyard_api.api.http import errors as http
from shipyard_api.api.http.dialect import App
from shipyard_api.api.http.problems import Problem
from shipyard_api.api.ironic.reading import NotServed, TooDeep
from shipyard_api.api.ironic.templates import RULES
from shipyard_api.domain.deploy_steps.errors import InvalidTemplate
from shipyard_api.domain.deploy_steps.templates import DUPLICATE_STEP
from shipyard_api.domain.error_kinds import (
    FORBIDDEN,
    ErrorKind,
    Forbidden,
    Sentence,
    ShipyardError,
    Unauthenticated,
)
from shipyard_api.ports.errors import PeerError

LOG = logging.getLogger(__name__)


WORDS: Mapping[ErrorKind[..., ShipyardError], Sentence] = {
    **http.WITHOUT_TITLES,
    FORBIDDEN: lambda detail: "Access was denied to the following resource: ",
    http.NotJson: lambda path, detail: f"The body is not JSON: {detail}.",
}
"""The sentences of this dialect in place of those of the tables."""

# A peer is asked for nothing else here.
_UNKNOWN_CALLER = "A system that is needed to know the caller does not answer. Ask again."
_BARE = (http.TooLarge, TooDeep)


def install(app: App) -> None:
    """Let every error of ours, of the framework, and every bug end in one of the forms."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework)
    app.add_error_handler(http.Fault, _fault)
    app.add_error_handler(ShipyardError, _ours)
    app.add_error_handler(Unauthenticated, _unauthenticated)
    for kind in http.SYSTEMS:
        app.add_error_handler(kind, _system)


def problem(answer: Mapping[str, Any]) -> Problem:
    """Return the problem in an error of this dialect; few of them have a title."""
    if "error" in answer:
        return Problem(answer["error"]["title"], answer["error"]["message"])
    inner = json.loads(answer["error_message"]) if "error_message" in answer else answer
    return Problem(inner.get("title"), inner.get("faultstring") or inner["description"])


async def _ours(req: falcon.Request, resp: falcon.Response, error: ShipyardError, _params: Any) -> None:
    text = error.text(WORDS).reason
    if error.kind is InvalidTemplate:
        is_duplicate = all(finding.name == DUPLICATE_STEP for finding in error.findings)
        checked = "patch" if req.method == "PATCH" else "template"
        text = f"{'Deploy template invalid' if is_duplicate else f'Schema error for {checked}'}: {text}"
    if isinstance(error, Forbidden):
        text += RULES.get(req.method, "")
    http.set_headers(req, resp, error)
    _handled(resp, http.status_of(error.kind.family), text, bare=isinstance(error, _BARE))


async def _fault(_req: falcon.Request, resp: falcon.Response, error: http.Fault, _params: Any) -> None:
    if isinstance(error, NotServed):
        _routed(resp, error.code, str(error))
    else:
        _handled(resp, error.code, str(error), bare=isinstance(error, _BARE))


async def _unauthenticated(req: falcon.Request, resp: falcon.Response, error: Unauthenticated, _params: Any) -> None:
    http.set_headers(req, resp, error)
    text = "The request you have made requires authentication."
    _answer(resp, falcon.HTTP_401, {"error": {"code": 401, "title": "Unauthorized", "message": text}})


async def _framework(_req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    resp.set_headers(error.headers or {})
    code = falcon.code_to_http_status(error.status)
    _routed(resp, code, error.description or error.title or code)


async def _system(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    code, text = http.system_failure(resp, error)
    if isinstance(error, PeerError):
        text = _UNKNOWN_CALLER
    _handled(resp, code, text)


async def _bug(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    LOG.exception("unhandled error", exc_info=error)
    _handled(resp, falcon.HTTP_500, f"Unhandled {type(error).__name__}; the log of the service has more.")


def _handled(resp: falcon.Response, code: str, text: str, *, bare: bool = False) -> None:
    """Answer in the form of errors of resources."""
    inner = {"faultcode": "Server" if code.startswith("5") else "Client", "faultstring": text}
    _answer(resp, code, inner if bare else {"error_message": json.dumps({**inner, "debuginfo": None})})


def _routed(resp: falcon.Response, code: str, text: str) -> None:
    """Answer in the form of errors of routing and versions."""
    number, _, title = code.partition(" ")
    inner = {"code": int(number), "title": title, "description": text}
    _answer(resp, code, {"error_message": json.dumps(inner)})


def _answer(resp: falcon.Response, code: str, body: dict[str, Any]) -> None:
    resp.status = code
    resp.content_type = falcon.MEDIA_JSON
    resp.media = body
