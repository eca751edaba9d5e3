"""A DeckhandOptions that keeps the documents, and fails: what callers are told, wherever it is asked."""

from collections.abc import Callable, Iterator

import falcon
import pytest
from falcon.testing import Result

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.settings.types import Secret
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import bootstrap
from tests.factories import document
from tests.integration.api.conftest import settings
from tests.integration.api.wire import Caller
from tests.peer import Answer, Peer, running
from tests.unit.adapters.deckhand.answers import fault, several, single

UNREADABLE = "Unable to retrieve revisions"
Ask = Callable[[Caller], Result]
ASKS: dict[str, Ask] = {
    "compare": lambda who: who.get("/configdocs"),
    "read": lambda who: who.get("/configdocs/design"),
    "read rendered": lambda who: who.get("/renderedconfigdocs"),
    "load": lambda who: who.load("design", document("a/B/v1", "x", {})),
    "commit": lambda who: who.commit(),
    "act": lambda who: who.act(),
    "plan": lambda who: who.post("/plans", '{"name": "deploy_site"}', {"Content-Type": "application/json"}),
}


@pytest.fixture(scope="module")
def deckhand() -> Iterator[Peer]:
    with running() as peer:
        yield peer


@pytest.fixture(scope="module")
def caller(shared_url: str, store: Store, deckhand: Peer) -> Caller:
    own = DeckhandOptions(url=deckhand.url, token=Secret("t"), connect_timeout_seconds=1)
    app = bootstrap.api(settings(shared_url, deckhand=own))
    return Caller(app, ApiTokens(store).create("ann-with-deckhand", "admin")[1])


@pytest.fixture(autouse=True)
def _nothing_said_yet(deckhand: Peer) -> None:
    deckhand.answers.clear()
    deckhand.requests.clear()


CODES = (400, 500)
SAID = {"hangs up": (), "429": (Answer(429, b"", {"Retry-After": "1"}),), "cannot be read": (Answer(200, b"a: ["),)}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_without_an_answer_of_its_own_asking_again_may_help(caller: Caller, deckhand: Peer, ask: Ask) -> None:
    """An error of its own is the contract's 500; which answers are which, the tests of its client say."""
    for code in CODES if ask in (ASKS["compare"], ASKS["act"]) else CODES[:1]:
        deckhand.on("GET /revisions", fault(code, "Unsuitable", "no such luck"))
        answer = ask(caller)
        assert answer.status == falcon.HTTP_500
        # From 500 on its text may be that of a database, so that only its kind is told.
        told = "no such luck" if code < 500 else "Unsuitable"
        assert (answer.json["message"], answer.json["reason"]) == (
            UNREADABLE,
            f"Deckhand has responded unexpectedly: {code}:{told}",
        )
        assert (answer.json["details"]["errorType"], answer.json["retry"]) == ("AppError", False)

    for said in SAID.values() if ask is ASKS["read"] else [()]:
        deckhand.on("GET /revisions", *said)
        answer = ask(caller)
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_503, UNREADABLE)
        assert answer.json["reason"].startswith("Deckhand has responded unexpectedly: GET /revisions: ")
        assert (answer.json["details"]["errorType"], answer.json["retry"]) == ("AppError", True)


def test_of_a_design_that_it_does_not_render_it_is_said_that_it_was_the_rendering(
    caller: Caller, deckhand: Peer
) -> None:
    committed(deckhand)
    deckhand.on("GET /revisions/1/documents", several(stored()))
    deckhand.on("GET /revisions/1/rendered-documents", fault(403, "Forbidden", "not for you"))

    answer = caller.get("/renderedconfigdocs", version="committed")

    assert answer.status == falcon.HTTP_500
    assert answer.json["message"] == "Deckhand indicated an error while rendering"
    assert answer.json["reason"] == "Deckhand has responded unexpectedly: 403:not for you"


@pytest.mark.parametrize(
    ("code", "status", "title"),
    [
        (400, falcon.HTTP_400, "Document(s) invalid syntax or otherwise unsuitable"),
        (409, falcon.HTTP_409, "Documents may not exist in more than one collection"),
    ],
)
def test_documents_that_it_does_not_take_are_the_callers_to_mend(
    caller: Caller, deckhand: Peer, code: int, status: str, title: str
) -> None:
    committed(deckhand)
    deckhand.on("GET /revisions/1/documents", several(stored()))
    deckhand.on("PUT /buckets/other/documents", fault(code, "DuplicateDocumentExists", "it is there"))

    answer = caller.load("other", document("a/B/v1", "y", {}))

    assert (answer.status, answer.json["message"]) == (status, title)
    assert answer.json["reason"] == f"answered {code}: it is there"
    assert answer.json["details"]["errorType"] == "ApiError"


def test_a_load_that_it_forbids_is_told_as_it_says_it(caller: Caller, deckhand: Peer) -> None:
    committed(deckhand)
    deckhand.on("GET /revisions/1/documents", several(stored()))
    deckhand.on("PUT /buckets/other/documents", fault(403, "Forbidden", "not for you"))

    answer = caller.load("other", document("a/B/v1", "y", {}))

    assert answer.status == falcon.HTTP_500
    assert answer.json["message"] == "Deckhand does not answer as it should"
    assert answer.json["reason"] == "Deckhand has responded unexpectedly: 403:not for you"
    assert answer.json["retry"] is False


def committed(deckhand: Peer) -> None:
    """Let DeckhandOptions have one revision, which is committed."""
    revision = {"id": 1, "createdAt": "2026-11-21T01:23:55.638118"}
    deckhand.on(
        "GET /revisions", single({"count": 1, "results": [{**revision, "buckets": ["design"], "tags": ["committed"]}]})
    )
    deckhand.on("GET /revisions/1", single({**revision, "tags": {"committed": {}}}))


def stored() -> dict[str, object]:
    """A document as DeckhandOptions lists it."""
    return {**document("a/B/v1", "x", {}), "id": 1, "status": {"bucket": "design", "revision": 1}}
