"""The routes of the Deckhand simulator."""

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.deckhand import (
    document_resources,
    revision_resources,
    tag_resources,
    validation_resources,
    wire,
)
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.renderings import Renderings
from shipyard_simulators.deckhand.rights import Rights
from shipyard_simulators.deckhand.store import Store
from shipyard_simulators.events import EventLog
from shipyard_simulators.faults import FaultyService
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Application

_REVISION = f"{wire.API}/revisions/{{revision_id}}"


class Versions:
    """The versions of the API."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the only one."""
        wire.send(resp, {"v1.0": {"path": wire.API, "status": "stable"}})


class Health:
    """The health of the service."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return 204."""
        resp.status = falcon.HTTP_204


def create_app(
    behaviour: Behaviour,
    scenario: Scenario,
    clock: Clock,
    log: EventLog,
    *,
    token: str | None = None,
    denied: frozenset[str] = frozenset(),
) -> Application:
    """Return the WSGI application; ``token``: the accepted token (None: any). ``denied``: rights that no one has."""
    app = falcon.App()
    app.add_middleware(wire.Headers())
    app.add_middleware(wire.Tokens(token))
    app.add_middleware(wire.BodyTypes())
    # Falcon tries the handler added last first.
    app.add_error_handler(Exception, wire.refuse_breakage)
    app.add_error_handler(falcon.HTTPError, wire.refuse_as_framework)
    app.add_error_handler(DeckhandError, wire.refuse)
    store, rights = Store(behaviour), Rights(denied)
    renderings = Renderings(store, behaviour)
    service = FaultyService(app, clock, api=wire.API, error=wire.simulated_fault, struck=request_log.note_fault)
    service.play(scenario.service, seed=scenario.seed)
    validations = validation_resources.Validations(store, rights, behaviour)
    one_validation = validation_resources.OneValidation(store, rights)
    app.add_route("/versions", Versions())
    app.add_route(f"{wire.API}/health", Health())
    app.add_route(f"{wire.API}/buckets/{{bucket}}/documents", document_resources.Bucket(store, rights, clock))
    app.add_route(f"{wire.API}/revisions", revision_resources.Revisions(store, rights))
    app.add_route(_REVISION, revision_resources.OneRevision(store, rights))
    app.add_route(f"{_REVISION}/documents", document_resources.Documents(store, rights))
    app.add_route(f"{_REVISION}/rendered-documents", document_resources.RenderedDocuments(store, renderings, rights))
    diff, deep_diff = (f"{_REVISION}/{kind}/{{other}}" for kind in ("diff", "deepdiff"))
    app.add_route(diff, revision_resources.Diff(store, rights))
    app.add_route(deep_diff, revision_resources.DeepDiff(store, renderings, rights))
    app.add_route(f"{wire.API}/rollback/{{revision_id}}", revision_resources.Rollback(store, rights))
    app.add_route(f"{_REVISION}/tags", tag_resources.Tags(store, rights))
    app.add_route(f"{_REVISION}/tags/{{tag}}", tag_resources.OneTag(store, rights, behaviour))
    app.add_route(f"{_REVISION}/validations", validations)
    app.add_route(f"{_REVISION}/validations/detail", validations, suffix="detail")
    app.add_route(f"{_REVISION}/validations/{{name}}", one_validation)
    app.add_route(f"{_REVISION}/validations/{{name}}/entries/{{entry}}", one_validation, suffix="entry")
    app.add_route("/simulator/requests", control.Requests(log))
    app.add_route("/simulator/faults", control.Faults(service))
    return request_log.RequestLog(service, clock, log)
