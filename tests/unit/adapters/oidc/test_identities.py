"""Persons of verified claims, and writes that a browser sends for other pages."""

from typing import Any

import pytest

pytest.importorskip("joserfc", reason="the extra oidc is not installed")

from shipyard_api.adapters.oidc import OidcOptions, RoleTable
from shipyard_api.adapters.oidc.identities import check_origin, identity_of, session_in
from shipyard_api.domain.error_kinds import Forbidden
from shipyard_api.settings.types import Address
from tests.unit.tables import every_row

TABLE = RoleTable("\nsite-admins: admin\nurn:x:ops : viewer, night-shift\n")


@every_row(
    {
        "a list": ("groups", {"groups": ["site-admins", "urn:x:ops", 7]}, {"admin", "viewer", "night-shift"}),
        "one word": ("groups", {"groups": "site-admins"}, {"admin"}),
        "words": ("scope", {"scope": "openid site-admins"}, {"admin"}),
        "a path": ("realm_access.roles", {"realm_access": {"roles": ["site-admins"]}}, {"admin"}),
        "a name with dots": ("https://x.org/groups", {"https://x.org/groups": ["site-admins"]}, {"admin"}),
        "no row": ("groups", {"groups": ["staff", "Site-Admins"]}, set()),
        "no claim": ("groups", {}, set()),
        "a path to nothing": ("a.b.c", {"a": {"b": "c"}}, set()),
        "no list": ("groups", {"groups": {"site-admins": True}}, set()),
    }
)
def test_groups_have_the_roles_of_the_table(claim: str, claims: Any, roles: set[str]) -> None:
    identity = identity_of(OidcOptions(roles_claim=claim, roles=TABLE), {"sub": "8f3a", **claims})

    assert identity.roles == roles


@every_row(
    {
        "a name": ({"preferred_username": "ann"}, "ann (oidc:8f3a)"),
        "no name": ({}, "(oidc:8f3a)"),
        "a name that imitates a subject": ({"preferred_username": "eve (oidc:1)"}, "eve (oidc:1) (oidc:8f3a)"),
        "a name that no terminal should see": ({"preferred_username": "a\x1b[2Jnn\n"}, "a[2Jnn (oidc:8f3a)"),
    }
)
def test_a_person_is_shown_with_the_subject(claims: Any, user: str) -> None:
    identity = identity_of(OidcOptions(roles=TABLE), {"sub": "8f3a", **claims})

    assert (identity.user, identity.key, identity.user_id) == (user, "oidc:8f3a", "8f3a")


@every_row(["", "a", "a:", ":b", "a: b c", "a: b; c"])
def test_a_table_that_is_none_is_refused(written: str) -> None:
    if written:
        with pytest.raises(ValueError, match="a row is"):
            RoleTable(written)
    assert RoleTable("a: b; c: d").roles(["c"]) == {"d"}


@every_row(
    {
        "the page": ("https://shipyard.example.org", "", True),
        "the page, as the browser says": ("", "same-origin", True),
        "another host": ("https://evil.example", "same-origin", False),
        "a host that begins alike": ("https://shipyard.example", "", False),
        "a host that goes on": ("https://shipyard.example.org.evil", "", False),
        "another scheme": ("http://shipyard.example.org", "", False),
        "a page without an origin": ("null", "", False),
        "the beginning of ours": ("https:", "", False),
        "a sister site": ("", "same-site", False),
        "no browser": ("", "", False),
    }
)
def test_a_write_with_a_cookie_is_the_pages_own(origin: str, site: str, is_own: bool) -> None:
    options = OidcOptions(page_url=Address("https://shipyard.example.org/sites/north"))

    try:
        check_origin(options, origin, site)
    except Forbidden:
        assert not is_own
    else:
        assert is_own


def test_a_session_is_found_among_cookies() -> None:
    assert session_in("a=b; shipyard_session=s; c=d") == "s"
    assert session_in("a=b") == session_in("") == session_in("\x00=;;=") == ""


@every_row(
    {
        "nothing": ({}, 3),
        "clear text": ({"issuer": "http://id.example.org", "audience": "a", "roles": "a: b"}, 1),
        "a page without an address": ({"issuer": "https://id", "audience": "a", "roles": "a: b", "client_id": "x"}, 1),
        "loopback": ({"issuer": "http://127.0.0.1:9", "audience": "a", "roles": "a: b"}, 0),
    }
)
def test_what_is_missing_is_said(options: dict[str, Any], faults: int) -> None:
    assert len(list(OidcOptions(**options).faults())) == faults
