"""What tasks on nodes promise (ports/remote_tasks.py), asked of the fake and of real OpenSSH servers.

After that, what only real nodes can show: cut and hanging connections, keys, processes, hostile output.
"""

import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.adapters.ssh import JumpHost, supervisor
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import NodeFiles
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import ENDED_REMOTE, TAIL, Host, RemoteFile, RemoteResult, RemoteState, RemoteTask
from tests.contract.remote_task_sites import SITES, Site, sshd
from tests.waiting import until

M = Marker("act-1/step:2 'x' $(reboot)")


@pytest.fixture(scope="module", params=SITES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as cleanup:
        yield SITES[request.param](cleanup, tmp_path_factory.mktemp("nodes"))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as cleanup:
        yield sshd(cleanup, tmp_path_factory.mktemp("real"), count=2)


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> Marker:
    return Marker(f"{M} {request.node.nodeid}")


def until_ended(site: Site, marker: Marker, task: RemoteTask, host: Host) -> RemoteResult:
    def ended() -> RemoteResult | None:
        found = site.tasks.look(marker, task, [host])[host.name]
        assert found.state in {*ENDED_REMOTE, RemoteState.RUNNING}, found
        return found if found.state in ENDED_REMOTE else None

    return until(ended, every=0.05)


def until_gone(*pids: str) -> None:
    """Wait until processes that were killed have ended."""
    until(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], every=0.01)


def states(results: Any) -> list[RemoteState]:
    return [result.state for result in results.values()]


# Every site.


def test_a_started_task_runs_once_however_often_it_is_started(site: Site, marker: Marker) -> None:
    found = site.tasks.look(marker, RemoteTask("true"), site.hosts)
    assert found == {host.name: RemoteResult(RemoteState.UNKNOWN) for host in site.hosts}
    assert site.tasks.output(marker, site.hosts[0]) is None

    host = site.hosts[0]
    task = RemoteTask(site.command("true"))
    before = site.marks(host)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: site.tasks.start(marker, task, [host]), range(4)):
            assert found[host.name].state in (RemoteState.RUNNING, RemoteState.SUCCESS)
    done = until_ended(site, marker, task, host)
    assert (done.state, done.exit_status, done.attempts, done.detail) == (RemoteState.SUCCESS, 0, 1, "")
    assert site.tasks.start(marker, task, [host])[host.name].state is RemoteState.SUCCESS
    assert site.marks(host) == before + 1
    part = site.tasks.output(marker, host)
    assert part is not None
    assert (part.text, part.next_offset, part.kept) == ("", 0, 0)


def test_nodes_that_do_not_answer_stop_no_other(site: Site, marker: Marker) -> None:
    task = RemoteTask("true")
    found = site.tasks.start(marker, task, [site.dead, *site.hosts])
    assert found[site.dead.name].state is RemoteState.UNREACHABLE
    assert found[site.dead.name].detail
    for host in site.hosts:
        assert until_ended(site, marker, task, host).state is RemoteState.SUCCESS
    with pytest.raises(Unavailable):
        site.tasks.output(marker, site.dead)


def test_a_marker_that_was_stopped_starts_nothing(site: Site, marker: Marker) -> None:
    host = site.hosts[1]
    task = RemoteTask(site.command("true"))
    before = site.marks(host)
    for method in (site.tasks.stop, site.tasks.start, site.tasks.look, site.tasks.stop):
        assert states(method(marker, task, [host])) == [RemoteState.STOPPED]
    assert site.marks(host) == before


def test_a_task_that_fails_says_so_after_its_attempts(site: Site, marker: Marker) -> None:
    host = site.hosts[2]
    task = RemoteTask(site.command("exit 1"), retries=2)
    if site.fake:
        site.fake.failing.add((task.command, host.name))
    before = site.marks(host)
    site.tasks.start(marker, task, [host])
    done = until_ended(site, marker, task, host)
    assert (done.state, done.exit_status, done.attempts) == (RemoteState.FAILED, 1, 3)
    assert done.detail == "exit status 1"
    assert site.marks(host) == before + (1 if site.fake else 3)  # the fake counts starts


# Real nodes.


