"""Callers whose tokens a Keystone on the wire validates: known, unknown, in the name of others, remembered."""

import contextlib
import io
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.keystone import identities as adapter
from shipyard_api.adapters.keystone.circuit_breaker import PAUSE_SECONDS
from shipyard_api.adapters.keystone.identities import KeystoneIdentities, TokenCache
from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.ports.errors import Busy, PeerError, Unavailable
from tests import simulated_keystone
from tests.simulated_keystone import ACCOUNT, PASSWORD, Keystone, id_of
from tests.waiting import until

pytest.importorskip("webob", reason="the extra keystone is not installed")


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    with simulated_keystone.running() as running:
        yield running


def identities(keystone: Keystone, *, seconds: float = 60, **more: Any) -> KeystoneIdentities:
    options = {"user": ACCOUNT, "password": PASSWORD, "project": "service", **more.pop("us", {})}
    told: dict[str, Any] = {
        "uri": "http://keystone.example/v3", "service_roles": ["service"], "answer_seconds": 2.0, "at_once": 6, **more
    }  # fmt: skip
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
    known = identities(keystone)
    assert known.challenge == 'Keystone uri="http://keystone.example/v3"'
    sent = request(keystone.give("Żółć", "admin", "member", domain="Sites", is_admin_project=False))
    before = dict(sent)

    found = known.of(sent)

    assert (sent, sent["wsgi.input"].read()) == (before, b"body")
    assert (found.key, found.user, found.user_id) == (id_of("Żółć"), "Żółć", id_of("Żółć"))
    assert found.roles == {"admin", "member"}
    assert (found.user_domain_id, found.project_domain_id) == ("default", id_of("Sites"))
    assert found.project_id == id_of("Sites", "site")
    assert not found.is_admin_project
    assert known.of(request(keystone.give("ann", is_admin_project=True))).is_admin_project


def test_without_a_token_keystone_is_not_asked(keystone: Keystone) -> None:
    """Nor about what no header can carry, which may come as a password, in base64."""
    known = identities(keystone)
    unheard = map(request, (None, "", "ł", "two\nlines", "a\tb", "\udcff", "é"))
    for sent in (*unheard, request(x_storage_token=keystone.give("ann", "admin"))):
        with pytest.raises(Unauthenticated):
            known.of(sent)
    assert keystone.asked == []


def test_a_service_that_acts_for_a_user_acts_as_itself(keystone: Keystone) -> None:
    user, service = keystone.give("ann", "viewer"), keystone.give("drydock", "service", "peer", project="service")

    found = identities(keystone).of(request(user, x_service_token=service))

    assert (found.user, found.key, found.roles) == ("drydock", id_of("drydock"), {"service", "peer"})
    assert found.project_id == id_of("Default", "service")
    assert identities(keystone).of(request(x_service_token=service)) == found
    assert identities(keystone).of(request("of a user, and long over", x_service_token=service)) == found


def test_only_the_roles_of_services_make_a_token_one_of_a_service(keystone: Keystone) -> None:
    known, user = identities(keystone), keystone.give("ann", "admin")
    for roles in (["admin"], []):
        with pytest.raises(Unauthenticated):
            known.of(request(user, x_service_token=keystone.give("eve", *roles)))
    machine = keystone.give("drydock", "machine")
    assert (
        identities(keystone, service_roles=["robot", "machine"]).of(request(x_service_token=machine)).user == "drydock"
    )


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


def test_a_known_token_is_asked_about_again_only_when_its_time_is_over(keystone: Keystone) -> None:
    known, token = identities(keystone), keystone.give("ann", "admin")
    first = known.of(request(token))
    asked = len(keystone.asked)
    assert known.of(request(token)) == first
    assert len(keystone.asked) == asked

    known, before = identities(keystone, seconds=0), keystone.validations()
    for _ in range(2):
        known.of(request(token))
    assert keystone.validations() == before + 2
    del keystone.tokens[token]
    with pytest.raises(Unauthenticated):
        known.of(request(token))


