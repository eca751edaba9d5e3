"""Signing in, the keyboard, links, commands with their preview, and a server that goes away."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from playwright.sync_api import Route, expect

from tests.page.conftest import BUILD, Stack


def test_the_token_of_an_address_signs_in_and_is_erased(stack: Stack, open_page: Any) -> None:
    page = open_page()
    page.get_by_text("Live", exact=True).wait_for()

    assert page.url == f"{stack.url}/"
    page.reload()
    page.get_by_text("Live", exact=True).wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_wrong_token_is_refused_and_a_right_one_is_taken(stack: Stack, open_page: Any) -> None:
    page = open_page(token="")  # no token at all
    field = page.get_by_label("Token")
    field.fill("wrong")
    field.press("Enter")
    page.get_by_role("alert").get_by_text("not valid").wait_for()
    field.fill(stack.token)
    field.press("Enter")
    page.get_by_text("Live", exact=True).wait_for()


def test_nodes_are_reached_by_keys_and_the_address_keeps_what_is_open(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}&by=rack")
    canvas = page.locator("canvas[tabindex]")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#cell-now")).not_to_be_empty()
    announced = page.locator("#cell-now").inner_text()
    page.keyboard.press("Enter")
    page.get_by_role("complementary").wait_for()

    name = announced.partition(":")[0]
    assert f"node={name}" in page.url
    other = open_page(page.url.removeprefix(f"{stack.url}/"))
    other.get_by_role("complementary").get_by_role("heading", name=name).wait_for()
    expect(other.get_by_role("button", name="by rack")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    page.get_by_role("complementary").wait_for(state="detached")
    page.go_back()
    page.get_by_role("complementary").wait_for()


def test_keys_of_one_character_can_be_switched_off(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Keys of one character").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("4")
    page.keyboard.press("?")
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Keys of one character").check()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert "view=" not in page.url
    page.keyboard.press("4")
    page.wait_for_url("**view=forecast**")


def test_every_view_opens_without_a_fault(stack: Stack, open_page: Any) -> None:
    for view in ("timeline", "plan", "forecast", "software", "design", "drift", "steps"):
        page = open_page(f"?action={stack.action}&view={view}")
        page.locator("main .panel h2").first.wait_for()
        page.locator("[aria-busy=true]").wait_for(state="detached")
        assert page.locator(".fault").all_inner_texts() == [], view
        page.screenshot(path=BUILD / f"{view}.png")
    expect(page.locator("main")).to_contain_text("failed: compute-nodes-2")
    expect(page.locator("main")).not_to_contain_text("Stage.")


def test_tasks_on_nodes_are_a_matrix_for_the_mouse_and_for_the_keyboard(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}&view=software")
    cells = page.get_by_role("application", name="12 nodes by 2 tasks")
    cells.focus()
    now = page.locator(".matrix-now")
    expect(now).to_have_text("cmp01-1, clock: succeeded")
    page.keyboard.press("ArrowRight")
    expect(now).to_have_text("cmp01-1, agent: succeeded")
    page.keyboard.press("Enter")
    page.get_by_role("complementary").get_by_role("heading", name="cmp01-1").wait_for()


def test_roles_and_tags_of_nodes_are_shown_and_assigned(stack: Stack, open_page: Any) -> None:
    stack.ask("POST", "clusters/1/tags", base="api/v1", json={"name": "mysql", "meta": {"has_primary": False}})
    page = open_page("?view=roles")
    page.get_by_label("Search nodes").fill("ntp")
    expect(page.locator("table.machines tbody tr")).to_have_text(re.compile("ntp01\\s*ntp\\s*none"))
    page.get_by_role("button", name="Change ntp01").click()
    field = page.get_by_label("A tag for ntp01")
    field.fill("nowhere")
    field.press("Enter")
    page.get_by_role("alert").get_by_text("Tags nowhere do not exist").wait_for()
    field.fill("mysql:2")
    field.press("Enter")
    page.get_by_label("Take the tag mysql:2").wait_for()
    page.screenshot(path=BUILD / "roles.png")
    page.get_by_role("button", name="Done").click()
    page.get_by_role("link", name="ntp01").click()

    drawer = page.get_by_role("complementary")
    drawer.get_by_label("A role for ntp01").fill("monitoring")
    drawer.get_by_label("A role for ntp01").press("Enter")
    drawer.get_by_label("Take the role monitoring").wait_for()
    expect(page.locator("main table.machines tbody tr")).to_contain_text("ntpmonitoring")
    page.screenshot(path=BUILD / "roles-of-a-node.png")
    assert {"roles": ["ntp", "monitoring"], "tags": ["mysql:2"]}.items() <= stack.ask("GET", "nodes/ntp01").items()
    for label in ("role monitoring", "tag mysql:2"):
        drawer.get_by_label(f"Take the {label}").click()
        drawer.get_by_label(f"Take the {label}").wait_for(state="detached")
    assert {"roles": ["ntp"], "tags": []}.items() <= stack.ask("GET", "nodes/ntp01").items()


def test_the_plan_is_drawn_below_what_happened(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}&view=timeline")
    page.locator(".gantt i.planned").first.wait_for()
    expect(page.locator(".gantt-row")).to_have_count(5)
    expect(page.locator(".gantt [title*=', planned: ']")).to_have_count(5)
    expect(page.get_by_role("img", name="control-nodes, planned: prepare for")).to_have_count(1)
    phase = page.get_by_role("img", name="control-nodes, prepare: success")
    expect(phase).to_have_attribute("title", re.compile("; planned "))
    failed = page.locator(".gantt-row", has_text="compute-nodes-2").locator(".gantt-note")
    expect(failed).to_have_text(re.compile("^failed, due at "))


def test_a_new_action_shows_what_it_will_touch_before_it_can_be_started(stack: Stack, open_page: Any) -> None:
    page = open_page()
    page.get_by_role("button", name="New").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_role("button", name="Start").count() == 0
    dialog.get_by_role("button", name="Show what it will touch").click()
    dialog.get_by_role("button", name="Start deploy_site").wait_for()
    expect(dialog).to_contain_text("4 nodes of 16; 12 already deployed")
    dialog.get_by_text("succeeds with").wait_for()
    expect(dialog.get_by_role("columnheader", name="Meets them")).to_have_count(1)
    before = len(stack.ask("GET", "actions"))
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert len(stack.ask("GET", "actions")) == before


def test_an_update_says_what_each_choice_does_to_servers_that_run(stack: Stack, open_page: Any) -> None:
    page, asked = open_page(), list[dict[str, Any]]()

    def counted(route: Route) -> None:
        """Answer as a site does in which servers differ."""
        asked.append(route.request.post_data_json)
        answer = route.fetch()
        plan = answer.json()
        counts = {"unchanged": 9, "reinstall": 2, "replace": 1, "service": 1, "leaves": 1}
        assert plan["changes"]["interrupts"], "of the API, which decides"
        plan["changes"] = {**plan["changes"], "counts": counts}
        route.fulfill(response=answer, json=plan)

    page.route("**/plans", counted)
    page.get_by_role("button", name="New").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Action", exact=True).select_option("update_site")
    expect(dialog.locator(".choice small")).to_have_text(
        [
            "Now: leaves 4 servers with an older specification.",
            "Now: services 1 server, leaves 3 servers with an older specification.",
            "Now: reinstalls 3 servers, services 1 server.",
            "1 server now",
        ]
    )
    dialog.get_by_role("radio", name="reinstall").check()
    expect(dialog.get_by_label("Refuse if more are reinstalled than")).to_have_value("3")
    dialog.get_by_label("Take down servers that have left the design").check()
    dialog.get_by_role("button", name="Show what it will touch").click()
    dialog.get_by_role("button", name="Start update_site").wait_for()
    assert [one["parameters"] for one in asked] == [
        {},
        {"on-change": "reinstall", "max-reinstalls": 3, "on-removed": "remove"},
    ]
    dialog.get_by_role("radio", name="leave Drain").check()  # what was shown is not what would be done any more
    expect(dialog.get_by_role("button", name="Start")).to_have_count(0)
    page.screenshot(path=BUILD / "update.png")
    page.keyboard.press("Escape")


def test_what_if_moves_the_criteria_that_a_group_has(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}&view=forecast")
    rows = page.locator(".sliders tbody tr")
    expect(rows.filter(has_text="control-nodes").locator("output")).to_have_text(
        ["at least 90 %", "at least 3 nodes", "at most 1 node failed"]
    )
    expect(rows.filter(has_text="monitoring-nodes")).to_contain_text("none: it always succeeds")
    slider = page.get_by_label("control-nodes: most failed nodes")
    # The forecast of the criteria as they are written may still have to be asked for.
    with page.expect_request(lambda one: one.url.endswith("/forecasts") and "criteria" in one.post_data_json) as sent:
        slider.fill("3")
    moved = {"percent_successful_nodes": 90, "minimum_successful_nodes": 3, "maximum_failed_nodes": 3}
    assert sent.value.post_data_json == {"name": "deploy_site", "criteria": {"control-nodes": moved}}
    expect(page.locator(".what-if")).to_contain_text("A new deploy_site succeeds with")


def test_machines_of_all_actions_are_searched_filtered_and_sorted(stack: Stack, open_page: Any) -> None:
    page = open_page()
    page.get_by_role("link", name="Machines").click()
    rows = page.locator(".machines tbody tr")
    expect(rows).to_have_count(16)
    page.get_by_label("Status").select_option("failed")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("failed")
    page.get_by_label("Search machines").fill("cmp02-3")
    expect(rows).to_have_count(1)
    page.get_by_label("Search machines").fill("")
    page.get_by_label("Status").select_option("")
    page.get_by_role("button", name="Status").click()
    expect(rows.first).to_contain_text("deployed")
    expect(rows.last).to_contain_text("failed")
    rows.last.get_by_role("link").first.click()
    page.get_by_role("complementary").get_by_text("why it failed").wait_for()


def test_a_removed_server_is_taken_down(stack: Stack, open_page: Any) -> None:
    page = open_page()
    removed = {"status": "not_started", "reason": "teardown"}
    answered(page, "**/nodes?*", lambda found: found | {"nodes": [found["nodes"][0] | removed, *found["nodes"][1:]]})
    page.get_by_role("link", name="Machines").click()
    expect(page.locator(".machines tbody tr", has_text="taken down")).to_have_count(1)


def test_the_list_of_actions_keeps_what_is_searched(stack: Stack, open_page: Any) -> None:
    stack.ask("POST", "actions", json={"name": "test_site"})
    page = open_page()
    entries = page.locator(".actions li")
    expect(entries).to_have_count(2)
    page.get_by_label("Filter actions").fill("deploy complete")
    expect(entries).to_have_count(1)
    expect(entries).to_contain_text("Complete")


def answered(page: Any, address: str, change: Callable[[Any], Any]) -> None:
    """Change what the page reads at an address."""

    def answer(route: Any) -> None:
        found = route.fetch()
        route.fulfill(response=found, **({"json": change(found.json())} if found.status == 200 else {}))

    page.route(address, answer)


def test_commands_on_nodes_are_folded_in_the_list_and_named(stack: Stack, open_page: Any) -> None:
    page = open_page()
    page.locator(".actions li").first.wait_for()
    ran = [("uptime", ["n1", "n2"], "success"), ("false", ["n3"], "failed")]

    def after_commands(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        entry = actions[0] | {"name": "update_software", "notes": []}
        commands = [
            entry | {"id": f"{number:026}", "dag_status": status, "parameters": {"command": command, "nodes": nodes}}
            for number, (command, nodes, status) in enumerate(ran)
        ]
        return commands + actions

    answered(page, "**/api/v1.0/actions?*", after_commands)
    page.reload()
    folded = page.locator(".actions .folded")
    expect(folded.locator("summary")).to_contain_text("2 node commands, 1 failed")
    expect(folded.locator("ul")).to_be_hidden()
    # The page shows the newest action on the site, which none of them is.
    expect(page.locator(".actions a[aria-current]")).not_to_contain_text("uptime")
    folded.locator("summary").click()
    expect(folded.locator("li").first).to_contain_text("uptimeon n1, n2")
    page.get_by_label("Filter actions").fill("n3")
    expect(page.locator(".actions li")).to_have_count(1)


def test_twelve_groups_are_shown_as_a_whole_and_nothing_deployed_is_an_empty_bar(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")
    page.locator(".graph .card").first.wait_for()

    def large(overview: dict[str, Any], chain: list[str]) -> dict[str, Any]:
        entry = overview["groups"][0] | {"status": "not_started", "reason": None, "phases": [], "depends_on": chain}
        groups = [entry | {"name": f"rack-{number:02}"} for number in range(12)]
        groups[0] = groups[0] | {"depends_on": []}
        return overview | {"groups": groups, "nodes": overview["nodes"] | {"total": 1000, "letters": "n" * 1000}}

    for chain in ([], ["rack-00"]):
        page.unroute_all()
        answered(page, "**/overview*", partial(large, chain=chain))
        page.reload()
        expect(page.locator(".graph .card")).to_have_count(12)
        graph = page.locator(".graph")
        assert graph.evaluate("(graph) => graph.scrollHeight <= graph.clientHeight")
        bar = page.locator(".facts .bar")
        expect(bar).to_have_attribute("aria-label", "1000 not started")
        fills = "(bar) => [bar, ...bar.children].map((one) => getComputedStyle(one).backgroundColor)"
        assert bar.evaluate(fills) == ["rgba(0, 0, 0, 0)"] * 2


def test_what_is_wrong_comes_first_on_a_narrow_screen(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")
    order = "[...document.querySelectorAll('.headline, .failures, .facts')].map((one) => one.classList[0])"
    page.locator(".failures").wait_for()
    assert page.evaluate(order) == ["headline", "facts", "failures"]
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_function(f"{order}[1] === 'failures'")


def test_a_narrow_screen_has_all_commands_on_it(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")
    page.set_viewport_size({"width": 400, "height": 900})
    page.locator(".graph .card").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("5 in run order; scroll to see all")).to_be_visible()


def test_a_hold_is_placed_and_released(stack: Stack, open_page: Any) -> None:
    page = open_page("?node=mon01")
    drawer = page.get_by_role("complementary")
    drawer.get_by_label("Reason for a hold").fill("memory is replaced")
    drawer.get_by_role("button", name="Hold").click()
    drawer.locator(".hold", has_text="memory is replaced").wait_for()
    drawer.get_by_role("button", name="Release").click()
    drawer.locator(".hold").wait_for(state="detached")


def test_a_server_that_does_not_answer_is_said_and_found_again(stack: Stack, open_page: Any) -> None:
    page = open_page(f"?action={stack.action}")
    page.get_by_text("Live", exact=True).wait_for()
    page.locator(".graph .card").first.wait_for()
    page.route("**/api/**", lambda route: route.abort())
    page.evaluate("window.dispatchEvent(new Event('online'))")
    page.get_by_role("alert").get_by_text("does not answer").wait_for()
    expect(page.locator(".graph .card").first).to_be_visible()
    page.unroute("**/api/**")
    page.get_by_text("Live", exact=True).wait_for()


def test_what_changes_during_a_read_is_read_again(open_page: Any) -> None:
    page = open_page()
    page.get_by_text("Live", exact=True).wait_for()
    page.evaluate("""() => {
        const real = window.fetch;
        let reads = 0;
        window.fetch = async (...asked) => {
            const answer = await real(...asked);
            if (!String(asked[0]).includes("/overview")) return answer;
            document.body.dataset.reads = ++reads;
            if (reads === 1) window.dispatchEvent(new Event("online"));
            return answer;
        };
        window.dispatchEvent(new Event("online"));
    }""")
    expect(page.locator("body")).to_have_attribute("data-reads", re.compile("^(?!1$)"))


def test_a_link_to_nothing_says_so(stack: Stack, open_page: Any) -> None:
    open_page("?action=01M00000000000000000000000").get_by_text("There is no such action").wait_for()


def test_a_plan_is_stored_and_another_person_reads_and_approves_it(stack: Stack, open_page: Any) -> None:
    made = stack.ask("POST", "nodes/ntp01/holds", json={"reason": "new disk"})
    forced = {"name": "deploy_site", "parameters": {"force": True}}
    stack.ask("POST", "plans", params={"store": "true"}, json=forced)
    stack.ask("DELETE", f"holds/{made['id']}")
    page = open_page()
    page.get_by_role("button", name="New").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Show what it will touch").click()
    dialog.get_by_role("button", name="Store for approval").click()
    own = page.locator("main")
    own.get_by_role("heading", name="Plan of deploy_site").wait_for()
    expect(own).to_contain_text("not yet")
    expect(own.get_by_role("button", name="Approve")).to_have_count(0)
    expect(own.locator(".differences")).to_contain_text("holds ntp01: held (operator) by admin: new disk is gone.")
    own.get_by_text("succeeds with").wait_for()

    other = open_page(page.url.removeprefix(f"{stack.url}/"), token=stack.second)
    main = other.locator("main")
    main.get_by_label("Reason").fill("as discussed")
    main.get_by_role("button", name="Approve").click()
    expect(main).to_contain_text("as discussed")
    expect(main.get_by_role("button", name="Approve")).to_have_count(0)
    expect(main.get_by_role("button", name="Start deploy_site")).to_be_enabled()
    main.get_by_text("succeeds with").wait_for()
    other.screenshot(path=BUILD / "stored-plan.png", full_page=True)
    other.get_by_role("link", name="All stored plans").click()
    expect(main.locator("tbody tr").first).to_contain_text("approved")
    other.screenshot(path=BUILD / "stored-plans.png")
