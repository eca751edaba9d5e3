"""The picture of ``software watch``: right at every width and number of tasks, and readable without colour."""

from typing import Any

from rich.cells import cell_len

from shipyard_api.cli.output.software_view import SoftwareView
from shipyard_api.cli.output.task_tables import Progress
from tests.unit.cli import printed, samples
from tests.unit.cli.samples import NOW
from tests.unit.tables import every_row


def total(task: str, **counts: int) -> dict[str, Any]:
    return {"task": task, **dict.fromkeys(("running", "success", "failed", "left"), 0), **counts}


def progress(*totals: dict[str, Any], failed: tuple[tuple[str, str], ...] = ()) -> Progress:
    waiting = {"who": "SSH", "what": "ntp on 12 nodes", "since": NOW.isoformat()}
    tasks = [samples.task(*names) for names in failed]
    return Progress.of(samples.action("Processing", waiting_for=waiting), {"tasks": tasks, "totals": list(totals)})


FIVE = progress(
    total("apt", success=34),
    total("galera", success=1, failed=2),
    total("netconfig-of-the-whole-rack", success=30, running=4),
    total("ntp", running=12, success=22),
    total("swift", left=3),
    failed=(("galera", "n7"), ("galera", "n8")),
)


def drawn(found: Progress, width: int, height: int | None = None, note: str = "") -> list[str]:
    return printed.drawn(SoftwareView(found, NOW, height, note), width)


def test_tasks_on_80_columns() -> None:
    assert drawn(FIVE, 80) == [
        "deploy_site  01M7XV7VKPMDHXJVA7WMC7P6XP                       ▸ Processing  7:16",
        "5 tasks on nodes   ✓ 87 ok   ▸ 16 running   ✗ 2 failed   ! 3 left running",
        "─" * 80,
        "Task                           Ok  Running  Failed  Left  Failed Nodes",
        "✓ apt                          34        0       0     0",
        "✗ galera                        1        0       2     0  n7, n8",
        "▸ netconfig-of-the-whole-rack  30        4       0     0",
        "▸ ntp                          22       12       0     0",
        "! swift                         0        0       0     3",
        "─" * 80,
        "Waiting for SSH: ntp on 12 nodes (for 0:00)",
    ]


@every_row([40, 60, 79, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_failed_nodes_are_named(width: int) -> None:
    text = drawn(FIVE, width)

    assert max(map(cell_len, text)) <= width
    assert any("galera" in line and "n7, n8" in line for line in text)


def test_what_failed_or_runs_is_shown_before_what_is_done() -> None:
    totals = [total(f"task-{number:03}", success=9, failed=int(number == 150)) for number in range(200)]

    text = drawn(progress(*totals, failed=(("task-150", "n1"),)), 80, 14, "no answer for 3 s, retrying")

    assert len(text) <= 14
    assert any(line.startswith("✗ task-150") for line in text)
    assert "+ 194 more tasks: 194 ok" in text
    assert text[-1] == "no answer for 3 s, retrying"


def test_before_the_first_task_it_says_so() -> None:
    assert drawn(progress(), 60)[1:] == [
        "No task has begun yet.",
        "─" * 60,
        "Waiting for SSH: ntp on 12 nodes (for 0:00)",
    ]
