"""No secret is stored in clear, logged, or answered to anyone who has not the right to it: canaries are looked for."""

from typing import Any

import falcon
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.encryption import EncryptionOptions
from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.settings.types import Secret
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from tests.factories import document
from tests.integration.api import canaries
from tests.integration.api.conftest import NO_FAULT, new_site, settings
from tests.integration.api.recorded import Everything
from tests.integration.api.wire import YAML, Site, everything_said, messages
from tests.integration.storage.rows import TABLES, empty
from tests.peer import Answer, Peer

READS = (
    ("/configdocs", {}),
    ("/configdocs", {"base_version": "committed"}),
    ("/configdocs", {"base_version": "committed", "format": "unified"}),
    ("/configdocs", {"base_version": "committed", "rendered": "true"}),
    ("/configdocs", {"base_version": "committed", "rendered": "true", "format": "unified"}),
    ("/configdocs/design", {}),
    ("/configdocs/design", {"version": "committed"}),
    ("/renderedconfigdocs", {}),
    ("/renderedconfigdocs", {"version": "committed"}),
    ("/revisions/1/rendered-documents", {}),
    ("/revisions/1/rendered-documents", {"sort": "data"}),
    ("/actions", {}),
)


def stored(engine: sa.Engine) -> bytes:
    """Every value of every row of every table, as text."""
    with engine.connect() as connection:
        rows = [tuple(row) for table in TABLES for row in connection.execute(sa.select(table))]
    return b"\n".join(_raw(value) for row in rows for value in row)


def _raw(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else repr(value).encode()


def test_canaries_are_found_where_they_are(site: Site) -> None:
    """The tests below would prove nothing if this failed."""
    site.admin.load("design", *canaries.design())

    clear = site.admin.get("/renderedconfigdocs", cleartext_secrets="true")

    assert canaries.found_in(clear.content) == list(canaries.WORDS)
    assert canaries.found_in(b"x".join(word.encode().hex().encode() for word in canaries.WORDS)) == list(canaries.WORDS)


def test_secrets_are_nowhere(site: Site, engine: sa.Engine, log: Everything) -> None:
    echo = {"message": f"cannot use {canaries.TEXT}", "diagnostic": "got canary-on-line-two", "error": False}
    told = {"kind": "Status", "status": "Success", "details": {"errorCount": 0, "messageList": [echo]}}
    site.drydock.on("POST /validatedesign", Answer(200, told))
    answers: list[Result] = [site.admin.load("design", *canaries.design())]
    answers.append(site.admin.commit())
    answers += [site.viewer.get(path, **params) for path, params in READS]
    changed = [
        one | {"data": f"{one['data']} again"} if isinstance(one["data"], str) else one for one in canaries.design()
    ]
    answers.append(site.admin.load("design", *changed))
    answers += [site.viewer.get(path, **params) for path, params in READS]
    echo["message"] = f"cannot use {canaries.TEXT} again"
    answers += [site.admin.commit(), site.admin.act(allow_intermediate_commits="true")]
    answers += [site.admin.get(path, **params) for path, params in READS if "revisions" not in path]

    # After a commit there is no buffer to show.
    assert [answer.status_code for answer in answers if answer.status_code >= 400] == [404] * 4
    assert [canaries.found_in(answer.content) for answer in answers if canaries.found_in(answer.content)] == []
    assert canaries.found_in("\n".join(log.lines)) == []
    assert canaries.found_in(stored(engine)) == []
    assert "cannot use ***" in everything_said(answers[1])


def test_what_is_wrong_with_a_secret_and_a_body_that_is_refused_are_told_without_it(
    site: Site, engine: sa.Engine, log: Everything
) -> None:
    answers = []
    for body in canaries.malformed().values():
        answers.append(site.admin.post("/configdocs/design", body, YAML))
        assert answers[-1].status == falcon.HTTP_400
    for broken in canaries.broken().values():
        site.admin.load("design", *canaries.design(), buffermode="replace")
        site.admin.load("broken", *broken, buffermode="append")
        told = site.admin.commit()
        assert told.status == falcon.HTTP_400
        assert all(entry["documents"] for entry in messages(told) if entry["error"])
        answers += [told, site.admin.get("/renderedconfigdocs"), site.admin.commit(dryrun="true", force="true")]
    answers += [site.admin.commit(force="true"), site.admin.act()]

    assert [answer.text for answer in answers if canaries.found_in(answer.content)] == []
    assert canaries.found_in("\n".join(log.lines)) == []
    assert canaries.found_in(stored(engine)) == []


def test_without_a_key_an_encrypted_document_is_refused_and_nothing_stored(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    empty(engine)
    app = bootstrap.api(settings(shared_url, drydock.url, secrets=EncryptionOptions()))
    keyless = new_site(app, store, engine, drydock)

    answer = keyless.admin.load(
        "design",
        document("deckhand/Passphrase/v1", "p", canaries.TEXT, storagePolicy="encrypted"),
        document("a/B/v1", "plain", {}),
        document("a/B/v1", "also", {"x": 1}, storagePolicy="encrypted"),
    )

    assert answer.status == falcon.HTTP_400
    found = [(entry["name"], entry["documents"][0]["name"]) for entry in messages(answer)]
    assert found == [("D001", "p"), ("D001", "also")]
    assert "no key is configured" in everything_said(answer)
    assert keyless.viewer.get("/configdocs").json == []


def test_without_the_right_key_secrets_stay_closed_and_the_rest_is_served(
    site: Site, shared_url: str, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    site.admin.load("design", *canaries.design())
    app = bootstrap.api(settings(shared_url, drydock.url, secrets=EncryptionOptions(keys=Secret(new_key()))))
    locked = new_site(app, store, engine, drydock)
    drydock.on("POST /validatedesign", NO_FAULT)

    answer = locked.admin.get("/renderedconfigdocs")

    assert answer.status == falcon.HTTP_503
    assert (answer.json["message"], answer.json["retry"]) == ("Secrets cannot be opened", False)
    assert "[secrets]" in answer.json["reason"]
    assert locked.viewer.get("/configdocs").status == falcon.HTTP_200
