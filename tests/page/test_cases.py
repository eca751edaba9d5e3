"""The one cause of a night on the page: said above everything, framed among the cells, selected by a click."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, expect

from tests.acceptance.programs import marked, reachable, up
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.page.conftest import BUILD, PATIENCE, Stack, pages
from tests.page.test_axe import AXE, WIDE, violations

RACKS, IN_RACK, DEAD = 12, 16, 7
IPMI = "IPMI session to 10.9.{}.{} timed out after 30 s"
NODES = {f"r{rack:02}n{slot:02}": f"r{rack:02}" for rack in range(1, RACKS + 1) for slot in range(1, IN_RACK + 1)}


def _scenario() -> Mapping[str, Any]:
    dead = [name for name, rack in NODES.items() if rack == f"r{DEAD:02}"][:14]
    fates = {name: {"prepare": "fail", "reason": IPMI.format(DEAD, at)} for at, name in enumerate(dead)}
    return {
        "nodes": {**fates, "r02n03": {"prepare": "fail", "reason": "disk sda is broken"}},
        "durations": {"prepare_nodes": 30, "deploy_nodes": 40},
    }


def _design() -> bytes:
    groups = [group_entry("all", critical=True, selectors=[], success_criteria={"percent_successful_nodes": 99})]
    configuration = {"armada": {"manifest": "full-site"}}
    documents = [
        layering_policy(),
        *(node_document(name, rack=rack) for name, rack in NODES.items()),
        strategy_document(*groups),
        document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
    ]
    return yaml.safe_dump_all(documents).encode()


@contextmanager
def _night() -> Iterator[Stack]:
    _, environment = marked()
    with reachable() as directory, TemporaryDirectory() as folder:
        scenario = Path(folder, "scenario.yaml")
        scenario.write_text(yaml.safe_dump(_scenario()))
        child, ready = up(directory, environment, ["--speed", "100", "--scenario", os.fspath(scenario)])
        try:
            stack = Stack(ready["url"], ready["token"], "")
            stack.ask("POST", "configdocs/design", data=_design(), params={"buffermode": "replace"})
            stack.ask("POST", "commitconfigdocs")
            yield replace(stack, action=stack.ask("POST", "actions", json={"name": "deploy_site"})["id"])
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(PATIENCE / 1000)


@pytest.fixture(scope="module")
def night() -> Iterator[Stack]:
    with _night() as stack:
        yield stack


def test_the_cause_of_the_night_is_said_first_and_its_cells_are_selected(browser: Browser, night: Stack) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    with pages(browser, night) as open_page:
        for scheme in ("light", "dark"):
            page = open_page(f"?action={night.action}", scheme=scheme)
            cause = page.locator(".causes")
            expect(cause).to_contain_text("14 of the 15 that failed are in rack r07; 2 of 177 others are.")
            expect(page.get_by_text("What failed")).to_be_visible()
            expect(cause).to_contain_text(f"shipyard retry {night.action}")
            page.screenshot(path=BUILD / f"case-{scheme}.png", full_page=True)
            page.get_by_role("button", name="Select its 14 nodes").click()
            expect(page.get_by_role("button", name="Show all nodes, not only those of one cause")).to_be_visible()
            page.locator("canvas").first.scroll_into_view_if_needed()
            page.screenshot(path=BUILD / f"case-selected-{scheme}.png")
            if AXE.is_file():  # .ci/real_page.py fetches it
                assert violations(page, AXE.read_text(encoding="utf-8")) == []
            page.set_viewport_size({"width": 400, "height": 900})
            assert page.evaluate(WIDE) == []
            page.screenshot(path=BUILD / f"case-narrow-{scheme}.png", full_page=True)
            page.set_viewport_size({"width": 1440, "height": 900})
            page.get_by_role("button", name="Show all nodes", exact=True).click()
            expect(page.get_by_role("button", name="Select its 14 nodes")).to_be_visible()
