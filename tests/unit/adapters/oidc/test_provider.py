"""Tokens of an OpenID provider: the good ones are let in, every forged one is not."""

import base64
import hmac
import json
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("joserfc", reason="the extra oidc is not installed")

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from shipyard_api.adapters.oidc import OidcOptions
from shipyard_api.adapters.oidc.provider import Provider
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.errors import Unavailable
from shipyard_api.settings.types import Address
from tests import simulated_provider
from tests.peer import Answer
from tests.simulated_provider import AUDIENCE, MOMENT
from tests.unit.tables import table


class Clock:
    """Both clocks of a provider."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def wall(self) -> float:
        return MOMENT + self.ahead

    def monotonic(self) -> float:
        return 1000.0 + self.ahead


@pytest.fixture(scope="module")
def served() -> Iterator[simulated_provider.Provider]:
    with simulated_provider.running() as running:
        yield running


@pytest.fixture
def signer(served: simulated_provider.Provider) -> simulated_provider.Provider:
    served.serve({"key": FIRST, "kid": "first", "use": "sig"})
    served.peer.requests.clear()
    return served


def judge(signer: simulated_provider.Provider, clock: Clock | None = None, **options: object) -> Provider:
    clock = clock or Clock()
    made = OidcOptions(issuer=Address(signer.issuer), audience=AUDIENCE, **options)  # type: ignore[arg-type]
    return Provider(made, clock.wall, clock.monotonic)


def test_a_good_token_has_its_claims(signer: simulated_provider.Provider) -> None:
    provider = judge(signer)

    assert provider.claims(signer.token(), [AUDIENCE])["sub"] == "8f3a"
    assert provider.claims(signer.token(aud=["other", AUDIENCE]), [AUDIENCE])["sub"] == "8f3a"
    assert provider.claims(signer.token({"typ": "at+jwt"}), [AUDIENCE])["sub"] == "8f3a"
    # Without an id, where there is only one key.
    assert provider.claims(signer.token({"kid": None}), [AUDIENCE])["sub"] == "8f3a"
    assert signer.reads == 1


Forger = Callable[[simulated_provider.Provider], str]


def _by_hand(head: dict[str, object], claims: dict[str, object], sign: Callable[[bytes], bytes]) -> str:
    """Write what joserfc refuses to write."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, claims)]
    signature = base64.urlsafe_b64encode(sign(b".".join(parts))).rstrip(b"=")
    return b".".join([*parts, signature]).decode()


def _unsigned(signer: simulated_provider.Provider, algorithm: str = "none") -> str:
    return _by_hand({"alg": algorithm, "kid": "first"}, signer.claims(), lambda _: b"")


def _with_public_key(signer: simulated_provider.Provider, *, as_pem: bool) -> str:
    """Sign with HMAC, and the public key as its secret."""
    public = signer.keys[0]
    secret = public.as_pem(private=False) if as_pem else json.dumps(public.as_dict(private=False)).encode()
    head: dict[str, object] = {"alg": "HS256", "kid": "first"}
    return _by_hand(head, signer.claims(), lambda signed: hmac.digest(secret, signed, "sha256"))


def _extended(signer: simulated_provider.Provider) -> str:
    head: dict[str, object] = {
        "alg": "RS256",
        "kid": "first",
        "crit": ["http://example.org/x"],
        "http://example.org/x": 1,
    }
    private = signer.keys[0].private_key
    return _by_hand(head, signer.claims(), lambda signed: bytes(private.sign(signed, PKCS1v15(), SHA256())))


def _altered(signer: simulated_provider.Provider) -> str:
    head, _, signature = signer.token().split(".")
    body = base64.urlsafe_b64encode(json.dumps(signer.claims(groups=["site-admins", "all"])).encode()).rstrip(b"=")
    return f"{head}.{body.decode()}.{signature}"


def _own_key_inside(signer: simulated_provider.Provider) -> str:
    key = RSAKey.generate_key(2048)
    return signer.token({"jwk": key.as_dict(private=False)}, key)


FIRST, OTHER = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
FORGED: dict[str, Forger] = {
    "no algorithm": _unsigned,
    "no algorithm, in capitals": lambda signer: _unsigned(signer, "NONE"),
    "no signature": lambda signer: signer.token().rpartition(".")[0] + ".",
    "another key, with the id of the right one": lambda signer: signer.token(key=OTHER),
    "another key, with an id of its own": lambda signer: signer.token({"kid": "mine"}, OTHER),
    "another key, without an id": lambda signer: signer.token({"kid": None}, OTHER),
    "its own key in the header": _own_key_inside,
    "an address of its own keys": lambda signer: signer.token({"jku": "https://evil.example/jwks"}, OTHER),
    "an id that is a path": lambda signer: signer.token({"kid": "../../dev/null"}, OTHER),
    "the public key as a secret, PEM": lambda signer: _with_public_key(signer, as_pem=True),
    "the public key as a secret, JSON": lambda signer: _with_public_key(signer, as_pem=False),
    "a key of another type under the same id": lambda signer: signer.token(
        {"alg": "ES256"}, ECKey.generate_key("P-256")
    ),
    "other claims under the signature": _altered,
    "expired": lambda signer: signer.token(exp=MOMENT - 60),
    "without an end": lambda signer: signer.token(exp=None),
    "an end that is a text": lambda signer: signer.token(exp="never"),
    "not valid yet": lambda signer: signer.token(nbf=MOMENT + 120),
    "issued in the future": lambda signer: signer.token(iat=MOMENT + 120),
    "another audience": lambda signer: signer.token(aud="payroll"),
    "other audiences": lambda signer: signer.token(aud=["payroll", "shipyard-not"]),
    "no audience": lambda signer: signer.token(aud=None),
    "another issuer": lambda signer: signer.token(iss="https://evil.example"),
    "an issuer that begins alike": lambda signer: signer.token(iss=f"{signer.issuer}/"),
    "no issuer": lambda signer: signer.token(iss=None),
    "no subject": lambda signer: signer.token(sub=None),
    "a subject that is no text": lambda signer: signer.token(sub=17),
    "a logout token": lambda signer: signer.token({"typ": "logout+jwt"}),
    "an extension that must be known": _extended,
    "no JSON": lambda _: "eyJ.eyJ.eyJ",
    "no text": lambda _: "é.é.é",
    "dots": lambda _: "..",
}