def run(real: Site, marker: Marker, task: RemoteTask, host: Host | None = None) -> RemoteResult:
    host = host or real.hosts[0]
    real.tasks.start(marker, task, [host])
    return until_ended(real, marker, task, host)


ATTEMPTS: dict[str, tuple[RemoteTask, str, int | None, int, str | None]] = {
    "a code of Puppet": (RemoteTask("exit 2", succeeds_with=frozenset({0, 2})), "success", 2, 1, ""),
    "a code": (RemoteTask("exit 255"), "failed", 255, 1, ""),
    "it killed itself": (RemoteTask("kill -9 $$"), "failed", 137, 1, ""),
    "a directory": (RemoteTask("pwd; umask", cwd="/usr"), "success", 0, 1, "/usr\n0022\n"),
    "no such directory": (RemoteTask("true", cwd="/no/such"), "failed", 1, 1, None),
    "quotes": (RemoteTask("echo \"a'b$(echo c)\"\n# '"), "success", 0, 1, "a'bc\n"),
    "no input": (RemoteTask("cat; echo end"), "success", 0, 1, "end\n"),
    "it leaves a service": (RemoteTask("(sleep 60 &) ; echo up"), "success", 0, 1, "up\n"),
    "errors": (RemoteTask("echo error >&2; echo out"), "success", 0, 1, "error\nout\n"),
    "a secret": (RemoteTask("echo a=hunter22 b;", secrets=("hunter22",)), "success", 0, 1, "a=*** b\n"),
    "hostile": (
        RemoteTask(r"printf 'a\377b\033[31mred\033[0m\033]0;title\007\r\nc\000\b d\303'"),
        *("success", 0, 1, "a\ufffdbred\nc d\ufffd"),
    ),
    "retries": (
        RemoteTask("echo no; exit 1", retries=1),
        *("failed", 1, 2, "no\n[attempt 1 of 2 ended with exit status 1]\nno\n"),
    ),
    "too long": (RemoteTask("sleep 60 & sleep 60", timeout=1, retries=5), "timed_out", None, 1, ""),
    "too long between": (RemoteTask("exit 1", timeout=1, retries=5, interval=60), "timed_out", 1, 1, None),
}


def test_an_attempt_ends_as_its_task_says(real: Site, marker: Marker) -> None:
    markers = {title: Marker(f"{marker} {title}") for title in ATTEMPTS}
    for title, (task, *_) in ATTEMPTS.items():
        real.tasks.start(markers[title], task, real.hosts[:1])
    for title, (task, state, status, attempts, tail) in ATTEMPTS.items():
        done = until_ended(real, markers[title], task, real.hosts[0])
        assert done.state is RemoteState(state), (title, done)
        assert status is None or done.exit_status == status, title
        assert done.attempts == attempts, title
        assert tail is None or done.tail == tail, title


