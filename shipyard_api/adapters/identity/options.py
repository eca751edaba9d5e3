"""How callers are known."""

from dataclasses import dataclass
from enum import Enum

from shipyard_api.setting_types import Seconds


class IdentityKind(Enum):
    """What establishes who a caller is."""

    TOKEN = "token"  # noqa: S105  # a word of the settings
    KEYSTONE = "keystone"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class IdentityOptions:
    """How callers are known, docs/howto/identity.md.

    ``kind``: token (tokens that Shipyard makes itself), keystone (tokens of OpenStack's Keystone; the section keystone
    says where it is and who we are there), or none (everybody on this machine is an administrator, for trying out).
    ``token_cache_seconds``: for how long one of our own tokens is taken to be good after it was looked up, even if it
    is revoked meanwhile; 0: it is looked up at every request.
    ``keystone_cache_seconds``: the same for Keystone's tokens; also for how long callers who are known already are
    served while Keystone is out of reach.
    ``keystone_answer_seconds``: how long Keystone may take for each answer about a token, rounded up to whole seconds.
    ``keystone_at_once``: how many callers of one process may wait for Keystone at the same time; others get 503 and
    Retry-After. Fewer than the threads of a process (SHIPYARD_API_THREADS): callers who are known need one, too.
    ``www_authenticate_uri``: where callers get tokens, as they are told; empty: [keystone] auth_url.
    ``service_token_roles``: roles with commas between them; who shows a token with one of these as X-Service-Token acts
    as itself, whatever user it acts for.
    ``project``: the name of the Keystone project whose tokens are good here; empty: an administrator of any project is
    an administrator here.
    ``project_domain``: the name of the domain that this project belongs to.
    """

    kind: IdentityKind = IdentityKind.TOKEN
    token_cache_seconds: Seconds = Seconds(2.0)  # noqa: RUF009  # immutable
    keystone_cache_seconds: Seconds = Seconds(60.0)  # noqa: RUF009  # immutable
    keystone_answer_seconds: float = 5.0
    keystone_at_once: int = 6
    www_authenticate_uri: str = ""
    service_token_roles: str = "service"  # noqa: S105  # the name of a role
    project: str = ""
    project_domain: str = "Default"
