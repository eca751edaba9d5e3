"""axe-core finds nothing serious: names, roles, contrast, focus; on every view, light and dark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.conftest import BUILD, Stack

AXE = BUILD / "axe-core" / "axe.min.js"
VIEWS = {
    "first screen": "",
    "node": "&node=cmp02-1",
    "timeline": "&view=timeline",
    "plan": "&view=plan",
    "what if": "&view=forecast",
    "software": "&view=software",
    "design": "&view=design",
    "drift": "&view=drift",
    "steps": "&view=steps",
}


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip(f"axe-core is not at {AXE}; .ci/real_page.py fetches it")
    return AXE.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(stack: Stack, open_page: Any, axe: str, scheme: str) -> None:
    found: list[str] = []
    for name, query in VIEWS.items():
        page = open_page(f"?action={stack.action}{query}", scheme=scheme)
        page.locator("main .panel, main .failures").first.wait_for()
        page.locator("[aria-busy=true]").wait_for(state="detached")
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{name}: {one['id']} at {one['nodes'][0]['target']}"
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        if not query:
            page.screenshot(path=BUILD / f"first-screen-{scheme}.png")
    page = open_page(token="", scheme=scheme)
    page.get_by_label("Token").wait_for()
    page.evaluate(axe)
    found += [one["id"] for one in page.evaluate("axe.run()")["violations"] if one["impact"] in ("serious", "critical")]
    assert found == []
