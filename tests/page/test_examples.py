"""The seed's three worked examples (seed 000), played and watched on the page to their verdict."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.page.conftest import Stack, pages, playing, watch

GROUPS = ("control-nodes", "compute-nodes-1", "compute-nodes-2", "monitoring-nodes", "ntp-node")


def check(page: Any, failed: list[str], by_dependency: list[str]) -> None:
    """Check the state of each group as its card shows it, and the failures."""
    expected = dict.fromkeys(GROUPS, "success") | dict.fromkeys(failed, "failed")
    for name, state in (expected | dict.fromkeys(by_dependency, "dependency failed")).items():
        expect(page.locator(".graph .card", has_text=name).locator(".state")).to_have_text(state)
    expect(page.locator(".graph .card")).to_have_count(len(GROUPS))
    expect(page.locator(".failure h3 a")).to_have_text(failed)


def test_everything_succeeds(browser: Any) -> None:
    with playing("calm") as stack, pages(browser, stack) as open_one:
        page = open_one()
        watch(page, "calm", "Succeeded")
        check(page, [], [])
        expect(page.locator(".needs", has_text="4 of 4, needs 2").first).to_be_visible()


def test_a_critical_group_fails_and_its_dependents_are_folded_below_it(browser: Any) -> None:
    dependents = ["control-nodes", "compute-nodes-1", "compute-nodes-2"]
    with playing("ntp-prepare-fails") as stack, pages(browser, stack) as open_one:
        page = open_one()
        watch(page, "ntp-prepare-fails", "Failed")
        check(page, ["ntp-node"], dependents)
        folded = page.locator(".failure details")
        expect(folded.locator("summary")).to_have_text("3 groups failed because of it")
        expect(folded.locator("ul")).to_be_hidden()
        folded.locator("summary").click()
        expect(folded.locator(".chip")).to_have_count(len(dependents))
        for name in dependents:
            expect(folded.locator(".chip", has_text=name)).to_be_visible()
        entry = page.locator(".actions li").first
        expect(entry).to_contain_text("not acknowledged")
        page.get_by_label("Why the failure is accepted").fill("the clock is replaced")
        page.get_by_role("button", name="Acknowledge").click()
        page.get_by_text("has seen what failed: the clock is replaced").wait_for()
        expect(entry).not_to_contain_text("not acknowledged")
        page.get_by_role("button", name="Retry").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("13 nodes").wait_for()
        expect(dialog).to_contain_text("keeps 3 that are deployed")


def test_a_group_fails_that_is_not_critical(stack: Stack, open_page: Any) -> None:
    page = open_page()
    check(page, ["compute-nodes-2"], [])

    card = page.locator(".card", has_text="compute-nodes-2")
    expect(card.locator(".needs")).to_have_text("0 of 4, needs 2")
    expect(page.locator(".card", has_text="control-nodes").locator(".badge")).to_have_text("critical")


def test_a_cell_opens_the_history_of_its_node(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")

    page.get_by_role("button", name="Next failed").click()

    drawer = page.get_by_role("complementary")
    drawer.get_by_role("heading", name="cmp02-1").wait_for()
    expect(drawer.locator("blockquote")).to_contain_text("curtin: no bootable disk")
    expect(drawer.locator(".history > li")).to_have_count(1)
    expect(drawer.get_by_role("link", name="job")).to_have_count(2)
    page_of_it = drawer.get_by_role("link", name="Open in the provisioner")
    expect(page_of_it).to_have_attribute("href", "https://provisioner.example/nodes/cmp02-1")
