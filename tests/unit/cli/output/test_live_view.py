"""The picture of ``watch``: right at every width and size, and readable without colour."""

import re
import xml.etree.ElementTree as ET
from itertools import product
from typing import Any

from rich.cells import cell_len

from shipyard_api.cli.output.live_view import WatchView, export_svg, watch_view
from shipyard_api.cli.output.snapshot import Snapshot
from tests.unit.cli import samples
from tests.unit.cli.printed import drawn
from tests.unit.cli.samples import NOW
from tests.unit.tables import every_row

STATES = [*["success"] * 6, "running", "success", "success", "running"]


def five(width: int, **fields: object) -> list[str]:
    groups, nodes = samples.five_groups()
    return drawn(watch_view(samples.action(steps=samples.steps(*STATES), **fields), groups, nodes, NOW), width)


def test_the_designs_example_on_80_columns():
    assert five(80) == [
        "deploy_site  01M7XV7VKPMDHXJVA7WMC7P6XP                       ▸ Processing  7:16",
        "Steps  ✓✓✓✓✓✓▸✓✓▸·  8 of 11 done  ▸ drydock_build.prepare_and_deploy_nodes",
        "─" * 80,
        "Group                       Status             Done               Nodes",
        "control-nodes     critical  ✓ success           4 of  4, needs 3  ■■■■",
        "ntp-node          critical  ✗ failed, prepare   0 of  1, needs 1  ×",
        "compute-nodes-1             ▸ deploying         3 of 11, needs 6  ■■■□□□□□□□×",
        "compute-nodes-2             ▸ preparing         0 of 12, needs 6  □□··········",
        "monitoring-nodes            · not started       0 of  6           ······",
        "─" * 80,
        "34 nodes   ■ 7 deployed   □ 9 prepared   × 2 failed   · 16 not started",
        "✗ group ntp-node, prepare: minimum_successful_nodes: 1 needed, 0 of 1 prepared",
        "  - node ntp01, prepare: BMC 10.0.0.9 does not answer",
        "✗ node compute99 of compute-nodes-1, deploy: curtin: no root device",
    ]


@every_row([40, 50, 75, 76, 200])
def test_no_line_is_wider_than_the_terminal_and_no_group_takes_two(width):
    text = five(width)
    assert max(cell_len(line) for line in text) <= width
    names = ("control", "compute-nodes-1", "compute-nodes-2", "monitoring", "ntp-node")
    assert [sum(line.startswith(name) for line in text) for name in names] == [1] * 5
    told = ("✓ success", "▸ deploying", "▸ preparing", "· not started", "✗ failed", "16 not started")
    for word in (
        *told,
        *(("3/11", "0/12") if width < 50 else ("3 of 11, needs 6", "0 of 12, needs 6")),
        "Done",
        "01M7XV7VKPMDHXJVA7WMC7P6XP",
        "drydock_build.prepare_and_deploy_nodes",
    ):
        assert any(word in line for line in text), word


RACKS = [f"site-north-hall-2-row-{row:02}-rack-{rack:02}-compute-nodes" for row in range(1, 5) for rack in range(1, 6)]
CITIES = [
    f"{city}-hall-2-row-7-compute-nodes-{number:02}-standard" for city in ("oslo", "rome") for number in range(10)
]


@every_row(product([RACKS, CITIES], [40, 80]))
def test_twenty_groups_with_long_names_are_twenty_different_rows(names, width):
    groups = [samples.group(name, "deploying", counts={"success": 2, "prepared": 10}, needs=9) for name in names]
    text = drawn(watch_view(samples.action(), groups, [], NOW, 32), width)
    rows = [line for line in text if "▸ deploying" in line]
    assert len({line.split()[0] for line in rows}) == 20
    assert max(cell_len(line) for line in text) <= width
    assert all("2/12" in line or "2 of 12, needs 9" in line for line in rows)
    short = rows[0].split()[0]
    if short.startswith("…") and not short.endswith("…"):  # what no row repeats is in the rule above
        assert any(line.startswith(names[0].removesuffix(short[1:]) + "… ─") for line in text)


@every_row(
    [(12, 80, "■" * 12), (30, 60, ""), (30, 80, "30 deployed"), (30, 100, "■" * 30), (80, 140, "■" * 80)],
)
def test_a_square_is_one_node_or_there_is_none(total, width, shown):
    group = samples.group("compute", "success", counts={"success": total}, needs=total)
    row = drawn(watch_view(samples.action(), [group], [], NOW), width)[4]
    assert row.partition(f"needs {total}")[2].strip() == shown


