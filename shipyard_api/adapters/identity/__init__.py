"""Who a caller is, established by ourselves: by our own tokens, or by where the request comes from."""

from dataclasses import dataclass
from enum import Enum

from shipyard_api.settings.types import Address, Seconds


class IdentityKind(Enum):
    """The supported ways to authenticate callers."""

    TOKEN = "token"  # noqa: S105  # a word of the settings
    KEYSTONE = "keystone"
    OIDC = "oidc"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """How callers authenticate, docs/howto/identity.md.

    ``kind``: token (API tokens made by Shipyard), keystone (tokens of OpenStack's Keystone; see the section keystone),
    oidc (API tokens, and people of an OpenID provider; see the section oidc), or none (every caller on this machine is
    an administrator, for trial setups).
    ``token_cache_seconds``: how long a valid API token stays cached, even if it is revoked meanwhile; 0: no cache.
    ``keystone_cache_seconds``: the same for Keystone's tokens; cached callers keep working during a Keystone outage
    until the cache expires.
    ``keystone_answer_seconds``: timeout of each answer of Keystone about a token, rounded up to whole seconds.
    ``keystone_at_once``: how many requests of one process may wait for Keystone at the same time; others get 503 and
    Retry-After. Fewer than the threads of a process (SHIPYARD_API_THREADS), which cached callers need, too.
    ``www_authenticate_uri``: the address in WWW-Authenticate at which callers get tokens; empty: [keystone] auth_url.
    ``service_token_roles``: roles, separated by commas; a caller whose X-Service-Token has one of them acts as itself,
    not as the user of its X-Auth-Token.
    ``project``: the name of the Keystone project whose tokens are accepted; empty: an administrator of any project is
    an administrator of Shipyard.
    ``project_domain``: the domain of that project.
    """

    kind: IdentityKind = IdentityKind.TOKEN
    token_cache_seconds: Seconds = Seconds(2.0)  # noqa: RUF009  # immutable
    keystone_cache_seconds: Seconds = Seconds(60.0)  # noqa: RUF009  # immutable
    keystone_answer_seconds: float = 5.0
    keystone_at_once: int = 6
    www_authenticate_uri: Address = Address("")  # noqa: RUF009  # immutable
    service_token_roles: str = "service"  # noqa: S105  # the name of a role
    project: str = ""
    project_domain: str = "Default"
