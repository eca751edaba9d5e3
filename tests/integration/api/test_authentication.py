"""Who may do what."""

import base64
from datetime import timedelta

import falcon
import pytest

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.api.mount import Mount
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.storage.unit_of_work import Store, connect, connect_readers
from shipyard_api.usecases.tokens.manage import ApiTokens
from tests.integration.api.wire import Caller, Site, small_design


def test_a_refusal_reads_neither_body_nor_parameters(site: Site) -> None:
    assert site.viewer.post("/configdocs/x", b"]", buffermode="x").status == falcon.HTTP_403
    assert site.nobody.post("/commitconfigdocs", force="perhaps").status == falcon.HTTP_401


def test_a_token_may_come_as_a_bearer_token(site: Site) -> None:
    _, secret = ApiTokens(site.store).create("bob", "viewer")

    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = site.nobody.ask("GET", "/api/v1.0/actions", headers={"Authorization": f"{scheme} {secret}"})
        assert answer.status == falcon.HTTP_200
    answer = site.nobody.ask("GET", "/api/v1.0/actions", headers={"Authorization": f"Digest {secret}"})
    assert answer.status == falcon.HTTP_401


@pytest.mark.parametrize("user", ["drydock", "", "é"])
def test_a_token_may_come_as_a_password(site: Site, user: str) -> None:
    _, secret = ApiTokens(site.store).create("bob", "viewer")

    for scheme in ("Basic", "basic"):
        sent = {"Authorization": f"{scheme} {base64.b64encode(f'{user}:{secret}'.encode()).decode()}"}
        assert site.nobody.ask("GET", "/api/v1.0/actions", headers=sent).status == falcon.HTTP_200


def test_one_way_to_send_a_token_is_enough_and_the_header_of_keystone_wins(site: Site) -> None:
    _, secret = ApiTokens(site.store).create("bob", "viewer")
    sent = {"Authorization": f"Bearer {secret}", "X-Auth-Token": "nothing"}

    assert site.nobody.ask("GET", "/api/v1.0/actions", headers=sent).status == falcon.HTTP_401


def test_the_name_of_the_token_is_the_user(site: Site) -> None:
    site.commit(*small_design())

    answer = site.admin.act()

    assert answer.json["user"] == "ann"
    described = site.viewer.get(f"/actions/{answer.json['id']}").json
    assert [audit["user"] for audit in described["command_audit"]] == ["ann"]


def test_a_revoked_token_is_worthless_at_once(site: Site, app: Mount) -> None:
    tokens = ApiTokens(site.store)
    made, secret = tokens.create("eve", "admin")
    eve = Caller(app, secret)
    assert eve.get("/actions").status == falcon.HTTP_200

    tokens.revoke(made.id)

    assert eve.get("/actions").status == falcon.HTTP_401


def test_tokens_are_looked_up_without_the_connections_of_those_who_write(shared_url: str, site: Site) -> None:
    _, secret = ApiTokens(site.store).create("bob", "viewer")
    engine, readers = connect(shared_url, pool_size=1), connect_readers(shared_url, pool_size=1)
    tokens = ApiTokens(Store(engine, ProcrastinateWakeup(), readers))
    try:
        tokens.authenticate(secret)  # its use is written down now, and not again for a minute
        with engine.connect(), engine.connect():
            assert tokens.authenticate(secret).name == "bob"
            with pytest.raises(Unauthenticated):
                tokens.authenticate("wrong")
    finally:
        engine.dispose()
        readers.dispose()


def test_an_expired_token_is_worthless(site: Site, app: Mount) -> None:
    tokens = ApiTokens(site.store)

    _, old = tokens.create("old", "admin", lifetime=timedelta(seconds=-1))
    _, young = tokens.create("young", "admin", lifetime=timedelta(hours=1))

    assert Caller(app, old).get("/actions").status == falcon.HTTP_401
    assert Caller(app, young).get("/actions").status == falcon.HTTP_200


def test_a_secret_is_not_its_digest_nor_its_name(site: Site, app: Mount) -> None:
    made, secret = ApiTokens(site.store).create("tom", "admin")

    for guess in (made.id, "tom", secret[:-1], secret + "A", secret.swapcase(), secret.removeprefix("shipyard_")):
        assert Caller(app, guess).get("/actions").status == falcon.HTTP_401
