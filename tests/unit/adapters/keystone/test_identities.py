"""Callers whose tokens a Keystone on the wire validates: known, unknown, in the name of others, remembered."""

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api.adapters.keystone import identities as adapter
from shipyard_api.adapters.keystone.identities import KeystoneIdentities, KnownTokens
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.domain.errors import Forbidden, Unauthenticated
from shipyard_api.ports.errors import Unavailable
from tests import simulated_keystone
from tests.simulated_keystone import ACCOUNT, PASSWORD, Keystone

pytest.importorskip("webob", reason="the extra keystone is not installed")


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    with simulated_keystone.running() as running:
        yield running


def identities(keystone: Keystone, *, seconds: float = 60, **more: Any) -> KeystoneIdentities:
    options = {
        "user": ACCOUNT, "password": PASSWORD, "project": "service", "read_timeout_seconds": 2.0, **more.pop("us", {})
    }  # fmt: skip
    told: dict[str, Any] = {"uri": "http://keystone.example/v3", "service_roles": ["service"], **more}
    return KeystoneIdentities(KeystoneOptions(auth_url=keystone.url, **options), cache_seconds=seconds, **told)


def request(token: str | None = None, **headers: str) -> dict[str, Any]:
    sent = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    if token is not None:
        sent["HTTP_X_AUTH_TOKEN"] = token
    return {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/api/v1.0/actions", "SCRIPT_NAME": "", "QUERY_STRING": "",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": "4",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "wsgi.input": io.BytesIO(b"body"),
        **sent,
    }  # fmt: skip


def test_an_identity_is_what_keystone_says(keystone: Keystone) -> None:
    found = identities(keystone).of(request(keystone.give("ann", "admin", "member", is_admin_project=False)))

    assert (found.key, found.user, found.user_id) == ("id-of-ann", "ann", "id-of-ann")
    assert found.roles == {"admin", "member"}
    assert (found.user_domain_id, found.project_domain_id) == ("default", "id-of-domain-Default")
    assert found.project_id == "id-of-Default-site"
    assert not found.is_admin_project
    assert identities(keystone).of(request(keystone.give("ann", is_admin_project=True))).is_admin_project


def test_a_name_in_any_script_is_told_as_it_is(keystone: Keystone) -> None:
    assert identities(keystone).of(request(keystone.give("Żółć", "admin"))).user == "Żółć"


def test_a_token_for_nothing_has_no_roles(keystone: Keystone) -> None:
    found = identities(keystone).of(request(keystone.give("ann", project=None)))

    assert (found.roles, found.project_id) == (frozenset(), "")


@pytest.mark.parametrize("sent", [None, "", "nonsense"])
def test_who_shows_nothing_good_is_not_known(keystone: Keystone, sent: str | None) -> None:
    with pytest.raises(Unauthenticated):
        identities(keystone).of(request(sent))


def test_without_a_token_keystone_is_not_asked(keystone: Keystone) -> None:
    known = identities(keystone)
    for sent in (request(), request(""), request(x_storage_token=keystone.give("ann", "admin"))):
        with pytest.raises(Unauthenticated):
            known.of(sent)
    assert keystone.asked == []


def test_the_body_of_the_request_is_left_alone(keystone: Keystone) -> None:
    sent = request(keystone.give("ann", "admin"))
    before = dict(sent)

    identities(keystone).of(sent)

    assert sent == before
    assert sent["wsgi.input"].read() == b"body"


def test_callers_are_told_where_tokens_are(keystone: Keystone) -> None:
    assert identities(keystone).challenge == 'Keystone uri="http://keystone.example/v3"'


def test_a_service_that_acts_for_a_user_acts_as_itself(keystone: Keystone) -> None:
    user, service = keystone.give("ann", "viewer"), keystone.give("drydock", "service", "peer", project="service")

    found = identities(keystone).of(request(user, x_service_token=service))

    assert (found.user, found.key, found.roles) == ("drydock", "id-of-drydock", {"service", "peer"})
    assert found.project_id == "id-of-Default-service"
    assert identities(keystone).of(request(x_service_token=service)) == found
    assert identities(keystone).of(request("of a user, and long over", x_service_token=service)) == found


@pytest.mark.parametrize("roles", [["admin"], []])
def test_without_a_role_of_services_a_token_of_a_service_is_none(keystone: Keystone, roles: list[str]) -> None:
    user, no_service = keystone.give("ann", "admin"), keystone.give("eve", *roles)

    with pytest.raises(Unauthenticated):
        identities(keystone).of(request(user, x_service_token=no_service))


def test_which_roles_make_a_service_can_be_set(keystone: Keystone) -> None:
    service = keystone.give("drydock", "robot")

    assert identities(keystone, service_roles=["x", "robot"]).of(request(x_service_token=service)).user == "drydock"


