"""Requests that follow from earlier answers, made from the links of the OpenAPI document: what was created is read,
steered, tried again. Every answer is one that the document describes, and none is a fault of ours.
"""

from typing import TYPE_CHECKING, Any, ClassVar

import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import negative_data_rejection, not_a_server_error, positive_data_acceptance
from schemathesis.specs.openapi.checks import (
    ensure_resource_availability,
    ignored_auth,
    response_schema_conformance,
    use_after_free,
)

from shipyard_api.storage.unit_of_work import SqlStore
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api import test_as_described
from tests.integration.api.conftest import new_site
from tests.integration.api.wire import small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer

if TYPE_CHECKING:
    import falcon

RUNS, STEPS = 90, 14
LEAST = 900  # requests; with those of test_as_described.py more than 2,000
# Whether a request is taken depends on what the site holds; streams of documents are held to the document elsewhere,
# and who may do what in test_who_may_what.py.
LEFT_OUT = [
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    ensure_resource_availability,
    ignored_auth,
    use_after_free,
]


def test_what_follows_from_an_answer_is_answered_as_described(
    app: "falcon.App[Any, Any]", store: SqlStore, engine: sa.Engine, drydock: Peer
) -> None:
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    schema.config.generation.allow_x00 = False
    made: list[tuple[str, int]] = []

    class Machine(schema.as_state_machine()):  # type: ignore[misc]  # made at run time
        headers: ClassVar[dict[str, str]] = {}

        def setup(self) -> None:
            empty(engine)
            site = new_site(app, store, engine, drydock)
            site.commit(*small_design())
            _, secret = ApiTokens(store).create("schemathesis", "admin")
            self.headers["X-Auth-Token"] = secret

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": dict(self.headers)}

        def after_call(self, response: Any, case: Any) -> None:
            made.append((f"{case.method} {case.path}", response.status_code))

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            broken = [not_a_server_error] if (case.method, case.path) in test_as_described.SAYS_500 else []
            case.validate_response(response, excluded_checks=[*LEFT_OUT, *broken])

    Machine.run(
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    assert len(made) >= LEAST
    # What was created was found again by the links, and not only refused.
    assert {
        ("POST /api/v1.0/actions", 201),
        ("GET /api/v1.0/actions/{action_id}", 200),
        ("GET /api/v1.0/actions/{action_id}/steps/{step_id}", 200),
        ("GET /api/v1.0/actions/{action_id}/steps/{step_id}/logs", 200),
        ("GET /api/v1.0/actions/{action_id}/report", 200),
    } <= set(made)
