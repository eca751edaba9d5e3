"""The picture of ``watch``: right at every width and size, and readable without colour."""

import io
import time
import xml.etree.ElementTree as ET

import pytest
from rich.cells import cell_len
from rich.console import Console

from shipyard_api.cli.output.live_view import WatchView, export_svg, share, watch_view
from shipyard_api.cli.output.snapshot import Snapshot
from tests.unit.cli import samples
from tests.unit.cli.samples import NOW

STATES = [*["success"] * 6, "running", "success", "success", "running"]


def drawn(view: WatchView, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None, legacy_windows=False)
    console.print(view)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def five(width: int, **fields: object) -> list[str]:
    groups, nodes = samples.five_groups()
    return drawn(watch_view(samples.action(steps=samples.steps(*STATES), **fields), groups, nodes, NOW), width)


def test_the_designs_example_on_80_columns():
    assert five(80) == [
        "deploy_site  01M7XV7VKPMDHXJVA7WMC7P6XP                       ▸ Processing  7:16",
        "Steps  ✓✓✓✓✓✓▸✓✓▸·  8 of 11 done  ▸ drydock_build.prepare_and_deploy_nodes",
        "─" * 80,
        "Group                      Status        Reason     Nodes                   Done",
        "control-nodes    critical  ✓ success                ■■■■■■■■■■■■■■■■■■■■■■   4/4",
        "compute-nodes-1            ▸ deploying              ■■■■■■□□□□□□□□□□□□□□××  3/11",
        "compute-nodes-2            ▸ preparing              □□□□··················  0/12",
        "monitoring-nodes           · not started            ······················   0/6",
        "ntp-node         critical  ✗ failed      prepare    ××××××××××××××××××××××   0/1",
        "─" * 80,
        "34 nodes   ■ 7 deployed   □ 9 prepared   × 2 failed   · 16 not started",
        "✗ group ntp-node, prepare: minimum_successful_nodes: 1 needed, 0 of 1 prepared",
        "✗ node ntp01, prepare: BMC 10.0.0.9 does not answer",
        "✗ node compute99, deploy: curtin: no root device",
    ]