def test_without_keystone_callers_who_are_known_go_on_and_nobody_knows_about_others(keystone: Keystone) -> None:
    keystone.trouble = simulated_keystone.Trouble(hang_up=True)
    with pytest.raises(Unavailable):  # it was never there
        identities(keystone).of(request("anything"))
    keystone.trouble = simulated_keystone.Trouble()
    known, token = identities(keystone), keystone.give("ann", "admin")
    known.of(request(token))
    for trouble in ({"hang_up": True}, {"status": 503}, {"status": 500}, {"status": 403}):
        keystone.trouble = simulated_keystone.Trouble(**trouble)
        assert known.of(request(token)).user == "ann"
        with pytest.raises(Unavailable, match="Keystone token validation"):
            known.of(request(keystone.give("bob", "admin")))
        with pytest.raises(Unavailable):
            known.of(request(x_service_token=keystone.give("drydock", "service")))
        keystone.trouble = simulated_keystone.Trouble()
        assert known.of(request(keystone.give("bob", "admin"))).user == "bob"


def test_an_address_without_a_version_in_the_catalog_is_good_enough(keystone: Keystone) -> None:
    keystone.in_catalog = keystone.url.removesuffix("/v3")

    assert identities(keystone).of(request(keystone.give("ann", "admin"))).user == "ann"
    assert ("GET", "/") in keystone.asked


@pytest.mark.parametrize("us", [{"password": "wrong"}, {"project": "nothing"}, {"region": "nowhere"}])
def test_when_keystone_does_not_know_us_nobody_can_tell_who_a_caller_is(keystone: Keystone, us: dict[str, str]) -> None:
    with pytest.raises(Unavailable) as caught:
        identities(keystone, us=us).of(request(keystone.give("ann", "admin")))

    assert PASSWORD not in str(caught.value)


def test_an_answer_that_is_no_token_lets_nobody_in(keystone: Keystone) -> None:
    token = keystone.give("ann", "admin")
    del keystone.tokens[token]["user"]

    with pytest.raises((Unauthenticated, Unavailable)):
        identities(keystone).of(request(token))


