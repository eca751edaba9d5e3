"""Following an action: what is requested, what is shown line by line, and when it ends."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

import pytest

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import watch
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from tests.conftest import ROOT
from tests.unit.cli import samples
from tests.unit.cli.fake_api import FakeApi, Reply, deployment
from tests.unit.cli.samples import ID

GROUPS = [
    samples.group("control-nodes", "success", counts={"success": 2}),
    samples.group("ntp-node", "failed", critical=False, reason="prepare", detail="0 of 1", counts={"failure": 1}),
]
NODES = [
    samples.node("n1"),
    samples.node("n2"),
    samples.node("n3", "failure", "ntp-node", reason="prepare", detail="BMC does\nnot answer"),
]


@pytest.fixture
def site(api: FakeApi) -> FakeApi:
    """An action that is pending, then processing, then complete with one group failed."""
    api.replies |= deployment(samples.action("Complete"), GROUPS, NODES).replies
    return api


def test_watch_without_a_terminal_prints_one_line_per_change(site, run):
    result = run("watch", ID, "--interval", "0.1")
    told = [line.strip().split("  ", 1) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line for _, line in told] == [
        f"action deploy_site {ID}",
        "action is Pending",
        "step action_xcom is success",
        "step concurrency_check is success",
        "action is Processing",
        "group control-nodes is success, 2 nodes: 2 deployed",
        "group ntp-node is failed (prepare: 0 of 1), 1 node: 1 failed",
        "node n3 failed (prepare: BMC does not answer)",
        "action is Complete",
    ]


def follow(api: FakeApi, **settings: float) -> list[tuple[str, str]]:
    shown: list[tuple[str, str]] = []
    client = Api(GlobalOptions(url=api.url))
    watch.follow(client, ID, lambda snapshot, note: shown.append((snapshot.lifecycle, note)), interval=0, **settings)
    return shown


def test_a_server_that_is_away_for_a_moment_is_asked_again(site):
    away, one = Reply(503, {"message": "starting"}), f"GET /actions/{ID}"
    pending, processing, complete = site.replies[one]
    site.replies[one] = [pending, away, away, away, processing, complete]
    assert follow(site) == [
        ("Pending", ""),
        ("Pending", "no answer for 1 s, retrying"),
        ("Processing", ""),
        ("Complete", ""),
    ]


def test_a_server_that_stays_away_is_given_up(site, monkeypatch):
    monkeypatch.setattr(watch, "OUTAGE_LIMIT", 0.5)
    one = f"GET /actions/{ID}"
    site.replies[one] = [site.replies[one][0], Reply(503, {"message": "starting", "reason": "R"})]
    with pytest.raises(ApiError, match="Error: starting\nReason: R"):
        follow(site)


def test_an_action_that_does_not_go_on_is_given_up_where_patience_ends(api):
    api.replies = deployment(samples.action("Processing"), GROUPS, NODES).replies
    with pytest.raises(watch.StalledError, match=f"nothing has changed in action {ID} for 0 s"):
        follow(api, patience=0.05)


def test_an_answer_that_forbids_ends_the_watch_at_once(site):
    one = f"GET /actions/{ID}"
    site.replies[one] = [site.replies[one][0], Reply(403, {})]
    with pytest.raises(ApiError, match="Unauthorized"):
        follow(site)


def test_nodes_are_asked_for_only_when_a_group_counts_differently(api):
    busy = samples.group("g", "deploying", counts={"prepared": 1})
    done = samples.group("g", "success", counts={"success": 1})
    api.replies = {
        f"GET /actions/{ID}": [Reply(200, samples.action())] * 3 + [Reply(200, samples.action("Complete"))],
        f"GET /actions/{ID}/groups": [Reply(200, {"groups": [one], "next": None}) for one in (busy, busy, done)],
        f"GET /actions/{ID}/nodes": Reply(200, {"nodes": [], "next": None}),
    }
    follow(api)
    words = [request.path.rpartition("/")[2].replace(ID, "action") for request in api.requests]
    first, same, changed = ["action", "groups", "nodes"], ["action", "groups"], ["action", "groups", "nodes"]
    assert words == [*first, *same, *changed, "action", "groups", "create_action_tag", "nodes"]


def test_the_end_of_an_action_is_that_of_its_last_step_and_a_failed_step_says_why(api):
    path = f"/actions/{ID}"
    steps = samples.steps("failed", "success")
    failing, last = steps[0]["id"], steps[-1]["id"]
    api.replies = {
        f"GET {path}": Reply(200, samples.action("Failed", steps=steps)),
        f"GET {path}/groups": Reply(200, {"groups": [], "next": None}),
        f"GET {path}/nodes": Reply(200, {"nodes": [], "next": None}),
        f"GET {path}/steps/{failing}": Reply(200, {"detail": "ntp failed on n2", "end_date": None}),
        f"GET {path}/steps/{last}": Reply(200, {"detail": "", "end_date": "2026-11-22T01:24:56Z"}),
    }

    ended = watch.take_snapshot(Api(GlobalOptions(url=api.url)), ID)

    assert ended.action["ended_at"] == "2026-11-22T01:24:56Z"
    assert [step["detail"] for step in ended.steps if "detail" in step] == ["ntp failed on n2", ""]


def resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def on_a_terminal(site: FakeApi) -> tuple[bytes, int]:
    """Run ``watch`` on a terminal of 100 by 30 that becomes 60 by 20; return what it wrote, and its exit code."""
    ours, theirs = pty.openpty()
    resize(theirs, 100, 30)
    one = f"GET /actions/{ID}"
    replies = list(site.replies[one])

    def reply(_):
        if len(replies) == 2:  # one view has been drawn
            resize(theirs, 60, 20)
        return replies.pop(0) if len(replies) > 1 else replies[0]

    site.replies[one] = reply
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    code = "from shipyard_api.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", code, "watch", ID, "--interval", "0.1"],
        stdin=theirs,
        stdout=theirs,
        env=kept | {"SHIPYARD_URL": site.url, "TERM": "xterm", "PYTHONPATH": str(ROOT)},
    ) as process:
        written = b""
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                written += os.read(ours, 65536)
    os.close(theirs)
    os.close(ours)
    return written, process.returncode


def test_watch_on_a_terminal_fills_its_screen_whatever_its_size_and_leaves_the_last_view(site):
    written, code = on_a_terminal(site)
    screen, _, left = written.decode().partition("\x1b[?1049l")
    frames = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frame).split("\r\n") for frame in screen.split("\x1b[H")]
    sizes = [(len(frame), {len(line) for line in frame}) for frame in frames if "deploy_site" in frame[0]]
    assert code == 0
    assert (sizes[0], sizes[-1]) == ((30, {100}), (20, {60}))
    assert "Pending" in frames[-len(sizes)][0]
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", left).splitlines()
    assert max(len(line) for line in shown) <= 60
    for word in ("Complete", "success", "failed", "2 deployed", "- node n3, prepare: BMC does not answer"):
        assert any(word in line for line in shown), word


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"encoding": "latin-1"}], ids=["dumb", "no Unicode"])
def test_watch_on_a_terminal_that_cannot_draw_prints_lines(site, run_main, environment):
    written, code = run_main("watch", ID, "--interval=0.1", **environment)
    assert code == 0
    assert b"\x1b" not in written
    assert b"group control-nodes is success, 2 nodes: 2 deployed\n" in written
