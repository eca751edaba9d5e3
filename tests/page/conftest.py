"""The dashboard in a real browser, over a whole stack: the seed's three examples are played once for all tests.

Chromium is the system's own; axe-core is what `.ci/real_page.py` fetches into the build folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from playwright.sync_api import Browser, Page, expect, sync_playwright

import shipyard_simulators
from shipyard_api.cli.commands.demo_policy import with_parts
from shipyard_api.domain.node_sets import expand
from shipyard_api.programs import launch
from shipyard_api.wiring.settings import load
from tests.acceptance.programs import marked, reachable, up
from tests.conftest import ROOT

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SIMULATORS = Path(shipyard_simulators.__path__[0])
BUILD = ROOT / ".build" / "page"
PATIENCE = 180_000  # milliseconds, for a machine that is busy with other tests


@dataclass(frozen=True)
class Stack:
    """A stack that serves a site of five groups, and the action that deploys it; running at first.

    ``second``: the token of a second person, bob.
    """

    url: str
    token: str
    action: str
    second: str = ""

    def ask(self, method: str, path: str, *, base: str = "api/v1.0", **options: Any) -> Any:
        answer = requests.request(
            method, f"{self.url}/{base}/{path}", headers=self._headers(options), timeout=PATIENCE / 1000, **options
        )
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def _headers(self, options: dict[str, Any]) -> dict[str, str]:
        yaml = {"Content-Type": "application/x-yaml"} if "data" in options else {}
        return {"X-Auth-Token": self.token, **yaml}


@contextmanager
def playing(scenario: str, policy: Mapping[str, Any] | None = None) -> Iterator[Stack]:
    """Start a stack, load the design of the examples, and start deploy_site, as `shipyard demo` does.

    ``policy``: the rollout policy of the design.
    """
    _, environment = marked()
    environment["SHIPYARD_PROVISIONER_NODE_PAGE"] = "https://provisioner.example/nodes/{node}"
    with reachable() as directory:
        child, ready = up(directory, environment, ["--speed", "100", "--scenario", scenario])
        try:
            tokens = launch.tokens(load({"SHIPYARD_CONFIG": os.devnull, "DATABASE_URL": ready["database_url"]}))
            stack = Stack(ready["url"], ready["token"], "", tokens.create("bob", "admin")[1])
            design = (SIMULATORS / "sites" / "five-groups.yaml").read_bytes()
            if policy:
                design = with_parts(design, {"policy": policy}, datetime.now(UTC))
            stack.ask("POST", "configdocs/design", data=design, params={"buffermode": "replace"})
            stack.ask("POST", "commitconfigdocs")
            load_software(stack)
            yield replace(stack, action=stack.ask("POST", "actions", json={"name": "deploy_site"})["id"])
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(PATIENCE / 1000)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)


def load_software(stack: Stack) -> None:
    """Load the tasks and the roles of the site, which run at the end of deploy_site."""
    tasks, roles = (
        yaml.safe_load((SIMULATORS / "sites" / f"five-groups-{part}.yaml").read_text()) for part in ("tasks", "roles")
    )
    stack.ask("PUT", "releases/1/deployment_tasks", base="api/v1", json=tasks)
    for role in roles:
        stack.ask("POST", "releases/1/roles", base="api/v1", json={"name": role, "meta": {"tags": []}})
    assigned = [{"id": node, "roles": [role]} for role, nodes in roles.items() for node in expand([nodes])]
    stack.ask("POST", "clusters/1/assignment", base="api/v1", json=assigned)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("Chromium is not installed; set CHROMIUM to its path")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


Open = Callable[..., "Page"]


@contextmanager
def pages(browser: Browser, stack: Stack) -> Iterator[Open]:
    """Open addresses of the page, signed in with the fragment that `shipyard up` prints, unless told otherwise.

    An error of a script, and anything that the policy of the page forbids, fails the test.
    """
    faults: list[str] = []
    contexts = []

    def open_one(query: str = "", *, token: str | None = None, scheme: Any = "light") -> Page:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda one: faults.append(one.text) if "Content Security Policy" in one.text else None)
        token = stack.token if token is None else token
        page.goto(f"{stack.url}/{query}" + (f"#token={token}" if token else ""))
        return page

    yield open_one
    for context in contexts:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")  # an answer that a test changes may still be under way
        context.close()
    assert faults == []


def watch(page: Page, scenario: str, verdict: str) -> None:
    """Watch a running action until the page shows its verdict, without loading the page again."""
    value = page.locator(".facts .fact .value").first
    page.locator(".facts").get_by_text("Verdict so far").wait_for()
    page.locator(".graph .card").first.wait_for()
    page.locator(".facts").get_by_text("Verdict", exact=True).wait_for()
    expect(value).to_have_text(verdict)
    page.screenshot(path=BUILD / f"{scenario}.png")


@pytest.fixture(scope="session")
def stack(browser: Browser) -> Iterator[Stack]:
    """The third example, watched to its end."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with playing("compute-2-deploy-fails") as found:
        with pages(browser, found) as open_one:
            watch(open_one(), "compute-2-deploy-fails", "Succeeded with losses")
        yield found


@pytest.fixture
def open_page(browser: Browser, stack: Stack) -> Iterator[Open]:
    with pages(browser, stack) as open_one:
        yield open_one
