"""What only a socket can say: headers that a client library would add. gunicorn runs the API as it is shipped."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.yaml_stream import write_documents
from tests.factories import document
from tests.integration.api.contract.case import error
from tests.integration.api.contract.matching import UUID, Pattern, faults
from tests.integration.api.contract.texts import (
    COUNT_OF_VERSIONS,
    EMPTY_BUFFER,
    LENGTH_REQUIRED,
    LOADED,
    NO_BODY,
    UNAUTHENTICATED,
    unknown_action,
)
from tests.integration.api.served import Answer, Server, gunicorn
from tests.unit.tables import every_row

JSON, YAML = "Content-Type: application/json\r\n", "Content-Type: application/x-yaml\r\n"
ACT = b'{"name": "deploy_site"}'
DESIGN = write_documents([document("a/B/v1", "one", {})])
JSON_TYPE = "application/json"
SEEN: set[str] = set()


@dataclass(frozen=True)
class Raw:
    """A request line with the headers that are sent and no others, and its answer."""

    line: str
    sends: str
    code: int
    answer: Any
    body: bytes = b""
    token: bool = True
    headers: dict[str, Any] = field(default_factory=dict)


def sized(body: bytes) -> str:
    return f"Content-Length: {len(body)}\r\n"


def not_utf8(part: str, byte: str) -> dict[str, Any]:
    """400: a byte that no character has there."""
    said = f"The {part} is not UTF-8 at the byte %{byte}; escape its characters as UTF-8"
    return error(400, "Invalid address", said)


V1 = "/api/v1.0"
CASES = {
    "6.4 an action without a content type": Raw(f"POST {V1}/actions", sized(ACT), 400, NO_BODY, ACT),
    "6.4 an action without a content type and a length": Raw(f"POST {V1}/actions", "", 400, NO_BODY),
    "6.4 an action with an empty content type": Raw(
        f"POST {V1}/actions", f"Content-Type:\r\n{sized(ACT)}", 400, NO_BODY, ACT
    ),
    "5.2 a load without a length": Raw(f"POST {V1}/configdocs/design", YAML, 400, LENGTH_REQUIRED, DESIGN),
    "5.2 a load without any header": Raw(f"POST {V1}/configdocs/design", "", 400, LENGTH_REQUIRED),
    "5.5 a commit as the client sends it": Raw(
        f"POST {V1}/commitconfigdocs?force=False&dryrun=False&verbosity=1",
        f"{YAML}Content-Length: 0\r\n",
        409,
        EMPTY_BUFFER,
    ),
    "5.5 a commit without a length": Raw(f"POST {V1}/commitconfigdocs", "", 409, EMPTY_BUFFER),
    "6.7 a command without a length": Raw(f"POST {V1}/actions/x/control/stop", "", 404, unknown_action("x")),
    "1 the name of the token's header in small letters": Raw(
        f"GET {V1}/actions", "x-auth-token: TOKEN\r\n", 200, [], token=False
    ),
    "3 no token": Raw(
        f"GET {V1}/actions", "", 401, UNAUTHENTICATED, token=False, headers={"www-authenticate": Pattern(".+")}
    ),
    "5.1 a comma, escaped": Raw(f"GET {V1}/configdocs?versions=committed%2Cbuffer", "", 400, COUNT_OF_VERSIONS),
    "1 OPTIONS": Raw(f"OPTIONS {V1}/configdocs/x", "", 200, None, token=False, headers={"allow": "GET, OPTIONS, POST"}),
    "1 HEAD": Raw(f"HEAD {V1}/actions", "", 405, None, headers={"allow": Pattern(".*GET.*")}),
    "11 health": Raw(f"GET {V1}/health", "", 204, None, token=False),
    "1 a path that is not UTF-8": Raw(
        f"POST {V1}/configdocs/%ff", f"{YAML}{sized(DESIGN)}", 400, not_utf8("path", "FF"), DESIGN
    ),
    "1 a path that is UTF-8": Raw(
        f"GET {V1}/actions/%c3%a9", "", 404, error(404, "Action not found", "Unknown Action: é")
    ),
    # The last one, since it is the only one that stores anything.
    "1 a load without a content type": Raw(
        f"POST {V1}/configdocs/design",
        sized(DESIGN),
        201,
        LOADED,
        DESIGN,
        headers={"location": Pattern(f"(https?://[^/]+)?{V1}/configdocs/design")},
    ),
}


@pytest.fixture(scope="module")
def server(module_database_url: str) -> Iterator[Server]:
    engine = connect(module_database_url, pool_size=1)
    _, token = ApiTokens(Store(engine, ProcrastinateWakeup())).create("ann", "admin")
    engine.dispose()
    with gunicorn(module_database_url, token) as running:
        yield running


def test_a_request_as_it_is_on_the_wire(server: Server) -> None:
    every_row(CASES)(partial(_answered, server))()


def _answered(server: Server, case: Raw) -> None:
    sends = case.sends.replace("TOKEN", server.token)

    (answer,) = server.send(server.request(case.line, sends, case.body, token=case.token))

    assert answer.code == case.code, answer.body
    request = answer.headers.get("x-shipyard-req", "")
    assert list(faults(UUID, request, "X-Shipyard-Req", {})) == []
    assert request not in SEEN
    SEEN.add(request)
    for header in ("allow", "location", "www-authenticate"):
        if header in case.headers:
            assert list(faults(case.headers[header], answer.headers.get(header), header, {})) == []
        else:
            assert header not in answer.headers
    assert wrong_body(case, answer) == []


def wrong_body(case: Raw, answer: Answer) -> list[str]:
    if case.answer is None:
        kind = None if case.code == 204 else JSON_TYPE
        return [] if (answer.body, answer.headers.get("content-type")) == (b"", kind) else [repr(answer)]
    assert answer.headers["content-type"] == JSON_TYPE
    assert int(answer.headers["content-length"]) == len(answer.body)
    return list(faults(case.answer, answer.status, "body", {}))
