"""Simulated hosts: commands that run, and what a scenario makes of them."""

import json
import threading
from pathlib import Path

import asyncssh
import pytest
import requests

from shipyard_simulators.hosts.simulator import running
from shipyard_simulators.tests.hosts.client import Answer, Client
from shipyard_simulators.tests.hosts.conftest import Start
from shipyard_simulators.tests.programs import FIVE_GROUPS, refusal, started
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock, until

BOOT = 'cat "$SHIPYARD_ROOT/proc/sys/kernel/random/boot_id"'
# What Shipyard's supervisor does for an attempt: the outcome of a task is played there.
ATTEMPT = 'echo "echo done" >"$TMPDIR/script" && sh "$TMPDIR/script" attempt'

SIGNALLED, LOST = -1, None  # statuses of a command that a signal ended, and of one whose connection is gone


def clock_of(client: Client) -> VirtualClock:
    clock = client.simulator.hosts.clock
    assert isinstance(clock, VirtualClock)
    return clock


def runs(pid: str) -> bool:
    """Return whether a process runs; whoever should ask for its end may be slow."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(") ")[2][:1] != "Z"


def test_a_command_runs_in_the_directory_of_its_host(hosts: Client) -> None:
    answer = hosts.run("10.0.0.1", 'pwd; echo "$HOSTNAME $SHIPYARD_TASKS" >&2; exit 7')
    directory = hosts.simulator.directory / "hosts" / "n1"
    assert answer == Answer(7, f"{directory / 'root'}\n", f"n1 {directory / 'tasks'}\n")


def test_input_arrives_whole_and_output_comes_back_whole(hosts: Client) -> None:
    data = bytes(range(256)) * 2000
    assert hosts.run("10.0.0.1", "cat >in; wc -c <in; md5sum <in", data).output.split()[0] == str(len(data))
    assert len(hosts.run("10.0.0.1", "head -c 700000 /dev/zero | tr '\\0' x").output) == 700_000


def test_every_address_of_a_node_is_the_same_host_and_other_nodes_are_others(hosts: Client) -> None:
    hosts.run("10.0.0.1", "echo here >mine")
    found = [hosts.run(address, "cat mine").status for address in ("172.16.0.1", "n1", "10.0.0.2")]
    assert found == [0, 0, 1]


def test_an_address_of_no_node_is_a_host_of_its_own_and_a_path_is_none(hosts: Client) -> None:
    assert hosts.run("192.0.2.77", "echo $HOSTNAME").output == "192.0.2.77\n"
    with pytest.raises(asyncssh.ChannelOpenError):
        hosts.run("../n1", "true")


def test_a_program_that_is_killed_and_one_that_leaves_children_behind(hosts: Client) -> None:
    assert hosts.run("10.0.0.2", "kill -9 $$").status == SIGNALLED
    # As sshd does, the answer waits for whoever holds the output, and for nobody else.
    assert hosts.run("10.0.0.2", "sleep 900 >/dev/null 2>&1 & echo begun").output == "begun\n"


@pytest.mark.parametrize("program", ["systemctl reboot", "systemd-run true"])
def test_there_is_no_systemd(hosts: Client, program: str) -> None:
    answer = hosts.run("10.0.0.1", program)
    assert (answer.status, "simulated host" in answer.errors) == (1, True)


@pytest.mark.parametrize("program", ["reboot", "shutdown -r now"])
def test_a_restart_ends_what_runs_and_lasts(start: Start, program: str) -> None:
    hosts = start()
    before = hosts.run("10.0.0.1", f"sleep 900 >/dev/null 2>&1 & echo $! >pid; {BOOT}").output
    assert hosts.run("10.0.0.1", program).status is LOST
    [restart] = [event for event in hosts.simulator.events() if event["event"] == "restart"]
    assert (restart["host"], restart["boots"]) == ("n1", 2)
    with pytest.raises(asyncssh.ChannelOpenError, match="refused"):
        hosts.run("10.0.0.1", "true")
    clock_of(hosts).passes(60)
    assert hosts.run("10.0.0.1", BOOT).output != before
    pid = hosts.run("10.0.0.1", "cat pid").output.strip()
    until(lambda: not runs(pid))


def test_a_scenario_lets_tasks_fail_some_times(start: Start) -> None:
    hosts = start("nodes: {n1: {task: fail, times: 2, reason: no puppet}}")
    answers = [hosts.run("10.0.0.1", ATTEMPT) for _ in range(3)]
    assert [(answer.status, answer.output) for answer in answers] == [(1, "no puppet\n")] * 2 + [(0, "done\n")]
    assert hosts.run("10.0.0.2", ATTEMPT).output == "done\n"


@pytest.mark.parametrize(("outcome", "event"), [("lose", "wipe"), ("reboot", "restart")])
def test_a_host_loses_what_it_had_in_a_task(start: Start, outcome: str, event: str) -> None:
    hosts = start(f"nodes: {{n1: {{task: {outcome}}}}}")
    hosts.run("10.0.0.1", "echo here >mine")
    assert hosts.run("10.0.0.1", ATTEMPT).status is LOST
    assert [one["host"] for one in hosts.simulator.events() if one["event"] == event] == ["n1"]
    clock_of(hosts).passes(60)
    assert hosts.run("10.0.0.1", "cat mine").status == (1 if outcome == "lose" else 0)


def test_a_slow_task_takes_its_time_and_a_full_disk_takes_nothing(start: Start) -> None:
    hosts = start("nodes: {n1: {task: slow, seconds: 0}, n2: {task: full}}")
    assert hosts.run("10.0.0.1", ATTEMPT).output == "done\n"
    answer = hosts.run("10.0.0.2", "echo text >file || echo full; head -c 1 /dev/zero >file || echo full")
    assert answer.output == "full\nfull\n"


def test_connections_are_refused_as_often_as_the_scenario_says(start: Start) -> None:
    hosts = start("nodes: {n1: {connect: refuse, times: 1}, n2: {connect: slow, seconds: 0}}")
    with pytest.raises(asyncssh.ChannelOpenError, match="refused"):
        hosts.run("10.0.0.1", "true")
    assert [hosts.run(address, "true").status for address in ("10.0.0.1", "10.0.0.2")] == [0, 0]


def test_hosts_that_follow_a_provisioner_are_there_once_deployed_and_empty_then(start: Start, tmp_path: Path) -> None:
    log, kept = tmp_path / "drydock.jsonl", tmp_path / "hosts"
    hosts = start(follow=log, directory=kept)
    with pytest.raises(asyncssh.ChannelOpenError, match="refused"):
        hosts.run("10.0.0.1", "true")
    line = json.dumps({"event": "node_deployed", "node": "n1"}) + "\n"
    log.write_text(line)
    hosts.run("10.0.0.1", "echo here >mine")
    # Another start of the simulator reads the whole log again.
    again = start(follow=log, directory=kept)
    assert again.run("10.0.0.1", "cat mine").output == "here\n"
    log.write_text(2 * line)
    assert again.run("10.0.0.1", "cat mine").status == 1
    # The design that it read counts, whatever the design at the start had there.
    read = {"event": "design", "addresses": {"n1": {"oam": "10.0.0.2"}, "n9": {"oam": "10.0.0.1"}}}
    log.write_text(json.dumps(read) + "\n" + json.dumps({"event": "node_deployed", "node": "n9"}) + "\n" + 3 * line)
    third = start(follow=log)
    assert [third.run(address, "echo $HOSTNAME").output for address in ("10.0.0.1", "10.0.0.2")] == ["n9\n", "n1\n"]


def test_the_control_addresses_show_and_change_hosts(start: Start) -> None:
    hosts = start()
    url = hosts.simulator.url
    posted = requests.post(f"{url}/simulator/scenario", data="nodes: {n1: {task: never}}", timeout=PATIENCE)
    assert posted.json()["name"] == "unnamed"
    shown = requests.get(f"{url}/simulator/hosts", timeout=PATIENCE).json()
    assert shown["n1"] == {
        "addresses": ["10.0.0.1", "172.16.0.1"],
        "outcomes": {"connect": "ok", "task": "never"},
        "boots": 1,
        "connections": 0,
    }
    hosts.run("n2", "echo here >mine")
    statuses = [
        requests.post(f"{url}/simulator/hosts/{path}", timeout=PATIENCE).status_code
        for path in ("n2/wipe", "n2/restart", "n9/wipe")
    ]
    assert statuses == [204, 204, 404]
    log = requests.get(f"{url}/simulator/log?host=n2", timeout=PATIENCE).json()
    assert [event["event"] for event in log] == ["connection", "command", "wipe", "restart"]


def test_nothing_is_left_of_a_program_that_ends(tmp_path: Path) -> None:
    words = ["--site", FIVE_GROUPS, "--directory", tmp_path / "hosts", "--ssh-port", "0"]
    with started("hosts", tmp_path, *words) as (process, url):
        assert len(requests.get(f"{url}/simulator/hosts", timeout=PATIENCE).json()) == 16
        process.terminate()
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert output.decode().splitlines()[0].endswith(f"keys in {tmp_path / 'hosts'}")
    assert (tmp_path / "hosts" / "key").stat().st_mode & 0o777 == 0o600


def test_threads_processes_and_files_end_with_the_simulator() -> None:
    before = set(threading.enumerate())
    with running() as simulator:
        pid = Client(simulator).run("n1", "sleep 900 >/dev/null 2>&1 & echo $!").output.strip()
    until(lambda: not set(threading.enumerate()) - before and not runs(pid))
    assert not simulator.directory.exists()


@pytest.mark.parametrize(
    ("words", "message"), [(["--ssh-port", "70000"], "65535"), (["--site", "/nowhere.yaml"], "cannot be read")]
)
def test_the_program_names_the_faults_of_its_options(words: list[str], message: str) -> None:
    code, lines = refusal("hosts", *words)
    assert (code, message in "".join(lines)) == (2, True), lines
