"""OpenID Connect: callers with tokens and sessions of an identity provider."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.settings.types import Address, Secret, authority_faults

_ROLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_LOOPBACK = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")


class RoleTable(str):
    """Rows ``group: role, role``, one a line or separated by semicolons. A group may contain colons, a role may not."""

    __slots__ = ()
    WANTED: ClassVar[str] = "a table of rows such as `site-admins: admin`, on lines of their own or separated by ;"

    def __new__(cls, written: str) -> Self:
        """Check a table; raises ValueError."""
        table = super().__new__(cls, written)
        for group, roles in table._rows():
            if not group or not roles or not all(map(_ROLE.fullmatch, roles)):
                raise ValueError(f"{group}: a row is a group and its roles")
        return table

    def roles(self, groups: Iterable[str]) -> frozenset[str]:
        """Return the roles of a member of these groups."""
        members = set(groups)
        return frozenset(role for group, roles in self._rows() if group in members for role in roles)

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        for row in filter(None, (part.strip() for part in re.split(r"[\n;]", self))):
            group, _, roles = row.rpartition(":")
            yield group.strip(), [role.strip() for role in roles.split(",")]


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """The identity provider, if [identity] kind is oidc; docs/howto/sign-in-with-oidc.md.

    ``issuer``: the provider's issuer, exactly as its tokens have it in ``iss``.
    ``audience``: what a token must have in ``aud``, one of these names, separated by commas.
    ``roles_claim``: the claim that lists the groups of a person; a path such as realm_access.roles for one inside
    another.
    ``roles``: which groups have which roles of Shipyard, a table with rows such as ``site-admins: admin``; a person
    in no row may do nothing.
    ``name_claim``: the claim with the name of a person, shown beside the subject; empty: the subject alone.
    ``client_id``: the client at the provider for the page; empty: the page takes API tokens only.
    ``client_secret``: its secret; empty: a public client.
    ``page_url``: the address of the page as browsers have it, such as https://shipyard.example.org; the provider must
    accept ``/oidc/callback`` below it.
    ``session_seconds``: how long a person stays signed in to the page.
    ``cli_client_id``: the public client at the provider for `shipyard login` (device code); empty: there is none.
    ``scopes``: the scopes that page and command line ask for.
    ``skew_seconds``: how far the provider's clock may be off.
    ``keys_seconds``: how old the provider's keys may be before they are read again.
    ``answer_seconds``: timeout of each answer of the provider.
    ``ca_file``: the certificate authorities (PEM) to trust; empty: the well-known ones.
    """

    issuer: Address = Address("")  # noqa: RUF009  # immutable
    audience: str = ""
    roles_claim: str = "groups"
    roles: RoleTable = RoleTable("")  # noqa: RUF009  # immutable
    name_claim: str = "preferred_username"
    client_id: str = ""
    client_secret: Secret = Secret("")  # noqa: RUF009  # immutable
    page_url: Address = Address("")  # noqa: RUF009  # immutable
    session_seconds: float = 3600.0
    cli_client_id: str = ""
    scopes: str = "openid profile"
    skew_seconds: float = 30.0
    keys_seconds: float = 300.0
    answer_seconds: float = 5.0
    ca_file: str = ""

    @property
    def audiences(self) -> list[str]:
        """Return the accepted audiences."""
        return [name.strip() for name in self.audience.split(",") if name.strip()]

    def faults(self) -> Iterator[str]:
        """Yield what is missing, and what would send tokens or cookies in clear text."""
        for name, value in (("issuer", self.issuer), ("audience", self.audiences), ("roles", self.roles.strip())):
            if not value:
                yield f"[oidc] {name} is not set, and [identity] kind is oidc"
        if self.client_id and not self.page_url:
            yield "[oidc] page_url is not set, and the page needs it to sign in with [oidc] client_id"
        for name, address in (("issuer", self.issuer), ("page_url", self.page_url)):
            if address.startswith("http://") and not _LOOPBACK.match(address):
                yield f"[oidc] {name}: {address} is not https"
        yield from authority_faults("[oidc] ca_file", self.ca_file)
