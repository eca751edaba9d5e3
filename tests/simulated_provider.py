"""An OpenID provider on loopback as far as tokens go: its configuration, its keys, and what it signs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests import peer
from tests.peer import Answer

AUDIENCE = "shipyard"
# When its tokens are issued. Its clock stands: a machine that pauses for ten seconds expires no token.
MOMENT = 1_800_000_000


class Provider:
    """Signs with the newest of its keys, which ``rotate`` replaces. Needs joserfc."""

    def __init__(self, served: peer.Peer) -> None:
        self.peer = served
        self.issuer = f"http://127.0.0.1:{served.server_port}{peer.API}"
        self.keys: list[Any] = []
        served.on(
            "GET /.well-known/openid-configuration",
            Answer(200, {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks?all=1"}),
        )
        self.rotate("first")

    def rotate(self, kid: str, kind: str = "RSA", **further: Any) -> Any:
        """Replace the keys by a new one."""
        from joserfc.jwk import ECKey, RSAKey

        made = RSAKey.generate_key(2048) if kind == "RSA" else ECKey.generate_key("P-256")
        self.serve({"key": made, "kid": kid, "use": "sig", **further})
        return made

    def serve(self, *keys: Mapping[str, Any]) -> None:
        """Serve these keys, each with its members."""
        self.keys = [one["key"] for one in keys]
        shown = [
            {**one["key"].as_dict(private=False), **{name: value for name, value in one.items() if name != "key"}}
            for one in keys
        ]
        self.peer.on("GET /jwks", Answer(200, {"keys": shown}))

    @property
    def reads(self) -> int:
        """How often the keys were read."""
        return len(self.peer.asked("GET /jwks"))

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return the claims of a good token, with these changes; None leaves a claim out."""
        good = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "8f3a",
            "iat": MOMENT,
            "exp": MOMENT + 300,
            "preferred_username": "ann",
            "groups": ["site-admins"],
        }
        return {name: value for name, value in {**good, **changed}.items() if value is not None}

    def token(self, header: Mapping[str, Any] | None = None, key: Any = None, **changed: Any) -> str:
        """Return a token; ``header`` replaces members of the good one, None leaves one out."""
        from joserfc import jwt

        head = {"alg": "RS256", "kid": "first", **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        algorithms = [str(head["alg"])]
        return jwt.encode(head, self.claims(**changed), key or self.keys[0], algorithms=algorithms, default_type=None)


@contextmanager
def running() -> Iterator[Provider]:
    """Run one in a thread of this process while the block lasts."""
    with peer.running() as served:
        yield Provider(served)