def failing(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A failed group that others depend on, and failed nodes, each with a long reason of its own."""
    followed = {"reason": "dependency", "detail": "depends on root, which failed", "depends_on": ["root"]}
    groups = [
        samples.group("after-1", "failed", counts={"not_started": 8}, **followed),
        samples.group("root", "failed", reason="deploy", detail="0 of 1", counts={"failure": 1}),
        samples.group("after-2", "failed", counts={"not_started": 8}, **followed),
    ]
    detail = "curtin: no bootable disk on /dev/sda; the firmware found 0 devices after 3 attempts, see the console"
    nodes = [
        samples.node(f"n{number}", "failure", "root", reason="deploy", detail=f"{detail} {number}")
        for number in range(count)
    ]
    return groups, nodes


@every_row(product([40, 140], [18, 50], [1, 40]))
def test_failures_use_every_line_that_is_free(width, height, count):
    groups, nodes = failing(count)
    text = drawn(watch_view(samples.action(), groups, nodes, NOW, height), width)
    assert len(text) <= height
    cut = [line for line in text if "…" in line or line.startswith("+ ")]
    assert not cut or len(text) == height
    names = [line.split()[0] for line in text if "✗ failed" in line]
    assert names == ["root", "after-1", "after-2"][: len(names)]
    assert any(line.startswith("✗ group root, deploy: 0 of 1") for line in text)


@every_row([40, 80])
def test_without_a_limit_no_reason_is_cut(width):
    groups, nodes = failing(40)
    text = " ".join(line.strip() for line in drawn(watch_view(samples.action(), groups, nodes, NOW), width))
    for number in range(40):
        assert f"found 0 devices after 3 attempts, see the console {number} " in text
    assert "…" not in text
    assert text.endswith("- groups after-1, after-2 depend on it and were not started")


@every_row([40, 120])
def test_a_thousand_groups_show_what_matters_in_run_order_and_fold_the_rest(width):
    groups = samples.many_groups(1000)
    text = drawn(watch_view(samples.action(), groups, [], NOW, 24), width)
    shown = [line.split()[0] for line in text if line.startswith("rack-")]
    failed = [f"rack-{number:04}" for number in range(7, 1000, 90)]
    assert shown == sorted([*failed[: len(shown) - 2], "rack-0500", "rack-0501"])
    (folded,) = [line for line in text if line.startswith(f"+ {1000 - len(shown)} more groups: ")]
    counts = [int(part.split()[0]) for part in folded.partition(": ")[2].split(", ") if part[0].isdigit()]
    assert sum(counts) == 1000 - len(shown) or folded.endswith("…")
    assert max(cell_len(line) for line in text) <= width
    assert len(text) == 24
    assert re.fullmatch(r"\+ \d+ more lines, all shown at the end", text[-1])


@every_row([60, 80, 120])
def test_no_groups_yet(width):
    text = drawn(watch_view(samples.action("Pending", steps=[], datetime=None), [], [], NOW), width)
    assert text[0].endswith("· Pending")
    assert text[1:4] == ["Steps  none yet", "─" * width, "Groups are known once the site design has been checked."]
    assert "0 deployed" in text[-1]


def test_words_of_the_server_are_never_taken_as_markup_or_control():
    groups = [samples.group("[red]g[/red]\x1b[31m", "failed", reason="deploy", detail="a\nb\x1b]0;x\x07 [bold]")]
    text = "\n".join(drawn(watch_view(samples.action(name="[b]x"), groups, [], NOW), 100))
    assert "[red]g[/red]" in text
    assert "[b]x" in text
    assert "a b" in text
    assert "\x1b]" not in text
    assert "\x07" not in text


def test_a_note_of_the_watcher_is_the_last_line():
    view = WatchView(Snapshot.of(samples.action()), NOW, 24, "no answer for 3 s, retrying")
    assert drawn(view, 80)[-1] == "no answer for 3 s, retrying"


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


def teardown(node: str, *waits: str) -> dict[str, Any]:
    return {"node": node, "operation": "drain", "since": NOW.isoformat(), "waits_for": list(waits), "waits": len(waits)}


def test_what_a_teardown_waits_for_is_told_instead_of_its_work_items():
    reason = "default/db-0: budget default/db allows no disruption at all: this will not end by itself"
    waiting = {"who": "work items", "what": "the items of destroy_nodes"}
    action = samples.action(steps=samples.steps(*STATES), waiting_for=waiting, teardowns=[teardown("n1", reason)])
    assert drawn(watch_view(action, [], [], NOW), 80)[-2:] == [
        "n1: drain (0:00) waits for default/db-0: budget default/db allows no disruption",
        "at all: this will not end by itself",
    ]
    many = [teardown(f"n{number}", reason) for number in range(9)]
    text = drawn(watch_view(samples.action(teardowns=many), [], [], NOW, height=24), 60)
    assert len(text) <= 24
    assert text[-6:-4] == [
        f"n{number}: drain (0:00) waits for default/db-0: budget default/db …" for number in range(2)
    ]
    assert text[-1] == "+ 4 more nodes"
