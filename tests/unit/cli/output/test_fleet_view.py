"""The picture of ``fleet``: right at every width and number of sites, and readable without colour."""

from itertools import product
from typing import Any

from rich.cells import cell_len

from shipyard_api.cli.output.fleet_tables import NOT_YET
from shipyard_api.cli.output.fleet_view import FleetView
from tests.unit.cli import printed
from tests.unit.cli.samples import ID, NOW
from tests.unit.tables import every_row


def row(site: str, lifecycle: str = "Complete", verdict: str | None = "success", **members: Any) -> dict[str, Any]:
    action = {"id": ID, "name": "deploy_site", "action_lifecycle": lifecycle}
    nodes = {"total": 16, "success": 16, "prepared": 0, "failure": 0, "not_started": 0}
    usual = {"health": "ready", "action": action, "verdict": verdict, "nodes": nodes, "error": None}
    return {"site": site, "url": f"http://{site}", **usual, **members}


WAITING = {"who": "Drydock", "what": "deploying of compute-nodes-1"}
FLEET = [
    row(
        "berlin",
        "Processing",
        None,
        nodes={"total": 34, "success": 7, "prepared": 9, "failure": 2, "not_started": 16},
        waiting_for=WAITING,
    ),
    row("oslo", health="not ready, failed: database"),
    row("dark", error="no connection to 10.0.0.9:80: timed out", age=40.0),
    row("new", action=None, verdict=None, nodes={}),
    row("lima", "Failed", "failed", nodes={"total": 3000, "success": 2990, "failure": 3, "not_started": 7}),
    row("asked", health=None, action=None, verdict=None, nodes={}, error=NOT_YET),
]


def drawn(rows: Any, width: int, height: int | None = None) -> list[str]:
    return printed.drawn(FleetView(rows, NOW, height), width)


def test_a_fleet_on_100_columns() -> None:
    assert drawn(FLEET, 100) == [
        "6 sites   ✗ 1 no answer   ✗ 1 failed   ! 1 not ready   ▸ 1 at work   · 1 being asked   ✓ 1 at rest",
        "─" * 100,
        "Site      Health     Action       State       Done          Nodes",
        "▸ berlin  ready      deploy_site  Processing  7 of 34       ■■■■□□□□□□×·············",
        "! oslo    not ready  deploy_site  Complete    16 of 16      ■■■■■■■■■■■■■■■■",
        "✗ dark    no answer  deploy_site  Complete    16 of 16      ■■■■■■■■■■■■■■■■",
        "✓ new     ready      none",
        "✗ lima    ready      deploy_site  Failed      2990 of 3000  ■■■■■■■■■■■■■■■■■■■■■■×·",
        "· asked   …",
        "─" * 100,
        "! oslo: not ready, failed: database",
        "✗ dark: no connection to 10.0.0.9:80: timed out (answered last 40 s ago)",
        "  berlin waits for Drydock: deploying of compute-nodes-1",
    ]


@every_row([30, 40, 60, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_terminal_and_every_site_has_one(width: int) -> None:
    text = drawn(FLEET, width)

    assert max(map(cell_len, text)) <= width
    for site in FLEET:
        assert sum(line[2:].startswith(f"{site['site']} ") or line[2:] == site["site"] for line in text) >= 1


@every_row(product([1, 60], [8, 24]))
def test_the_view_fits_the_terminal_and_shows_first_what_needs_a_look(number: int, height: int) -> None:
    calm = [row(f"calm-{at}") for at in range(number)]
    rows = [*calm, row("broken", "Failed", "failed"), row("dark", error="no answer")]

    text = drawn(rows, 80, height)

    assert len(text) <= height
    assert any("broken" in line for line in text)
    assert any("dark" in line for line in text)
    if number > height:
        assert any(line.startswith("+ ") and "at rest" in line for line in text)
    assert len(drawn(rows, 80)) >= len(rows)