@pytest.mark.parametrize(
    ("project", "domain", "good"),
    [("site", "Default", True), ("site", "Other", False), ("other", "Default", False), (None, "Default", False)],
)
def test_if_one_project_counts_no_other_does(keystone: Keystone, project: str | None, domain: str, good: bool) -> None:
    known = identities(keystone, project=("site", "Default"))
    sent = request(keystone.give("ann", "admin", project=project, domain=domain))

    if good:
        assert known.of(sent).user == "ann"
    else:
        with pytest.raises(Forbidden, match="not for the project site of the domain Default"):
            known.of(sent)


def test_a_known_token_is_not_asked_about_again_in_the_time(keystone: Keystone) -> None:
    known, token = identities(keystone), keystone.give("ann", "admin")
    first = known.of(request(token))
    asked = len(keystone.asked)

    assert known.of(request(token)) == first
    assert len(keystone.asked) == asked


def test_with_no_time_keystone_is_asked_each_time(keystone: Keystone) -> None:
    known, token = identities(keystone, seconds=0), keystone.give("ann", "admin")
    known.of(request(token))
    known.of(request(token))
    assert keystone.validations() == 2

    del keystone.tokens[token]
    with pytest.raises(Unauthenticated):
        known.of(request(token))


def test_a_token_that_ends_is_not_good_because_it_was_known(keystone: Keystone) -> None:
    known, token = identities(keystone), keystone.give("ann", "admin", seconds=0.6)
    assert known.of(request(token)).user == "ann"

    while True:
        try:
            known.of(request(token))
        except Unauthenticated:
            return


@pytest.mark.parametrize("trouble", [{"hang_up": True}, {"status": 503}, {"status": 500}, {"status": 403}])
def test_without_keystone_callers_who_are_known_go_on_and_nobody_knows_about_others(
    keystone: Keystone, trouble: dict[str, Any]
) -> None:
    known, token = identities(keystone), keystone.give("ann", "admin")
    known.of(request(token))
    keystone.trouble = simulated_keystone.Trouble(**trouble)

    assert known.of(request(token)).user == "ann"
    with pytest.raises(Unavailable, match="Keystone validation of a token"):
        known.of(request(keystone.give("bob", "admin")))
    with pytest.raises(Unavailable):
        known.of(request(x_service_token=keystone.give("drydock", "service")))

    keystone.trouble = simulated_keystone.Trouble()
    assert known.of(request(keystone.give("bob", "admin"))).user == "bob"


def test_a_keystone_that_was_never_there_is_told_from_a_token_that_is_not_good(keystone: Keystone) -> None:
    keystone.trouble = simulated_keystone.Trouble(hang_up=True)
    with pytest.raises(Unavailable):
        identities(keystone).of(request("anything"))


@pytest.mark.parametrize("us", [{"password": "wrong"}, {"region": "nowhere"}])
def test_when_keystone_does_not_know_us_nobody_can_tell_who_a_caller_is(keystone: Keystone, us: dict[str, str]) -> None:
    with pytest.raises(Unavailable) as caught:
        identities(keystone, us=us).of(request(keystone.give("ann", "admin")))

    assert PASSWORD not in str(caught.value)


def test_an_answer_that_is_no_token_lets_nobody_in(keystone: Keystone) -> None:
    token = keystone.give("ann", "admin")
    del keystone.tokens[token]["user"]

    with pytest.raises((Unauthenticated, Unavailable)):
        identities(keystone).of(request(token))


def test_keystones_cache_has_a_bound_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_KNOWN", 2)
    known = KnownTokens()
    for key in "abc":
        known.set(key, key.encode(), time=60)
    assert [known.get(key) for key in "abc"] == [None, b"b", b"c"]


def test_keystones_cache_forgets_in_time() -> None:
    moments = iter([10.0, 69.9, 70.0])
    known = KnownTokens(lambda: next(moments))
    known.set("a", b"1", time=60)
    assert (known.get("a"), known.get("a")) == (b"1", None)


def test_the_noise_of_the_middleware_is_not_heard(keystone: Keystone, caplog: pytest.LogCaptureFixture) -> None:
    known = identities(keystone)
    known.of(request(keystone.give("ann", "admin")))
    with pytest.raises(Unauthenticated):
        known.of(request("nonsense"))
    assert caplog.records == []


def test_a_connection_that_keystone_has_closed_meanwhile_is_no_trouble(keystone: Keystone) -> None:
    known = identities(keystone, seconds=0)
    known.of(request(keystone.give("ann", "admin")))
    keystone.close_all()

    assert known.of(request(keystone.give("bob", "admin"))).user == "bob"
