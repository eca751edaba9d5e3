"""The global options of the command line, as values."""

import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeystoneOptions:
    """The options ``--os-*``. ``token_as_is``: send the token to Shipyard unchanged, as one from the environment; a
    token from the command line is exchanged for a new one (contract: shipyard-cli, 1.2).
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
        return f"KeystoneOptions(auth_url={self.auth_url!r}, username={self.username!r})"  # never a secret


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """What every command needs to reach a server and to print its answer. ``form``: format, raw or cli."""

    url: str | None = None
    token: str | None = None
    context_marker: str | None = None
    verbosity: int = 1
    form: str = "cli"
    debug: bool = False
    keystone: KeystoneOptions = field(default_factory=KeystoneOptions)

    def __repr__(self) -> str:
        return f"GlobalOptions(url={self.url!r}, form={self.form!r})"  # never the token


def ca_bundle() -> str:
    """Return the file of trusted certificates that the environment names, empty if it names none."""
    return os.environ.get("REQUESTS_CA_BUNDLE", "")
