"""Requests that follow from earlier answers, made from the links of the OpenAPI document: what was created is read,
steered, tried again. Every answer is one that the document describes, and none is a fault of ours.

Where each link leads is tried at every commit. Chains of generated requests are played by ``./dev crash``: which ones
are made depends on what else the process has imported.
"""

from typing import Any, ClassVar

import pytest
import schemathesis
import sqlalchemy as sa
from falcon.testing import Result
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import negative_data_rejection, not_a_server_error, positive_data_acceptance
from schemathesis.specs.openapi.checks import (
    ensure_resource_availability,
    ignored_auth,
    response_schema_conformance,
    use_after_free,
)

from shipyard_api.api.mount import Mount
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from tests.factories import document
from tests.integration.api import description, test_as_described
from tests.integration.api.conftest import new_site
from tests.integration.api.wire import JSON, Site, small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer

RUNS, STEPS = 12, 14
LEAST = 60
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


@pytest.mark.crash
def test_what_follows_from_an_answer_is_answered_as_described(
    app: Mount, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
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
            if "" in (case.path_parameters or {}).values():
                return  # an empty part makes another address of it
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


# Where a link leads when it is followed at once; everything else is 200.
FOLLOWED = {"controlAction": 409, "getNoteDetails": 404}


def test_every_link_leads_to_what_was_made(site: Site) -> None:
    site.admin.load("design", *small_design())
    answers = {
        "commitConfigdocs": site.admin.commit(),
        "planAction": site.admin.post("/plans", '{"name": "deploy_site"}', JSON, store="true"),
        "listPlans": site.admin.get("/plans"),
        "createAction": site.admin.act(),
        "listActions": site.admin.get("/actions"),
        "listNodes": site.admin.get("/nodes"),
        "listWorkflows": site.admin.get("/workflows"),
        "loadCollection": site.admin.load("added", document("a/B/v1", "more", {})),
        "holdNode": site.admin.ask(
            "POST",
            "/api/v1.0/nodes/n1/holds",
            headers=JSON,
            body='{"reason": "memory errors"}',
        ),
    }
    answers["listHolds"] = site.admin.get("/holds")
    answers["getAction"] = site.admin.get(f"/actions/{answers['createAction'].json['id']}")
    answers["compareConfigdocs"] = site.admin.get("/configdocs")
    paths = {operation["operationId"]: (method, path) for method, path, operation in description.operations()}
    followed = []
    for method, path, operation in description.operations():
        for code, response in operation["responses"].items():
            for link in response.get("links", {}).values():
                first = answers[operation["operationId"]]
                assert str(first.status_code) == code, f"{method} {path}"
                wanted = link["operationId"]
                way, address = paths[wanted]
                try:
                    values = {name: _value(text, first) for name, text in link.get("parameters", {}).items()}
                except IndexError:
                    continue  # the list from which it leads is empty here
                for name in [name for name in values if f"{{{name}}}" in address]:
                    address = address.replace(f"{{{name}}}", values.pop(name))
                if way == "GET" or wanted in FOLLOWED:
                    answer = site.admin.ask(way, address.replace("{control_verb}", "pause"), params=values)
                    assert answer.status_code == FOLLOWED.get(wanted, 200), f"{way} {address}: {answer.text}"
                followed.append(wanted)
    assert len(followed) >= 15


def _value(expression: str, answer: Result) -> str:
    """What a link takes from an answer (OpenAPI 3.1, Runtime Expressions); a text that is none stands for itself."""
    if expression.startswith("$request.path."):
        return str(answer.headers["Location"].rsplit("/", 1)[1])
    if not expression.startswith("$response.body#/"):
        return expression
    found = answer.json
    for part in expression.removeprefix("$response.body#/").split("/"):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return str(found)
