"""The seed's three worked examples (seed 000), played and watched on the page to their verdict."""

from __future__ import annotations

from typing import Any

from tests.page.conftest import Stack, pages, playing, watch

GROUPS = ("control-nodes", "compute-nodes-1", "compute-nodes-2", "monitoring-nodes", "ntp-node")


def cards(page: Any) -> dict[str, str]:
    """Return the state of each group as its card shows it."""
    page.locator(".graph .card").nth(len(GROUPS) - 1).wait_for()
    shown = page.locator(".graph .card").all()
    return {card.locator(".name b").inner_text(): card.locator(".state").inner_text().strip() for card in shown}


def check(page: Any, failed: list[str], by_dependency: list[str]) -> None:
    expected = dict.fromkeys(GROUPS, "succeeded") | dict.fromkeys(failed, "failed")
    assert cards(page) == expected | dict.fromkeys(by_dependency, "dependency failed")
    assert page.locator(".failure h3 a").all_inner_texts() == failed


def test_everything_succeeds(browser: Any) -> None:
    with playing("calm") as stack, pages(browser, stack) as open_one:
        page = open_one()
        watch(page, "calm", "Succeeded")
        check(page, [], [])
        assert "4 of 4, needs 2" in page.locator(".needs").all_inner_texts()


def test_a_critical_group_fails_and_its_dependents_are_folded_below_it(browser: Any) -> None:
    dependents = ["control-nodes", "compute-nodes-1", "compute-nodes-2"]
    with playing("ntp-prepare-fails") as stack, pages(browser, stack) as open_one:
        page = open_one()
        watch(page, "ntp-prepare-fails", "Failed")
        check(page, ["ntp-node"], dependents)
        folded = page.locator(".failure details")
        assert folded.locator("summary").inner_text() == "3 groups failed because of it"
        assert not folded.locator("ul").is_visible()
        folded.locator("summary").click()
        assert {text.split(" ")[0] for text in folded.locator(".chip").all_inner_texts()} == set(dependents)
        page.get_by_role("button", name="Retry").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("13 nodes").wait_for()
        assert "keeps 3 that are deployed" in dialog.inner_text()


def test_a_group_fails_that_is_not_critical(stack: Stack, open_page: Any) -> None:
    page = open_page()
    check(page, ["compute-nodes-2"], [])

    card = page.locator(".card", has_text="compute-nodes-2")
    assert card.locator(".needs").inner_text() == "0 of 4, needs 2"
    assert page.locator(".card", has_text="control-nodes").locator(".badge").inner_text() == "critical"


def test_a_cell_opens_the_history_of_its_node(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")

    page.get_by_role("button", name="Next failed").click()

    drawer = page.get_by_role("complementary")
    drawer.get_by_role("heading", name="cmp02-1").wait_for()
    assert "curtin: no bootable disk" in drawer.locator("blockquote").inner_text()
    assert drawer.locator(".history > li").count() == 1
    assert drawer.get_by_role("link", name="job").count() == 2
    page_of_it = drawer.get_by_role("link", name="Open in the provisioner")
    assert page_of_it.get_attribute("href") == "https://provisioner.example/nodes/cmp02-1"