@table("forge", FORGED)
def test_a_forged_token_is_refused(forge: Forger, signer: simulated_provider.Provider) -> None:
    provider = judge(signer)

    forged = forge(signer)
    with pytest.raises(Unauthenticated):
        provider.claims(forged, [AUDIENCE])


def test_a_shared_secret_or_a_key_for_something_else_among_the_keys_lets_nobody_in(
    signer: simulated_provider.Provider,
) -> None:
    secret, other = OctKey.generate_key(256), RSAKey.generate_key(2048)
    signer.peer.on("GET /jwks", Answer(200, {"keys": [{**secret.as_dict(), "kid": "first"}, "none", None]}))
    provider = judge(signer)
    payload = json.dumps(signer.claims()).encode()
    forged = jws.serialize_compact({"alg": "HS256", "kid": "first"}, payload, secret, algorithms=["HS256"])
    with pytest.raises(Unauthenticated):
        provider.claims(forged, [AUDIENCE])

    signer.serve({"key": other, "kid": "first", "use": "enc"})
    with pytest.raises(Unauthenticated):
        judge(signer).claims(signer.token(), [AUDIENCE])
    signer.serve({"key": other, "kid": "first", "alg": "PS256"})
    with pytest.raises(Unauthenticated):
        judge(signer).claims(signer.token(), [AUDIENCE])


def test_two_keys_of_one_id_or_none_are_a_guess_that_is_not_made(signer: simulated_provider.Provider) -> None:
    signer.serve(*({"key": RSAKey.generate_key(2048), "kid": kid} for kid in ("first", "second")))
    provider = judge(signer)

    assert provider.claims(signer.token(), [AUDIENCE])
    with pytest.raises(Unauthenticated):
        provider.claims(signer.token({"kid": None}), [AUDIENCE])


def test_a_clock_may_be_off_by_the_skew_and_no_more(signer: simulated_provider.Provider) -> None:
    clock = Clock()
    provider, token = judge(signer, clock, skew_seconds=30.0), signer.token()

    for ahead, is_good in ((329.0, True), (335.0, False), (-25.0, True), (-60.0, False)):
        clock.ahead = ahead
        if is_good:
            assert provider.claims(token, [AUDIENCE])
        else:
            with pytest.raises(Unauthenticated):
                provider.claims(token, [AUDIENCE])


def test_new_keys_are_read_when_they_are_needed_and_strangers_cause_few_reads(
    signer: simulated_provider.Provider,
) -> None:
    clock = Clock()
    provider, old = judge(signer, clock), signer.token()
    provider.claims(old, [AUDIENCE])
    signer.rotate("second", "EC")
    new = signer.token({"alg": "ES256", "kid": "second"})
    clock.ahead = 6.0
    assert provider.claims(new, [AUDIENCE])
    assert signer.reads == 2
    with pytest.raises(Unauthenticated):
        provider.claims(old, [AUDIENCE])

    for number in range(50):
        with pytest.raises(Unauthenticated):
            provider.claims(signer.token({"alg": "ES256", "kid": f"k{number}"}), [AUDIENCE])
    assert signer.reads == 2
    clock.ahead = 12.0
    with pytest.raises(Unauthenticated):
        provider.claims(signer.token({"alg": "ES256", "kid": "k51"}), [AUDIENCE])
    assert signer.reads == 3


def test_known_keys_are_used_while_the_provider_does_not_answer_and_no_longer_than_an_hour(
    signer: simulated_provider.Provider,
) -> None:
    clock = Clock()
    provider = judge(signer, clock, keys_seconds=300.0)
    provider.claims(signer.token(), [AUDIENCE])
    signer.peer.on("GET /jwks", Answer(500))

    clock.ahead = 600.0
    late = {"iat": int(clock.wall()), "exp": int(clock.wall()) + 60}
    assert provider.claims(signer.token(**late), [AUDIENCE])
    asked = signer.reads
    assert provider.claims(signer.token(**late), [AUDIENCE])
    assert signer.reads == asked
    with pytest.raises(Unavailable):
        provider.claims(signer.token({"kid": "new"}, **late), [AUDIENCE])
    clock.ahead = 4000.0
    with pytest.raises(Unavailable):
        provider.claims(signer.token(), [AUDIENCE])


def test_a_provider_of_another_name_is_not_believed(signer: simulated_provider.Provider) -> None:
    made = OidcOptions(issuer=Address(signer.issuer.replace("127.0.0.1", "localhost")), audience=AUDIENCE)

    with pytest.raises(Unavailable, match="its issuer is"):
        Provider(made).claims(signer.token(), [AUDIENCE])
