"""WCAG 2.2 AA, as far as axe-core and a walk over the page with the keyboard can find a breach of it.

Every view, light and dark. What neither can find is in docs/reference/accessibility.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.conftest import BUILD, Stack

AXE = BUILD / "axe-core" / "axe.min.js"
# `target-size` is off by default.
RUN = """axe.run(document, {
  resultTypes: ["violations"],
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: {"target-size": {enabled: true}},
})"""
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
    "stored plans": "&view=plans",
    "roles and tags": "&view=roles",
}
# Whatever can be focused by the keyboard.
STOPS = """[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(
  (one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true}),
)"""
# What makes the page wider than its window, and does not scroll by itself.
WIDE = """document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll("body *")].filter((one) => {
  let above = one.parentElement;
  while (above && !/auto|scroll|hidden/.test(getComputedStyle(above).overflowX)) above = above.parentElement;
  return !above && one.getBoundingClientRect().right > innerWidth;
}).map((one) => one.tagName + "." + one.className + ": " + Math.round(one.getBoundingClientRect().right)) : []"""
# The focused element: its number among them, or -1 if it is none or came later; and what is wrong with its focus.
FOCUSED = """() => {
  const found = document.activeElement, box = found.getBoundingClientRect(), style = getComputedStyle(found);
  const inside = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [0.9, 0.8]].some(([x, y]) => {
    const top = document.elementFromPoint(box.x + x * box.width, box.y + y * box.height);
    return top !== null && (found.contains(top) || top.contains(found) || found.labels?.[0]?.contains(top));
  });
  const shows = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const name = found.outerHTML.slice(0, 90), faults = [];
  if (!shows) faults.push("no outline: " + name);
  if (!inside) faults.push("covered: " + name);
  return {number: Number(found.dataset.stop ?? -1), faults: found === document.body ? [] : faults};
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip(f"axe-core is not at {AXE}; .ci/real_page.py fetches it")
    return AXE.read_text(encoding="utf-8")


def opened(open_page: Any, stack: Stack, query: str, scheme: str = "light") -> Any:
    page = open_page(f"?action={stack.action}{query}", scheme=scheme)
    page.locator("main .panel, main .failures").first.wait_for()
    page.locator("[aria-busy=true]").wait_for(state="detached")
    return page


def violations(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate(RUN)["violations"]
    return [f"{one['id']} at {[node['target'] for node in one['nodes']]}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(stack: Stack, open_page: Any, axe: str, scheme: str) -> None:
    found: list[str] = []
    for name, query in VIEWS.items():
        page = opened(open_page, stack, query, scheme)
        found += [f"{name}: {one}" for one in violations(page, axe)]
        if not query:
            page.screenshot(path=BUILD / f"first-screen-{scheme}.png")
            page.locator("#start").click()
            page.get_by_role("dialog").wait_for()
            found += [f"start: {one}" for one in violations(page, axe)]
    page = open_page(token="", scheme=scheme)
    page.get_by_label("Token").wait_for()
    found += [f"sign-in: {one}" for one in violations(page, axe)]
    assert "\n".join(found) == ""


def test_the_tab_key_reaches_everything_once_and_shows_where_it_is(stack: Stack, open_page: Any) -> None:
    found: list[str] = []
    for name, query in VIEWS.items():
        page = opened(open_page, stack, query)
        stops = page.evaluate(f"{STOPS}.map((one, place) => (one.dataset.stop = place, one.outerHTML.slice(0, 90)))")
        reached: list[int] = []
        for _ in range(2 * len(stops) + 9):  # from where the page put the focus, over the end, to there again
            page.keyboard.press("Tab")
            focus = page.evaluate(FOCUSED)
            found += [f"{name}: {one}" for one in focus["faults"]]
            if focus["number"] in reached:
                break
            reached += [focus["number"]] if focus["number"] >= 0 else []
        found += [f"{name}: not reached: {stops[one]}" for one in sorted(set(range(len(stops))) - set(reached))]
    assert "\n".join(found) == ""


def test_nothing_is_cut_off_on_a_narrow_screen(stack: Stack, open_page: Any) -> None:
    """WCAG 1.4.10: at 320 pixels the page scrolls in one direction; a drawing or a table may scroll by itself."""
    found = []
    for name, query in VIEWS.items():
        page = opened(open_page, stack, query)
        page.set_viewport_size({"width": 320, "height": 640})
        if wide := page.evaluate(WIDE):
            found.append(f"{name}: {wide}")
    assert "\n".join(found) == ""
