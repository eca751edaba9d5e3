"""A rollout policy on the page: what it holds up, in one sentence, and an approval given there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.page.conftest import BUILD, pages, playing

# After the only node of its group nothing waits for a gate.
TRIED = [{"node_tags": ["compute"]}, {"node_names": ["ntp01"]}]
CANARY = {"name": "canary", "nodes": 1, "selectors": TRIED, "gates": [{"approval": True}]}
POLICY = {
    "waves": [CANARY],
    "budgets": [{"name": "racks", "by": "rack", "max_unavailable": 2}, {"name": "site", "max_lost": 1}],
    "windows": {"open": [{"zone": "UTC", "start": "-60", "minutes": 300}], "fits": "server"},
}


def test_what_a_policy_holds_up_is_one_sentence_and_can_be_approved_on_the_page(browser: Any, tmp_path: Path) -> None:
    scenario = tmp_path / "one-lost.yaml"
    scenario.write_text("nodes: {mon02: {deploy: fail, reason: no bootable disk}}")
    with playing(str(scenario), POLICY) as stack, pages(browser, stack) as open_one:
        page = open_one()
        panel = page.locator(".policy")
        held = panel.locator(".policy-now")
        expect(held).to_have_text("‖Waits after canary of compute-nodes-1: a person must approve what follows")
        headline = page.locator(".headline")
        expect(headline.locator(".waits")).to_have_text(re.compile("^Waiting for .*canary"))
        lane = panel.locator(".lane", has_text="compute-nodes-1")
        expect(lane.locator("li")).to_have_text(["✓canarygood:1 of 1", "‖approval waits", "○restto come:0 of 3"])
        expect(panel.locator(".budgets li")).to_have_count(4)
        expect(panel.locator(".budgets li").first).to_have_text("rack021 of 2 in flight or lost")
        expect(panel.get_by_role("img", name="Maintenance windows: open until")).to_be_visible()
        BUILD.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=BUILD / "policy.png")

        headline.get_by_role("button", name="Approve or refuse").click()
        page.get_by_label("Reason").fill("quiet")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(lane.locator("li.gate")).to_have_text("✓approval passed")
        expect(lane.locator("li.gate")).to_have_attribute("title", "approval: passed by admin: quiet")
        expect(held).to_contain_text("Waits after canary of compute-nodes-2")
        page.get_by_role("button", name="Approve or refuse").click()
        page.get_by_role("button", name="Refuse", exact=True).click()

        expect(held).to_have_text("✕Stopped after canary of compute-nodes-2: 3 nodes never begin")
        page.screenshot(path=BUILD / "policy-stopped.png")
