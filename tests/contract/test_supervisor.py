"""The supervisor on a node, run here without SSH: killed at every line, raced, purged, and under several shells."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from shipyard_api.adapters.ssh import supervisor
from shipyard_api.adapters.ssh.supervisor import NO_SPACE, ReportError, parse, result
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import ENDED_REMOTE, RemoteFile, RemoteResult, RemoteState, RemoteTask
from tests.sshd import end_processes
from tests.waiting import until

M = Marker("m")
SCRIPT = supervisor.SCRIPT.decode()

# Functions of a start, in the connection and detached.
CONNECTED, DETACHED = ("home", "stage", "launch", "start"), ("claim", "run", "supervise", "attempt")


class Node:
    """A directory of tasks, and a file that tasks of this test write a line to."""

    def __init__(self, directory: Path, shell: str = "/bin/sh") -> None:
        self.directory, self.shell = directory, shell
        directory.mkdir(exist_ok=True)
        self.tasks = directory / "tasks"
        self.marks = directory / "marks"
        self.task = RemoteTask(f"echo mark >>'{self.marks}'", timeout=30)
        self.inside: tuple[str, ...] = ()

    @property
    def state(self) -> Path:
        return self.tasks / supervisor.directory_name(M)

    def start(self, task: RemoteTask | None = None, script: str = SCRIPT) -> RemoteResult | None:
        return self._call(supervisor.start(M, task or self.task, 1000), task or self.task, script)

    def look(self, task: RemoteTask | None = None) -> RemoteResult:
        found = self._call(supervisor.call("look", M, 1000), task or self.task, SCRIPT)
        assert found is not None
        return found

    def stop(self) -> RemoteResult:
        found = self._call(supervisor.call("stop", M, 1000), self.task, SCRIPT)
        assert found is not None
        return found

    def until_ended(self, task: RemoteTask | None = None) -> RemoteResult:
        def ended() -> RemoteResult | None:
            found = self.look(task)
            assert found.state in {*ENDED_REMOTE, RemoteState.RUNNING}, found
            return found if found.state in ENDED_REMOTE else None

        return until(ended)

    def runs(self) -> int:
        return len(self.marks.read_text().splitlines()) if self.marks.exists() else 0

    def _call(self, call: tuple[str, bytes], task: RemoteTask, script: str) -> RemoteResult | None:
        done = self.ssh(call, script)
        with suppress(ReportError):
            return result(parse(done.stdout), task) if done.returncode == 0 else None
        return None

    def ssh(self, call: tuple[str, bytes], script: str = SCRIPT) -> "subprocess.CompletedProcess[bytes]":
        command, data = call
        text = script.encode()
        command = command.replace("/bin/sh", self.shell).replace(
            f"head -c {len(supervisor.SCRIPT)}", f"head -c {len(text)}"
        )
        return subprocess.run(
            [*self.inside, "/bin/sh", "-c", command],
            input=text + data.removeprefix(supervisor.SCRIPT),
            capture_output=True,
            check=False,
            env=self._environment(),
            start_new_session=True,
        )

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "SHIPYARD_TASKS": str(self.tasks),
            "KILLED": str(self.directory / "killed"),
        }


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """End what killed supervisors left. Our processes are known by their environment, which names this test."""
    yield
    end_processes(f"SHIPYARD_TASKS={tmp_path}/")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def small(node: Node) -> Iterator[Node]:
    """A node with 256 KiB for its tasks: a file system of its own, in a namespace where we may mount one."""
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("this machine has no unshare and nsenter")
    node.tasks.mkdir()
    mount = 'mount -t tmpfs -o size=256k tmpfs "$1" && echo ready && exec sleep 600'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(node.tasks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        ready = holder.stdout.readline() == b"ready\n"
        node.inside = ("nsenter", f"--target={holder.pid}", "--user", "--preserve-credentials", "--mount")
        try:
            if not ready:
                pytest.skip("this machine lets nobody mount in a user namespace")
            yield node
        finally:
            holder.kill()


def fill(node: Node) -> None:
    command = [*node.inside, "sh", "-c", 'head -c 3000000 /dev/zero >"$1/fill"', "sh", node.tasks]
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)


def test_a_task_whose_output_fills_the_disk_keeps_its_exit_status(small: Node) -> None:
    task = RemoteTask("yes | head -c 3000000; exit 3", timeout=30)
    small.start(task)
    done = small.until_ended(task)
    assert (done.state, done.exit_status, done.attempts) == (RemoteState.FAILED, 3, 1)
    assert done.size > 0


def test_a_task_is_not_started_without_space_and_ends_well_once_it_was(small: Node) -> None:
    fill(small)
    refused = small.ssh(supervisor.start(M, small.task, 1000))
    assert (refused.returncode, refused.stdout.decode()) == (NO_SPACE, f"{small.state}\n")
    assert small.look().state is RemoteState.UNKNOWN

    subprocess.run([*small.inside, "rm", f"{small.tasks}/fill"], check=True)
    task = RemoteTask(f"head -c 3000000 /dev/zero >'{small.tasks}/fill'; echo done", timeout=30)
    small.start(task)
    done = small.until_ended(task)
    assert (done.state, done.exit_status, done.attempts) == (RemoteState.SUCCESS, 0, 1)


def killed_once_at_every_line() -> Iterator[tuple[str, str]]:
    """Yield the name of a function, and the script with a kill before one line of it that happens once."""
    lines = SCRIPT.splitlines()
    function = ""
    for number, line in enumerate(lines):
        if found := re.fullmatch(r"(\w+)\(\) \{", line):
            function = found[1]
        elif line == "}":
            function = ""
        elif function in CONNECTED + DETACHED:
            kill = 'if mkdir "$KILLED" 2>/dev/null; then kill -9 $$; fi'
            script = "\n".join([*lines[:number], kill, *lines[number:]])
            if (
                subprocess.run(["/bin/sh", "-n"], input=script.encode(), capture_output=True, check=False).returncode
                == 0
            ):
                yield f"{function} {number}: {line.strip()}", script


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def test_a_start_that_is_killed_anywhere_starts_once_or_says_that_it_is_lost(tmp_path: Path, stride: int) -> None:
    def play(number: int, place: str, script: str) -> str | None:
        node = Node(tmp_path / str(number))
        node.start(script=script)
        node.start()
        done = node.until_ended()
        if not (node.directory / "killed").exists():
            return None  # a line that a start does not come to
        if done.state is RemoteState.SUCCESS and node.runs() == 1:
            return "success"
        assert place.split()[0] in DETACHED, (place, done)
        assert done.state in (RemoteState.LOST, RemoteState.FAILED), (place, done)
        assert node.runs() <= 1, (place, done)
        assert node.start() == done
        return "lost"

    with ThreadPoolExecutor(4) as pool:
        points = list(killed_once_at_every_line())[::stride]
        outcomes = list(pool.map(lambda point: play(point[0], *point[1]), enumerate(points)))
    assert {"success", "lost"} <= set(outcomes)
    assert len([one for one in outcomes if one]) > 40 / stride


def test_starts_at_the_same_time_start_once(node: Node) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: node.start(), range(8)))
    assert all(found is not None for found in results)
    assert node.until_ended().state is RemoteState.SUCCESS
    assert node.runs() == 1


def test_a_stop_and_a_start_at_the_same_time_agree(tmp_path: Path) -> None:
    for number in range(6):
        node = Node(tmp_path / str(number))
        with ThreadPoolExecutor(2) as pool:
            started, stopped = pool.submit(node.start), pool.submit(node.stop)
            started.result(), stopped.result()
        done = node.look()
        assert done.state in (RemoteState.STOPPED, RemoteState.SUCCESS)
        before = node.runs()
        assert before <= 1
        assert node.start() == done
        assert node.runs() == before


def test_a_task_that_arrives_in_part_is_not_started(node: Node) -> None:
    task = RemoteTask(None, (RemoteFile("/nowhere", b"x" * 100_000),))
    command, data = supervisor.start(M, task, 1000)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=data[:-1],
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "SHIPYARD_TASKS": str(node.tasks)},
    )
    assert done.returncode == 1
    assert b"did not arrive whole" in done.stderr
    assert node.look().state is RemoteState.UNKNOWN
    assert list(node.state.iterdir()) == []


def test_after_a_reboot_a_running_task_is_lost(node: Node) -> None:
    node.start(RemoteTask("sleep 30", timeout=30))
    record = node.state / "run"
    words = record.read_text().split()
    words[1] = "0" * 36
    record.write_text(" ".join(words))
    assert node.look().detail == "the node was restarted while it ran"
    words[1] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record.write_text(" ".join(words))
    assert node.stop().state is RemoteState.STOPPED


def test_a_reboot_happens_once_however_often_it_is_started(node: Node) -> None:
    boot, tools = node.directory / "boot_id", node.directory / "bin"
    boot.write_text("boot-1\n")
    tools.mkdir()
    (tools / "reboot").write_text(f"#!/bin/sh\necho reboot >>'{node.marks}'\n")
    (tools / "reboot").chmod(0o755)
    here = SCRIPT.replace("/proc/sys/kernel/random/boot_id", str(boot)).replace("PATH=${PATH", f"PATH={tools}:${{PATH")
    task = RemoteTask("reboot", timeout=30, reboots=True)

    for _ in range(3):
        going = node.start(task, here)
        assert going is not None
        assert going.state is RemoteState.RUNNING
    until((node.state / "end").exists)
    boot.write_text("boot-2\n")
    for _ in range(2):
        done = node.start(task, here)
        assert done is not None
        assert done.state is RemoteState.SUCCESS
    assert node.marks.read_text() == "reboot\n"


GARBAGE = {
    "run": b"", "end": b"garbage \xff\x00$(reboot)\n" * 3, "attempt": b"9" * 100_000, "total": b"- - - - -",
    "head": b"",
}  # fmt: skip


def test_records_of_garbage_are_a_state_or_a_refusal(tmp_path: Path) -> None:
    for at, (name, content) in enumerate([*GARBAGE.items(), ("run", GARBAGE["end"]), ("end", GARBAGE["attempt"])]):
        node = Node(tmp_path / str(at))
        node.state.mkdir(parents=True)
        (node.state / "run").write_text("supervisor x 1 1")
        (node.state / "end").write_text("exit 0 1 1.00 2.00")
        (node.state / name).write_bytes(content)
        found = node._call(supervisor.call("look", M, 1000), node.task, SCRIPT)
        assert found is None or found.state in (*ENDED_REMOTE, RemoteState.UNKNOWN), (name, content)


def test_tasks_that_ended_weeks_ago_are_forgotten(node: Node) -> None:
    node.start()
    node.until_ended()
    old, recent = node.tasks / "old-1", node.tasks / "recent-1"
    for directory in (old, recent):
        shutil.copytree(node.state, directory)
    weeks_ago = time.time() - 30 * 86_400
    os.utime(old, (weeks_ago, weeks_ago))
    node.start()
    assert not old.exists()
    assert recent.exists()


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_the_script_runs_under_the_shell_of_any_node(tmp_path: Path, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(found)
    node = Node(tmp_path, str(tmp_path / "bin" / "sh"))
    task = RemoteTask(
        f"echo mark >>'{node.marks}'; cat '{tmp_path}/file'; yes | head -c 6000000; exit 3",
        (RemoteFile(f"{tmp_path}/file", b"content"),),
        timeout=30,
        retries=1,
    )
    node.start(task)
    done = node.until_ended(task)
    assert (done.state, done.exit_status, done.attempts) == (RemoteState.FAILED, 3, 2)
    assert done.size == 2 * 6_000_007 + len("[attempt 1 of 2 ended with exit status 3]\n")
    assert node.runs() == 2
