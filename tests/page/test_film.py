"""The film of the documentation site in a real browser, opened as a file: it plays, steps, and opens other files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from docs.site import film
from tests.page.test_axe import AXE, violations

STORY = len(film.RUNS)
"""The number of the first story in the list of what can be played."""


@pytest.fixture
def open_film(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Open the page as a file; an error of a script, or a request that leaves the folder, fails the test."""
    film.write(tmp_path)
    faults: list[str] = []
    contexts = []

    def open_one(number: int = 0, scheme: Any = "light") -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda one: None if one.url.startswith(tmp_path.as_uri()) else faults.append(one.url))
        page.goto(f"{(tmp_path / 'index.html').as_uri()}#{number}")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert faults == []


def clock(page: Page) -> float:
    return float(page.locator("#clock").inner_text().split()[0])


def test_a_run_plays_to_its_end(open_film: Any) -> None:
    page = open_film()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("+")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_contain_text("pause")
    expect(page.locator("#play")).to_contain_text("play")
    expect(page.locator("#knows")).to_contain_text("deploy_site, success")
    expect(page.locator("#differ")).to_contain_text("Nowhere")
    assert page.locator(".node .disc.done").count() == 16


def test_keys_step_and_go_to_the_faults(open_film: Any) -> None:
    page = open_film()
    page.keyboard.press("n")
    expect(page.locator("#say")).to_contain_text("Fault: ")
    first = clock(page)
    page.keyboard.press("n")
    assert clock(page) > first
    page.keyboard.press("p")
    assert clock(page) == first
    said = page.locator("#say").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#say").inner_text() != said
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#say")).to_have_text(said)


def test_an_intent_without_an_outcome_is_what_the_database_knows(open_film: Any) -> None:
    page = open_film()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
        if page.locator("#stage .ring.intent").count():
            break
    expect(page.locator("#knows")).to_contain_text("intended, outcome unknown")
    label = page.locator(".node:has(.ring.intent) svg").first.get_attribute("aria-label")
    assert label
    assert "outcome unknown" in label


def test_a_story_of_the_model_ends_with_what_is_violated(open_film: Any) -> None:
    page = open_film(STORY)
    page.keyboard.press("End")
    expect(page.locator("#say")).to_contain_text("Violated: ")
    assert page.locator(".story .step.ahead").count() == 0
    page.keyboard.press("Home")
    expect(page.locator("#say")).to_contain_text("The rule that is broken in this story")


def test_a_file_of_ones_own_is_played_and_a_broken_one_is_refused(open_film: Any, tmp_path: Path) -> None:
    page = open_film()
    page.locator("#file").set_input_files(film.HISTORIES / film.RUNS[1].file)
    expect(page.locator("#about")).to_contain_text(film.RUNS[1].file)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"format": "another"}\n')
    page.locator("#file").set_input_files(broken)
    expect(page.locator("#about")).to_contain_text("broken.jsonl cannot be played: line 1 is no header of a history")


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not at {AXE}; .ci/real_page.py fetches it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_film(open_film: Any, scheme: str) -> None:
    for number in (0, STORY):
        page = open_film(number, scheme)
        page.keyboard.press("End")
        assert violations(page, AXE.read_text("utf-8")) == []
