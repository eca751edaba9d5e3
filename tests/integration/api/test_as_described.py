"""Requests made from the OpenAPI document, right ones and wrong ones: every answer is one that it describes.

The examples are the same in each run, so that a failure can be repeated. At every commit CI makes thousands of such
requests, and every caller of these tests holds its answers to the document; so these are played by ``./dev crash``.
"""

import json
from typing import Any

import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import negative_data_rejection, not_a_server_error, positive_data_acceptance
from schemathesis.specs.openapi.checks import response_schema_conformance

from shipyard_api.api.mount import Mount
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api import description
from tests.integration.api.conftest import new_site
from tests.integration.api.wire import small_design
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer

pytestmark = pytest.mark.crash

# A few of each here; CI tries thousands against a served API.
EXAMPLES = 3
# Schemathesis reads only one document of a stream, and no text that is labelled as JSON; the other tests hold such
# answers to the document.
STREAMS = {
    ("GET", "/api/v1.0/actions/{action_id}/steps/{step_id}/logs"),
    ("GET", "/api/v1.0/configdocs/{collection_id}"),
    ("GET", "/api/v1.0/renderedconfigdocs"),
    ("GET", "/api/v1.0/revisions/{revision}/rendered-documents"),
}
# The contract has 500 for a design that cannot be rendered, and clients know it.
SAYS_500 = {("GET", "/api/v1.0/renderedconfigdocs")}
# What they take is narrower than the document can say but in words: parameters that exclude each other, node sets.
EXCLUSIVE = {
    ("GET", "/api/v1.0/actions/{action_id}/nodes"),
    ("GET", "/api/v1.0/configdocs"),
    ("GET", "/api/v1.0/etcd-cluster-health-statuses"),  # its reference may also have the form that a site has set
    ("GET", "/api/v1.0/holds"),
    ("GET", "/api/v1.0/nodes"),
    ("PUT", "/api/v1.0/nodes/{node_name}/health"),  # its reason holds no character that a list would not show
}


@schemathesis.serializer("application/x-yaml")
def _stream(_context: Any, value: Any) -> bytes:
    """Write one document of a stream."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def token(app: Mount, store: Store, engine: sa.Engine, drydock: Peer) -> str:
    """A token that may change a site with a committed design."""
    empty(engine)
    site = new_site(app, store, engine, drydock)
    site.commit(*small_design())
    drydock.otherwise = [Answer(404, {"message": "No build data found", "type": "error"})]
    _, secret = ApiTokens(store).create("schemathesis", "admin")
    return secret


@pytest.fixture(scope="module")
def described(app: Mount, token: str) -> Any:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    schema.config.generation.allow_x00 = False
    return schema


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param(method, path, id=f"{method} {path}")
        for method, path, _ in description.airship_operations()
        if path != "/events"  # has no end
    ],
)
def test_every_answer_is_described(described: Any, token: str, method: str, path: str, mode: GenerationMode) -> None:
    # What is refused is in test_bad_input.py; here an empty parameter would count as wrong, although it is absent.
    left_out = [negative_data_rejection]
    if method == "POST" or (method, path) in EXCLUSIVE:
        left_out.append(positive_data_acceptance)  # whether it is taken depends on what the site holds
    if (method, path) in SAYS_500:
        left_out.append(not_a_server_error)
    if (method, path) in STREAMS:
        left_out.append(response_schema_conformance)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[path][method].as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        case.call_and_validate(headers={"X-Auth-Token": token}, excluded_checks=left_out)

    answers()
