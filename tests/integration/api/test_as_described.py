"""Requests made from the OpenAPI document, right ones and wrong ones: every answer is one that it describes.

The examples are the same in each run, so that a failure can be repeated.
"""

import json
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from schemathesis.specs.openapi.checks import response_schema_conformance

from shipyard_api.storage.unit_of_work import SqlStore
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api import description
from tests.integration.api.wire import Caller, Site, small_design
from tests.integration.storage.rows import empty

if TYPE_CHECKING:
    import falcon

EXAMPLES = 12
# Schemathesis reads only one document of a stream; the other tests hold such answers to the document.
STREAMS = {
    ("GET", "/api/v1.0/configdocs/{collection_id}"),
    ("GET", "/api/v1.0/revisions/{revision}/rendered-documents"),
}


@schemathesis.serializer("application/x-yaml")
def _stream(_context: Any, value: Any) -> bytes:
    """Write what the document describes as an array as the stream that it is."""
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    documents = value if isinstance(value, list) else [value]
    return b"".join(b"--- " + json.dumps(one).encode() + b"\n" for one in documents)


@pytest.fixture(scope="module")
def token(app: "falcon.App[Any, Any]", store: SqlStore, engine: sa.Engine) -> str:
    """A token that may change a site with a committed design."""
    empty(engine)
    _, secret = ApiTokens(store).create("schemathesis", "admin")
    caller = Caller(app, secret)
    Site(caller, caller, caller, store).commit(*small_design())
    return secret


@pytest.fixture(scope="module")
def described(app: "falcon.App[Any, Any]", token: str) -> Any:
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    schema.config.generation.allow_x00 = False
    return schema


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("method", "path"),
    [pytest.param(method, path, id=f"{method} {path}") for method, path, _ in description.operations()],
)
def test_every_answer_is_described(described: Any, token: str, method: str, path: str, mode: GenerationMode) -> None:
    # What is refused is in test_bad_input.py; here an empty parameter would count as wrong, although it is absent.
    left_out = [negative_data_rejection]
    if method == "POST":
        left_out.append(positive_data_acceptance)  # whether it is taken depends on what the site holds
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
