"""The global options of the command line, as values."""

import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are to a Keystone; names as in the variables ``OS_*``. ``token_as_is``: it is sent to Shipyard unchanged,
    as one from the environment is; one from the command line is exchanged for a new one (contract: shipyard-cli, 1.2).
    """

    auth_url: str | None = None
    username: str | None = None
    password: str | None = None
    user_domain_name: str = "default"
    project_name: str | None = None
    project_domain_name: str = "default"
    domain_name: str | None = None
    token: str | None = None
    token_as_is: bool = False

    def __repr__(self) -> str:
        return f"Identity(auth_url={self.auth_url!r}, username={self.username!r})"  # never a secret


@dataclass(frozen=True, slots=True)
class Settings:
    """What every command needs to reach a server and to print its answer. ``form``: format, raw or cli."""

    url: str | None = None
    token: str | None = None
    context_marker: str | None = None
    verbosity: int = 1
    form: str = "cli"
    debug: bool = False
    identity: Identity = field(default_factory=Identity)

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, form={self.form!r})"  # never the token


def trusted() -> str | bool:
    """Return where the certificates to trust are: a file, as for requests, or True for those of the system."""
    return os.environ.get("REQUESTS_CA_BUNDLE") or True
