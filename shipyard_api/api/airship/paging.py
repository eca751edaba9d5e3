"""Lists that may be asked for in parts: which actions, how many, and where the next page is.

The contract's lists are bare arrays, so the next page is in a header: ``Link`` with ``rel="next"`` (RFC 8288).
"""

from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlencode

import falcon

from shipyard_api.api.http.reading import is_descending, single, text, whole_number, words
from shipyard_api.domain.actions import ActionId, ActionName, RunState, lifecycle
from shipyard_api.domain.notes import LENGTH
from shipyard_api.usecases.actions.describe import ListQuery
from shipyard_api.usecases.actions.request import recorded

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