@pytest.mark.parametrize("width", [40, 50, 60, 75, 76, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_group_takes_two(width):
    text = five(width)
    assert max(cell_len(line) for line in text) <= width
    names = ("control", "compute-nodes-1", "compute-nodes-2", "monitoring", "ntp-node")
    assert [sum(line.startswith(name) for line in text) for name in names] == [1] * 5
    told = ("✓ success", "▸ deploying", "▸ preparing", "· not started", "✗ failed", "16 not started", "3/11", "0/12")
    for word in (*told, "Done", "01M7XV7VKPMDHXJVA7WMC7P6XP", "drydock_build.prepare_and_deploy_nodes"):
        assert any(word in line for line in text), word


def test_a_narrow_terminal_has_names_statuses_and_counts():
    assert five(40) == [
        "deploy_site           ▸ Processing  7:16",
        "01M7XV7VKPMDHXJVA7WMC7P6XP",
        "Steps  ✓✓✓✓✓✓▸✓✓▸·  8 of 11 done",
        "▸ drydock_build.prepare_and_deploy_nodes",
        "─" * 40,
        "Group            Status         Done",
        "control-nodes    ✓ success       4/4",
        "compute-nodes-1  ▸ deploying    3/11",
        "compute-nodes-2  ▸ preparing    0/12",
        "monitoring-nodes · not started   0/6",
        "ntp-node         ✗ failed        0/1",
        "─" * 40,
        "34 nodes",
        "■ 7 deployed  □ 9 prepared  × 2 failed",
        "· 16 not started",
        "✗ group ntp-node, prepare: minimum_succ…",
        "✗ node ntp01, prepare: BMC 10.0.0.9 doe…",
        "✗ node compute99, deploy: curtin: no ro…",
    ]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_long_names_that_differ_at_their_ends_can_be_told_apart(width):
    groups = [
        samples.group(f"rack-12-row-3-compute-nodes-{number}", "deploying", counts={"success": 123, "prepared": 4321})
        for number in range(2)
    ]
    text = [line for line in drawn(watch_view(samples.action(), groups, [], NOW), width) if "▸ deploying" in line]
    assert [line.split()[0][-7:] for line in text] == ["nodes-0", "nodes-1"] if width > 40 else text[0] != text[1]
    assert all(line.endswith("123/4444") and cell_len(line) <= width for line in text)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_thousand_groups_show_what_matters_and_fold_the_rest(width):
    groups = samples.many_groups(1000)
    text = drawn(watch_view(samples.action(), groups, [], NOW, rows=8), width)
    shown = [line.split()[0] for line in text if line.startswith("rack-")]
    urgent = ["rack-0500", "rack-0501", "rack-0007", "rack-0097", "rack-0187", "rack-0277", "rack-0367"]
    assert shown == urgent[: len(shown)]
    assert len(shown) == 7 or (len(shown) >= 4 and width < 76)
    _, _, folded = "\n".join(text).partition(f"+ {1000 - len(shown)} more groups: ")
    counts = [int(part.split()[0]) for part in " ".join(folded.partition("─")[0].split()).split(", ")]
    assert sum(counts) == 1000 - len(shown)
    assert max(cell_len(line) for line in text) <= width
    assert len(text) <= 8 + 13


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_groups_yet(width):
    text = drawn(watch_view(samples.action("Pending", steps=[], datetime=None), [], [], NOW), width)
    assert text[0].endswith("· Pending")
    assert text[1:4] == ["Steps  none yet", "─" * width, "Groups are known once the site design has been checked."]
    assert "0 deployed" in text[-1]


def test_an_empty_group_has_no_bar():
    text = drawn(watch_view(samples.action(), [samples.group("empty", "success")], [], NOW), 80)
    assert "no nodes" in text[4]


LIFECYCLES = {"Complete": "✓ Complete", "Failed": "✗ Failed", "Pending": "· Pending", "Processing": "▸ Processing"}


@pytest.mark.parametrize(("lifecycle", "text"), LIFECYCLES.items(), ids=LIFECYCLES.keys())
def test_the_lifecycle_is_a_glyph_and_a_word(lifecycle, text):
    assert text in drawn(watch_view(samples.action(lifecycle), [], [], NOW), 80)[0]


def test_a_failed_step_is_named_before_a_running_one():
    found = samples.action(steps=samples.steps("success", "failed", "running"))
    assert "✗ concurrency_check" in drawn(watch_view(found, [], [], NOW), 80)[1]


def test_words_of_the_server_are_never_taken_as_markup_or_control():
    groups = [samples.group("[red]g[/red]\x1b[31m", "failed", reason="deploy", detail="a\nb\x1b]0;x\x07 [bold]")]
    text = "\n".join(drawn(watch_view(samples.action(name="[b]x"), groups, [], NOW), 100))
    assert "[red]g[/red]" in text
    assert "[b]x" in text
    assert "a b" in text
    assert "\x1b]" not in text
    assert "\x07" not in text


def test_long_names_and_unknown_words_keep_the_columns():
    groups = [samples.group("x" * 300, "reticulating", counts={"success": 1})]
    text = drawn(watch_view(samples.action(), groups, [], NOW), 80)
    assert text[4].startswith("xxxxxxxxxx…xxxxxxxxx ")
    assert "· reticulating" in text[4] or "· reticulat" in text[4]


def test_failures_beyond_a_few_are_counted():
    nodes = [samples.node(f"n{number}", "failure", reason="deploy") for number in range(50)]
    text = drawn(watch_view(samples.action(), [], nodes, NOW), 80)
    assert text[-5:] == [*(f"✗ node n{number}, deploy" for number in range(4)), "+ 46 more failures"]


def test_causes_come_before_what_followed_from_them():
    followed = samples.group("a", "failed", reason="dependency", detail="depends on z, which failed")
    groups = [followed, samples.group("z", "failed", reason="deploy", detail="0 of 1")]
    text = drawn(watch_view(samples.action(), groups, [samples.node("n", "failure", reason="deploy")], NOW), 80)
    assert text[-3:] == [
        "✗ group z, deploy: 0 of 1",
        "✗ node n, deploy",
        "✗ group a, dependency: depends on z, which failed",
    ]


def test_a_note_of_the_watcher_is_the_last_line():
    view = WatchView(Snapshot(samples.action()), NOW, 5, "no answer for 3 s, retrying")
    assert drawn(view, 80)[-1] == "no answer for 3 s, retrying"


SHARES = {
    "even": ({"a": 1, "b": 1}, 10, {"a": 5, "b": 5}),
    "rare ones are seen": ({"a": 998, "b": 1, "c": 1}, 10, {"a": 8, "b": 1, "c": 1}),
    "nothing is nothing": ({"a": 3, "b": 0}, 7, {"a": 7, "b": 0}),
    "none at all": ({"a": 0, "b": 0}, 7, {"a": 0, "b": 0}),
    "one more goes to the largest rest": ({"a": 2, "b": 1}, 10, {"a": 7, "b": 3}),
    "no room": ({"a": 1, "b": 1, "c": 1}, 2, {"a": 1, "b": 1, "c": 1}),
}


@pytest.mark.parametrize(("counts", "width", "cells"), SHARES.values(), ids=SHARES.keys())
def test_share(counts, width, cells):
    assert share(counts, width) == cells


def test_svg_is_whole_names_no_address_and_shows_the_groups():
    groups, nodes = samples.five_groups()
    svg = export_svg(samples.action(steps=samples.steps(*STATES)), groups, nodes, NOW, "shipyard watch")
    root = ET.fromstring(svg)
    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "font-face" not in svg
    text = "".join(root.itertext()).replace("\xa0", " ")
    for word in ("shipyard watch", "control-nodes", "deploying", "critical", "0 of 1 prepared"):
        assert word in text
    assert svg == export_svg(samples.action(steps=samples.steps(*STATES)), groups, nodes, NOW, "shipyard watch")


def test_a_large_site_is_drawn_quickly_enough_to_watch():
    groups = samples.many_groups(1000)
    nodes = [samples.node(f"n{number}") for number in range(10_000)]
    view = watch_view(samples.action(), groups, nodes, NOW)
    began = time.process_time()
    drawn(view, 100)
    assert time.process_time() - began < 2  # measured: 0.03 s; a square would take minutes
