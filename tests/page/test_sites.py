"""The page of all sites: what it shows of each, and which token it sends where."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Browser, Request, expect

from tests.acceptance.test_many_sites import design
from tests.site_stand import Installation, Site

if TYPE_CHECKING:
    from tests.databases import Databases


def test_the_page_shows_every_site_and_sends_each_token_to_its_own_site_only(
    tmp_path: Path, postgres: Databases, browser: Browser
) -> None:
    with ExitStack() as stack:
        installation = stack.enter_context(Installation(tmp_path))
        sites = {}
        for name in ("berlin", "oslo", "rome"):
            (tmp_path / name).mkdir()
            url = stack.enter_context(postgres.migrated())
            sites[name] = stack.enter_context(Site(tmp_path / name, url, name=name, installation=installation.url))
            sites[name].write(installation.sites)
        (installation.sites / "riga.conf").write_text("[nothing]\n")
        installation.start()
        installation.wait_for("/health")
        sites["berlin"].commit(design("berlin"))
        sites["berlin"].wait(sites["berlin"].deploy_site())
        sent: list[tuple[str, str]] = []

        def note(request: Request) -> None:
            if token := request.headers.get("x-auth-token"):
                sent.append((request.url.split("/sites/")[1].partition("/")[0], token))

        page = browser.new_page(viewport={"width": 1280, "height": 720})
        stack.callback(page.close)
        faults: list[str] = []
        page.on("request", note)
        page.on("pageerror", lambda error: faults.append(str(error)))
        tokens = {name: sites[name].token for name in ("berlin", "oslo")}
        page.goto(f"{installation.url}/#" + "&".join(f"{name}={token}" for name, token in tokens.items()))

        expect(page.get_by_role("row", name="berlin")).to_contain_text("3 deployed")
        expect(page.get_by_role("row", name="oslo")).to_contain_text("none yet")
        expect(page.get_by_role("row", name="riga")).to_contain_text("its settings are invalid")
        expect(page.get_by_role("row", name="rome")).to_contain_text("sign in")
        assert [row.split()[0] for row in page.locator("tbody tr").all_inner_texts()] == [
            "riga",
            "berlin",
            "oslo",
            "rome",
        ]
        assert "#" not in page.url
        if where := os.environ.get("SHIPYARD_SCREENSHOTS"):
            page.screenshot(path=Path(where) / "sites.png")
        page.get_by_role("link", name="berlin").click()
        expect(page.get_by_text("deploy_site").first).to_be_visible()
        if where:
            page.screenshot(path=Path(where) / "site.png")
        page.get_by_role("link", name="All sites").click()
        page.get_by_role("link", name="rome").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert set(sent) == set(tokens.items())
        assert not faults