def test_files_are_written_whole_with_their_modes_before_the_command(
    real: Site, marker: Marker, tmp_path: Path
) -> None:
    target = tmp_path / "it's a" / "deep $(x)" / "file"
    old = tmp_path / "old"
    old.write_text("old")
    content = bytes(range(256)) * 1000
    files = (RemoteFile(str(target), content, 0o640, 0o750), RemoteFile(str(old), b"new", 0o600))
    done = run(real, marker, RemoteTask("cat old", files, cwd=str(tmp_path)))
    assert (done.state, done.tail) == (RemoteState.SUCCESS, "new")
    assert target.read_bytes() == content
    assert [stat.S_IMODE(one.stat().st_mode) for one in (target, target.parent, old)] == [0o640, 0o750, 0o600]
    assert [one.name for one in target.parent.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_fails_its_task(real: Site, marker: Marker, tmp_path: Path) -> None:
    done = run(real, marker, RemoteTask(None, (RemoteFile(str(tmp_path), b""),)))
    assert (done.state, done.tail) == (RemoteState.FAILED, f"{tmp_path} is a directory\n")


def test_nothing_of_a_task_stays_readable_on_its_node(real: Site, marker: Marker) -> None:
    run(real, marker, RemoteTask("true"))
    tasks = real.servers[real.hosts[0].name].tasks
    assert stat.S_IMODE(tasks.stat().st_mode) == 0o700
    directory = tasks / supervisor.directory_name(marker)
    assert sorted(one.name for one in directory.iterdir()) == ["attempt", "end", "head", "run", "tail", "total"]


def test_of_a_very_long_output_the_beginning_and_the_end_are_kept(real: Site, marker: Marker) -> None:
    done = run(real, marker, RemoteTask("echo first; yes | head -c 8000000; echo last"))
    assert (done.state, done.size) == (RemoteState.SUCCESS, 8_000_011)
    assert len(done.tail) == TAIL
    assert done.tail.endswith("y\nlast\n")
    first = real.tasks.output(marker, real.hosts[0], limit=100)
    assert first is not None
    assert first.text.startswith("first\ny\n")
    assert (first.next_offset, first.size, first.kept) == (100, done.size, 4 * 1024 * 1024 + 65536)
    around = real.tasks.output(marker, real.hosts[0], offset=4 * 1024 * 1024 - 4, limit=8)
    assert around is not None
    assert around.text.split("]")[0] == f"y\ny\n\n[{done.size - first.kept} bytes are not kept"


def test_a_secret_is_hidden_wherever_an_output_is_cut(real: Site, marker: Marker) -> None:
    secret = "päss-word/1"
    task = RemoteTask(f"for i in $(seq 300); do printf '%s ' '{secret}'; done; printf end", secrets=(secret,))
    done = run(real, marker, task)
    assert set(done.tail.split()) <= {"***", "**", "*", "end"}
    text, offset = "", 0
    while (part := real.tasks.output(marker, real.hosts[0], secrets=(secret,), offset=offset, limit=997)) is not None:
        text += part.text
        offset = part.next_offset
        if offset == part.kept:
            break
    assert not {piece for piece in text.split() if piece.strip("*") not in ("", "end")}


def test_stop_ends_a_task_with_its_children(real: Site, marker: Marker) -> None:
    task = RemoteTask("trap '' TERM; sleep 4321 & echo $! $$; wait; sleep 4321")
    host = real.hosts[0]
    real.tasks.start(marker, task, [host])
    while not (pids := real.tasks.look(marker, task, [host])[host.name].tail.split()):
        time.sleep(0.02)
    done = real.tasks.stop(marker, task, [host])[host.name]
    assert (done.state, done.detail) == (RemoteState.STOPPED, "it was stopped")
    until_gone(*pids)
    assert real.tasks.start(marker, task, [host])[host.name].state is RemoteState.STOPPED


def test_a_task_whose_supervisor_was_killed_is_lost(real: Site, marker: Marker) -> None:
    task, host = RemoteTask("exec sleep 4322"), real.hosts[0]
    real.tasks.start(marker, task, [host])
    directory = real.servers[host.name].tasks / supervisor.directory_name(marker)
    while not (directory / "attempt").exists():
        time.sleep(0.01)
    watcher, attempt = ((directory / name).read_text().split()[2] for name in ("run", "attempt"))
    os.kill(int(watcher), signal.SIGKILL)
    found = until_ended(real, marker, task, host)
    assert (found.state, found.detail) == (RemoteState.LOST, "its supervisor on the node was killed while it ran")
    assert real.tasks.start(marker, task, [host])[host.name].state is RemoteState.LOST
    assert real.tasks.stop(marker, task, [host])[host.name].state is RemoteState.LOST
    until_gone(attempt)


def test_connections_that_are_cut_in_a_start_start_once(real: Site, marker: Marker) -> None:
    host = real.hosts[1]
    file = RemoteFile(str(real.servers[host.name].directory / "file"), b"x" * 500_000)
    task = RemoteTask(real.command("true"), (file,))
    before = real.marks(host)
    done = threading.Event()

    def cut() -> None:
        while not done.wait(0.03):
            real.servers[host.name].cut()

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        for _ in range(10):
            assert real.tasks.start(marker, task, [host])[host.name].state in (
                RemoteState.UNREACHABLE,
                RemoteState.RUNNING,
                RemoteState.SUCCESS,
            )
    finally:
        done.set()
        cutter.join()
    assert run(real, marker, task, host).state is RemoteState.SUCCESS
    assert real.marks(host) == before + 1


def test_a_server_that_was_restarted_is_reached_again(real: Site, marker: Marker) -> None:
    host = real.hosts[1]
    task = RemoteTask("sleep 1; echo on")
    real.tasks.start(marker, task, [host])
    server = real.servers[host.name]
    server.stop()
    assert states(real.tasks.look(marker, task, [host])) == [RemoteState.UNREACHABLE]
    server.start()
    assert until_ended(real, marker, task, host).tail == "on\n"


def test_a_task_finds_its_facts_in_both_forms(site: Site, marker: Marker) -> None:
    facts = NodeFiles(b'{"a": 1}\n', b"a: 1\n")
    host = site.hosts[0]
    site.tasks.start(marker, RemoteTask('cat "$SHIPYARD_FACTS" "$SHIPYARD_FACTS_YAML"', facts=facts), [host])
    if site.fake:  # it runs nothing
        assert site.fake.sent[marker, host.name].facts == facts
        return
    assert until_ended(site, marker, RemoteTask(""), host).tail == '{"a": 1}\na: 1\n'
    later = Marker(f"{marker} later")
    site.tasks.start(later, RemoteTask('cat "$SHIPYARD_FACTS"'), [host])
    assert until_ended(site, later, RemoteTask(""), host).tail == '{"a": 1}\n'


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    with ExitStack() as cleanup:
        yield lambda **values: sshd(cleanup, tmp_path, **values)


def test_a_node_that_hangs_costs_only_itself(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=3, limit=4.0, connections_at_once=1)
    hung, other, new = site.hosts
    task = RemoteTask("true")
    assert states(site.tasks.look(marker, task, [hung, other])) == [RemoteState.UNKNOWN] * 2
    site.servers[hung.name].freeze()
    # On the open connection, and on a new one, with another new one behind it.
    for asked in ([hung, other], [hung, other, new]):
        found = site.tasks.start(marker, task, asked)
        assert found[hung.name].state is RemoteState.UNREACHABLE
        for host in asked[1:]:
            assert found[host.name].state in (RemoteState.RUNNING, RemoteState.SUCCESS)


def test_nodes_that_answer_do_not_wait_for_one_that_says_nothing(own: Callable[..., Site], marker: Marker) -> None:
    # With limits that no test reaches, only the silence ends the call; behind a jump host, too.
    site = own(count=3, limit=600.0, connect_timeout=600.0)
    assert site.access is not None
    mute, other, last = site.hosts
    jump = JumpHost(site.access.user, last.address, last.port)
    behind = SshRemoteTasks(replace(site.access, jump=jump), limit=600.0)
    site.servers[mute.name].freeze()
    silence = (RemoteState.UNREACHABLE, "it said nothing for 2 s while others answered")
    with closing(behind):
        with ThreadPoolExecutor(2) as pool:
            started = pool.map(
                lambda tasks: tasks.start(marker, RemoteTask("true"), [mute, other]), (site.tasks, behind)
            )
        for found in started:
            assert (found[mute.name].state, found[mute.name].detail) == silence
            assert found[other.name].state in (RemoteState.RUNNING, RemoteState.SUCCESS)


def test_a_task_may_limit_how_long_a_node_is_tried(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=1, limit=600.0, connect_timeout=600.0)
    site.servers[site.hosts[0].name].freeze()
    [found] = site.tasks.start(marker, RemoteTask("true", connect_timeout=1), site.hosts).values()
    assert (found.state, found.detail) == (RemoteState.UNREACHABLE, "no connection in 1 s")


def test_the_output_of_a_running_task_ends_with_a_whole_character(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=1)
    host, go = site.hosts[0], site.servers[site.hosts[0].name].directory / "go"
    cut = RemoteTask(f"printf 'a\\303'; until [ -e {go} ]; do sleep 0.05; done; printf '\\244\\n'")
    site.tasks.start(marker, cut, [host])
    while (part := site.tasks.output(marker, host)) is None or part.kept < 2:
        time.sleep(0.02)
    assert (part.text, part.next_offset) == ("a", 1)
    go.touch()
    until_ended(site, marker, cut, host)
    rest = site.tasks.output(marker, host, offset=part.next_offset)
    assert rest is not None
    assert (rest.text, rest.next_offset) == ("ä\n", rest.kept)


def test_a_node_is_refused_without_the_right_keys_until_the_files_are_right(
    own: Callable[..., Site], marker: Marker
) -> None:
    site = own(count=2)
    assert site.access is not None
    known, key = Path(site.access.known_hosts), Path(site.access.key_file)
    good, task = known.read_text(), RemoteTask("true")
    first, second = good.splitlines(keepends=True)
    one, other = site.hosts

    def start() -> Mapping[NodeName, RemoteResult]:
        return site.tasks.start(marker, task, site.hosts)

    for stranger in (second + first.split(" ")[0] + " " + second.split(" ", 1)[1], second):
        known.write_text(stranger)
        found = start()
        assert (found[one.name].state, "host key" in found[one.name].detail) == (RemoteState.REFUSED, True)
        assert found[other.name].state in (RemoteState.RUNNING, RemoteState.SUCCESS)
    known.write_text(f"n1 {first.split(' ', 1)[1]}{second}")  # known by the name of the node
    assert start()[one.name].state in (RemoteState.RUNNING, RemoteState.SUCCESS)
    for file in (known, key):
        content = file.read_bytes()
        for broken in (b"garbage", None) if file is key else (None,):
            file.write_bytes(broken) if broken else file.unlink()
            with pytest.raises(Refused) as caught:
                start()
            assert caught.value.whole_site
        file.write_bytes(content)


def test_a_node_that_does_not_know_our_key_refuses_us_until_it_does(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=1)
    assert site.access is not None
    public = Path(site.access.key_file).parent / "key.pub"
    authorized = public.read_text()
    public.write_text("")
    [found] = site.tasks.start(marker, RemoteTask("true"), site.hosts).values()
    assert (found.state, "does not let" in found.detail) == (RemoteState.REFUSED, True)
    public.write_text(authorized)
    [found] = site.tasks.start(marker, RemoteTask("true"), site.hosts).values()
    assert found.state in (RemoteState.RUNNING, RemoteState.SUCCESS)


def test_nodes_behind_a_jump_host_are_reached_through_it(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=2)
    assert site.access is not None
    jump, behind = site.hosts
    access = replace(site.access, jump=JumpHost(site.access.user, jump.address, jump.port))
    tasks = SshRemoteTasks(access, limit=20.0)
    try:
        task = RemoteTask("echo $SSH_CONNECTION")
        site.tasks = tasks
        assert run(site, marker, task, behind).state is RemoteState.SUCCESS
        log = (site.servers[jump.name].directory / "log").read_text()
        assert "direct-tcpip" in log or "Accepted publickey" in log
        site.servers[jump.name].stop()
        (down,) = tasks.look(marker, task, [behind]).values()
        assert down.state is RemoteState.UNREACHABLE
        assert down.detail.startswith(f"jump host {jump.address}: ")
        site.servers[jump.name].start()
        assert states(tasks.look(marker, task, [behind])) == [RemoteState.SUCCESS]
    finally:
        tasks.close()


@pytest.mark.parametrize("shell", ["echo no such shell; exit 3", "yes >&2", r"printf 'shipyard task 1\nalive yes\n\n'"])
def test_a_node_that_answers_something_else_is_refused(own: Callable[..., Site], marker: Marker, shell: str) -> None:
    site = own(count=1)
    server = site.servers[NodeName("n1")]
    server.stop()
    with (server.directory / "config").open("a") as file:
        file.write(f"ForceCommand {shell}\n")
    server.start()
    (found,) = site.tasks.look(marker, RemoteTask("true"), site.hosts).values()
    assert found.state is RemoteState.REFUSED
    assert found.detail


def test_close_leaves_no_thread_and_no_connection(own: Callable[..., Site], marker: Marker) -> None:
    site = own(count=2)
    assert isinstance(site.tasks, SshRemoteTasks)
    before = set(threading.enumerate())
    for _ in range(2):  # and is opened again
        assert states(site.tasks.look(marker, RemoteTask("true"), site.hosts)) == [RemoteState.UNKNOWN] * 2
        assert "ssh" in {thread.name for thread in set(threading.enumerate()) - before}
        site.tasks.close()
        assert not set(threading.enumerate()) - before
