"""Who may do what."""

import base64
from datetime import timedelta

import falcon
import pytest

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.api.mount import Mount
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.storage.unit_of_work import Store, connect, connect_readers
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api.wire import Caller, Site


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


def test_a_token_may_come_in_three_ways_and_is_worthless_when_it_is_none_any_more(site: Site, app: Mount) -> None:
    tokens = ApiTokens(site.store)
    made, secret = tokens.create("tom", "admin")

    def asked(**headers: str) -> str:
        return str(site.nobody.ask("GET", "/api/v1.0/actions", headers=headers).status)

    words = [f"{scheme} {secret}" for scheme in ("Bearer", "bearer", "BEARER")]
    words += [f"basic {base64.b64encode(f'{user}:{secret}'.encode()).decode()}" for user in ("drydock", "", "é")]
    assert {asked(Authorization=word) for word in words} == {falcon.HTTP_200}
    assert asked(Authorization=f"Digest {secret}") == falcon.HTTP_401
    # One way is enough, and the header of Keystone wins.
    assert asked(**{"Authorization": words[0], "X-Auth-Token": "nothing"}) == falcon.HTTP_401
    guesses = [made.id, "tom", secret[:-1], secret + "A", secret.swapcase(), secret.removeprefix("shipyard_")]
    guesses.append(tokens.create("old", "admin", lifetime=timedelta(seconds=-1))[1])
    tokens.revoke(made.id)
    assert {Caller(app, guess).get("/actions").status for guess in [*guesses, secret]} == {falcon.HTTP_401}
    young = tokens.create("young", "admin", lifetime=timedelta(hours=1))[1]
    assert Caller(app, young).get("/actions").status == falcon.HTTP_200
    # A refusal reads neither body nor parameters.
    assert site.viewer.post("/configdocs/x", b"]", buffermode="x").status == falcon.HTTP_403
    assert site.nobody.post("/commitconfigdocs", force="perhaps").status == falcon.HTTP_401