def test_a_token_that_keystone_does_not_know_is_not_asked_about_again_for_a_moment(
    keystone: Keystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = identities(keystone)
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            known.of(request("nonsense"))
    assert keystone.validations() == 1

    monkeypatch.setattr(known._wrong, "_now", lambda: time.monotonic() + adapter.WRONG_SECONDS)
    with pytest.raises(Unauthenticated):
        known.of(request("nonsense"))
    assert keystone.validations() == 2


def test_tokens_that_are_none_push_out_none_that_is_good(keystone: Keystone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_KNOWN", 2)
    known, token = identities(keystone), keystone.give("ann", "admin")
    known.of(request(token))
    for number in range(4):
        with pytest.raises(Unauthenticated):
            known.of(request(f"nonsense-{number}"))
    asked = keystone.validations()

    known.of(request(token))

    assert keystone.validations() == asked
    assert len(known._wrong._kept) == 2


def test_what_is_remembered_has_a_bound_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_KNOWN", 2)
    known: TokenCache[str] = TokenCache()
    for key in (b"a", b"b", b"c"):
        known.keep(key, key.decode(), 60)
    assert [known.get(key) for key in (b"a", b"b", b"c")] == [None, "b", "c"]


def test_what_is_remembered_is_forgotten_in_time() -> None:
    moments = iter([10.0, 69.9, 70.0])
    known: TokenCache[str] = TokenCache(lambda: next(moments))
    known.keep(b"a", "1", 60)
    assert (known.get(b"a"), known.get(b"a")) == ("1", None)


LOGIN, VALIDATION = ("POST", "/v3/auth/tokens"), ("GET", "/v3/auth/tokens")


def user_or_error(known: KeystoneIdentities, token: str) -> str:
    """Return the user whom a caller is taken for, or the name of an error."""
    try:
        return known.of(request(token)).user
    except (Unauthenticated, PeerError) as error:
        return type(error).__name__


def together(known: KeystoneIdentities, tokens: list[str]) -> list[str]:
    """Return what becomes of callers who come at once, and all end."""
    with ThreadPoolExecutor(len(tokens)) as threads:
        return list(threads.map(lambda token: user_or_error(known, token), tokens))


@pytest.mark.parametrize("begun", ["never reached", "reached before", "our own token at its end"])
def test_callers_who_come_together_wait_for_a_silent_keystone_side_by_side(keystone: Keystone, begun: str) -> None:
    known = identities(keystone, answer_seconds=2.0)
    if begun == "our own token at its end":
        keystone.lifetime = 60.0  # so short that the library renews it at every question
    if begun != "never reached":
        known.of(request(keystone.give("ann", "admin")))
    tokens = [keystone.give("bob", "admin") for _ in range(6)]
    asked = len(keystone.asked)
    with keystone.silent():
        assert together(known, tokens) == ["Unavailable"] * 6
    # One after another, the first would have told the rest not to ask.
    assert keystone.asked[asked:] == ([VALIDATION] * 6 if begun == "reached before" else [LOGIN])


def test_a_keystone_that_was_silent_is_left_alone_for_a_while_and_then_asked_again(
    keystone: Keystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = identities(keystone, answer_seconds=1.0)
    ann, bob = keystone.give("ann", "admin"), keystone.give("bob", "admin")
    known.of(request(ann))
    with keystone.silent():
        with pytest.raises(Unavailable):
            known.of(request(bob))
        asked = len(keystone.asked)
        assert together(known, [bob, "nonsense", ann] * 10) == ["Unavailable", "Unavailable", "ann"] * 10
        assert len(keystone.asked) == asked
    with pytest.raises(Unavailable, match="did not answer just now"):
        known.of(request(bob))

    monkeypatch.setattr(known._breaker, "_now", lambda: time.monotonic() + PAUSE_SECONDS)

    assert known.of(request(bob)).user == "bob"
    assert together(known, [keystone.give("eve", "admin") for _ in range(3)]) == ["eve"] * 3


def test_callers_who_are_known_are_answered_while_all_who_may_wait_do(keystone: Keystone) -> None:
    known, token = identities(keystone, answer_seconds=30.0, at_once=3), keystone.give("ann", "admin")
    known.of(request(token))
    with ThreadPoolExecutor(3) as strangers, keystone.silent():
        asked = len(keystone.asked)
        waiting = [strangers.submit(known.of, request(f"k-{number}")) for number in range(3)]
        while len(keystone.asked) < asked + 3:
            time.sleep(0.01)
        assert known.of(request(token)).user == "ann"
        with pytest.raises(Busy) as caught:
            known.of(request("k-4"))
        assert caught.value.retry_after == 1
        assert not any(one.done() for one in waiting)
    assert all(isinstance(one.exception(), Unavailable) for one in waiting)


def test_strangers_who_never_rest_do_not_keep_out_who_has_a_token_and_comes_again(keystone: Keystone) -> None:
    known, token = identities(keystone, at_once=3), keystone.give("ann", "admin")
    keystone.trouble = simulated_keystone.Trouble(delay=0.02)
    going = threading.Event()

    def stranger() -> None:
        while not going.is_set():
            with contextlib.suppress(Unauthenticated, Busy):
                known.of(request(uuid.uuid4().hex))
            time.sleep(0.001)

    with ThreadPoolExecutor(6) as threads:
        try:
            for _ in range(6):
                threads.submit(stranger)
            user = until(lambda: known.of(request(token)).user, every=0, but=Busy)
        finally:
            going.set()
    assert user == "ann"


def test_a_connection_that_keystone_has_closed_meanwhile_is_no_trouble_and_nothing_is_logged(
    keystone: Keystone, caplog: pytest.LogCaptureFixture
) -> None:
    known = identities(keystone, seconds=0)
    known.of(request(keystone.give("ann", "admin")))
    keystone.close_all()
    assert known.of(request(keystone.give("bob", "admin"))).user == "bob"
    with pytest.raises(Unauthenticated):
        known.of(request("nonsense"))
    assert caplog.records == []
