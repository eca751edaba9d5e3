"""Parameters of Shipyard v1.0 that several resources read, and the pages of lists."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import falcon

from shipyard_api.api.airship.errors import InvalidVerbosity, UnsupportedAction
from shipyard_api.api.http.reading import is_descending, single, text, whole_number, words
from shipyard_api.domain.actions import ActionId, ActionName, RunState, lifecycle
from shipyard_api.domain.documents.paths import pointer
from shipyard_api.domain.errors import InvalidParameters
from shipyard_api.domain.findings import error
from shipyard_api.domain.json_types import JsonObject, are_texts
from shipyard_api.domain.node_sets import InvalidNodeSet, expand, is_node_set
from shipyard_api.domain.notes import LENGTH
from shipyard_api.domain.parameters import NODES, TARGET_NODES
from shipyard_api.usecases.actions.describe import ListQuery
from shipyard_api.usecases.actions.request import named, recorded, takes

USUAL_VERBOSITY = 1


class Verbosity:
    """Middleware; every address of the dialect takes the parameter, even where it changes nothing."""

    async def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Refuse a value that is not a verbosity."""
        req.context.verbosity = verbosity(req)


def verbosity(req: falcon.Request) -> int:
    """Return how much the caller asks to see, from 0 to 5."""
    written = single(req, "verbosity")
    if written is None:
        return USUAL_VERBOSITY
    if not (len(written) == 1 and written in "012345"):
        raise InvalidVerbosity()
    return int(written)


def action_name(written: str) -> ActionName:
    """Return the name of an action; raises UnsupportedAction."""
    named_action = named(written)
    if named_action is None:
        raise UnsupportedAction(written)
    return named_action


def parameters(name: ActionName, body: JsonObject) -> JsonObject:
    """Return the parameters of an action, with lists of names in place of node sets; raises InvalidParameters.

    A list of plain names stays as it was written.
    """
    written: JsonObject = body.get("parameters") or {}
    texts = {key: written[key] for key in (TARGET_NODES, NODES) if takes(name, key) and key in written}
    return {**written, **{key: _expanded(key, value) for key, value in texts.items()}}


def nodes(req: falcon.Request, name: str) -> tuple[str, ...]:
    """Return the names in a repeatable parameter that takes names and node sets."""
    try:
        return expand(text(req, name))
    except InvalidNodeSet as failed:
        raise falcon.HTTPInvalidParam(f"{failed}.", name) from None


def _expanded(key: str, written: Any) -> Any:
    names = [written] if isinstance(written, str) else written
    if not are_texts(names) or not any(map(is_node_set, names)):
        return written
    try:
        return list(expand(names))
    except InvalidNodeSet as failed:
        message = f"The parameter {key} is wrong: {failed}."
        raise InvalidParameters([error("InvalidParameter", message, path=pointer(["parameters", key]))]) from None


MOST = 1000


def wanted_actions(req: falcon.Request, since: datetime | timedelta | None) -> ListQuery:
    """Return which actions a request asks for; without a ``limit`` all that its filters let through."""
    names = words(req, "name", list(recorded()))
    states = words(req, "state", [state.value for state in RunState])
    lifecycles = words(req, "lifecycle", [lifecycle(state) for state in RunState])
    both = [
        state
        for state in RunState
        if (not states or state.value in states) and (not lifecycles or lifecycle(state) in lifecycles)
    ]
    return ListQuery(
        names=[ActionName(name) for name in names],
        states=both if states or lifecycles else None,
        users=text(req, "user"),
        since=since,
        after=marker(req),
        descending=is_descending(req),
        limit=whole_number(req, "limit", 0, least=1, most=MOST) or None,
    )


def marker(req: falcon.Request) -> ActionId | None:
    """Return the id after which a page of actions begins."""
    written = single(req, "marker")
    if written is None:
        return None
    if not (len(written) == LENGTH and written.isascii() and written.isalnum()):
        raise falcon.HTTPInvalidParam(f"The value must be the id of an action, {LENGTH} letters and digits.", "marker")
    return ActionId(written)


def link_next(req: falcon.Request, resp: falcon.Response, last: ActionId | None, *, is_cut: bool) -> None:
    """Link to the next page, if any: the same request with the last id as its marker."""
    if not is_cut or last is None:
        return
    asked = [(name, value) for name, value in parse_qsl(req.query_string) if name != "marker"]
    query = urlencode([*asked, ("marker", last)])
    resp.set_header("Link", f'<{req.root_path}{req.path}?{query}>; rel="next"')
