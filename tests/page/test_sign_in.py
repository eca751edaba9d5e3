"""Signing in with a real OpenID provider in a real browser: a person starts an action, and signs out for good.

Runs where ``OIDC_PROVIDER`` names oidc-provider of npm (``.ci/real_oidc.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.programs import stack_of_its_own
from tests.openid import PROVIDER, provider
from tests.page.conftest import PATIENCE, SIMULATORS
from tests.sshd import free_port

pytestmark = pytest.mark.skipif(not PROVIDER, reason="OIDC_PROVIDER names no real OpenID provider")
CALLER = "api/v1.0/caller"


@pytest.fixture
def site() -> Iterator[str]:
    """A stack with a committed design before the provider; gives its address."""
    port, serving = free_port("127.0.0.1"), free_port("127.0.0.1")
    page = f"http://127.0.0.1:{serving}"
    settings = {
        "SHIPYARD_IDENTITY_KIND": "oidc",
        "SHIPYARD_OIDC_ISSUER": f"http://127.0.0.1:{port}",
        "SHIPYARD_OIDC_AUDIENCE": "shipyard",
        "SHIPYARD_OIDC_ROLES": "site-admins: admin",
        "SHIPYARD_OIDC_CLIENT_ID": "page",
        "SHIPYARD_OIDC_CLIENT_SECRET": "page-secret",
        "SHIPYARD_OIDC_PAGE_URL": page,
        "SHIPYARD_OIDC_SCOPES": "openid profile",
    }
    with provider(port, page), stack_of_its_own(["--port", str(serving)], settings) as (_, ready, _):
        headers = {"X-Auth-Token": ready["token"]}
        design = {"data": (SIMULATORS / "sites" / "five-groups.yaml").read_bytes()}
        yaml = {"Content-Type": "application/x-yaml"}
        for path, body in (("configdocs/design", design), ("commitconfigdocs", {})):
            sent = headers | (yaml if body else {})
            answer = requests.post(f"{page}/api/v1.0/{path}", headers=sent, timeout=PATIENCE / 1000, **body)
            assert answer.ok, answer.text
        yield page


def sign_in(page: Page, person: str) -> None:
    """Sign in at the provider, and agree to what the page asks of it."""
    page.get_by_role("button", name="Sign in with 127.0.0.1").click()
    page.get_by_placeholder("Enter any login").fill(person)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_in_starts_an_action_and_signs_out(browser: Browser, site: str) -> None:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda one: faults.append(one.text) if "Content Security Policy" in one.text else None)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{site}/")
    sign_in(page, "ann+site-admins")
    expect(page.locator(".who")).to_have_text("ann (oidc:ann+site-admins)")
    (flow,) = (parse_qs(urlsplit(url).query) for url in asked if "code_challenge=" in url)
    assert (flow["code_challenge_method"], flow["response_type"]) == (["S256"], ["code"])
    (cookie,) = (one for one in context.cookies(site) if one["name"] == "shipyard_session")
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert "shipyard_session" not in page.evaluate(
        "document.cookie + JSON.stringify({...sessionStorage, ...localStorage})"
    )

    page.get_by_role("button", name="New").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Show what it will touch").click()
    dialog.get_by_role("button", name="Start deploy_site").click()
    dialog.wait_for(state="detached")
    old = {"cookies": {"shipyard_session": cookie["value"]}, "timeout": PATIENCE / 1000}
    (action,) = requests.get(f"{site}/api/v1.0/actions", **old).json()
    assert (action["name"], action["user"]) == ("deploy_site", "ann (oidc:ann+site-admins)")

    page.reload()
    expect(page.locator(".who")).to_have_text("ann (oidc:ann+site-admins)")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    page.get_by_role("button", name="Sign in with 127.0.0.1").wait_for()
    assert [one for one in context.cookies(site) if one["name"] == "shipyard_session"] == []
    assert requests.get(f"{site}/{CALLER}", **old).status_code == 401
    # The provider has ended its own session, too: it asks for the name again.
    page.get_by_role("button", name="Sign in with 127.0.0.1").click()
    page.get_by_placeholder("Enter any login").wait_for()
    context.close()
    assert faults == []
