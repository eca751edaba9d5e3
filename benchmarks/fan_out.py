"""Tasks on many hosts at once: ``python benchmarks/fan_out.py [--hosts 200] [--turns 3]``.

1. **Fan-out.** OpenSSH hosts on loopback addresses are asked by Shipyard, parallel-ssh and ansible, all with ten
   connections at once. "One command" is a connection and a command: a look of Shipyard, and ``uname -r`` of the others,
   which live in environments that the benchmark makes and removes. One that cannot be installed is left out, with a
   line that says so. "node run" is what ``shipyard node run NODES -- uname -r`` does after its request: an action is
   planned, stored, and run by a worker process without any open connection, until its end is stored. "A task" is what
   only Shipyard does: ``true`` is started under its marker by a supervisor with attempts, time limit and kept output,
   and looked at every two seconds until it has ended everywhere. All hosts share this machine: a task, also that of
   node run, costs each of them a dozen processes.
2. **Two workers.** A task graph on 2,000 nodes whose hosts take a second for each call. Reported is how much faster two
   worker processes of eight threads are than one.

Exits 1 if two workers are less than 1.8 times as fast. Without sshd, the first part is left out.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import installation
from msgspec.structs import replace
from software import InstantHosts, planned

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.actions.steps.software.software_stage import PlanSoftware, SoftwareStage
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.actions.steps.software.task_item import SHORTEST_PAUSE, TaskItem
from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.adapters.ssh.login import Access
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.actions import ENDED, ActionId, ActionName
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries
from shipyard_api.domain.task_graph.site_plan import SiteRun, plan_site
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import ENDED_REMOTE, Host, RemoteResult, RemoteState, RemoteTask
from shipyard_api.ports.state.actions import NewAction, StepRecord
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.turn import Engine

ROOT = Path(__file__).resolve().parents[1]
AT_ONCE = 10
MOST_LISTENED = 16  # addresses of one sshd
PATIENCE = 600.0
NODES, TASKS, CALL_SECONDS, LEAST_GAIN = 2000, 5, 1.0, 1.8

PARALLEL_SSH = """
import json, sys, time
from pssh.clients import ParallelSSHClient
hosts, port, user, key, at_once = json.loads(sys.argv[1])
began = time.perf_counter()
client = ParallelSSHClient(hosts, user=user, port=port, pkey=key, pool_size=at_once, identity_auth=True)
answers = client.run_command("uname -r")
client.join(answers, consume_output=True)
seconds = time.perf_counter() - began
assert [one.exit_code for one in answers] == [0] * len(hosts)
print(seconds)
"""
UPDATE = ActionName("update_software")


# --- Hosts ------------------------------------------------------------------------------------------------------------


@contextmanager
def hosts(directory: Path, number: int) -> Iterator[list[Host]]:
    """Run the OpenSSH servers of so many hosts, each with an address and a directory of tasks of its own."""
    sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if sshd is None:
        raise FileNotFoundError("there is no sshd; install openssh-server")
    for name in ("key", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = 20_000 + os.getpid() % 10_000
    found = [Host(NodeName(f"n{one}"), f"127.9.{one // 250}.{1 + one % 250}", port) for one in range(number)]
    host_key = " ".join((directory / "host_key.pub").read_text().split()[:2])
    (directory / "known_hosts").write_text("".join(f"[{one.address}]:{port} {host_key}\n" for one in found))
    servers = []
    try:
        for first in range(0, number, MOST_LISTENED):
            configuration = directory / f"config.{first}"
            configuration.write_text(_configuration(directory, port, found[first : first + MOST_LISTENED]))
            servers.append(subprocess.Popen([sshd, "-D", "-e", "-f", configuration], stderr=subprocess.DEVNULL))
        time.sleep(1.0)
        yield found
    finally:
        for one in servers:
            one.terminate()
        for one in servers:
            one.wait(30)


def _configuration(directory: Path, port: int, served: Sequence[Host]) -> str:
    lines = [
        *(f"ListenAddress {one.address}" for one in served),
        f"Port {port}\nHostKey {directory}/host_key\nAuthorizedKeysFile {directory}/key.pub\nPidFile none",
        "PasswordAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nMaxStartups 1000\nPrintMotd no",
    ]
    for one in served:
        # SHLVL: otherwise bash reads a ~/.bashrc for each command, which may take longer than the command.
        tasks = f"SHIPYARD_TASKS={directory}/{one.name}/tasks"
        lines.append(f"Match LocalAddress {one.address}\n  SetEnv SHLVL=2 {tasks}")
    return "\n".join(lines) + "\n"


def remote_tasks(directory: Path) -> SshRemoteTasks:
    """Return the way to the hosts."""
    access = Access(
        getpass.getuser(),
        str(directory / "key"),
        str(directory / "known_hosts"),
        connect_timeout=PATIENCE,
        connections_at_once=AT_ONCE,
    )
    # All hosts share this machine: a slow one is no fault.
    return SshRemoteTasks(access, limit=PATIENCE)


# --- The three of them ------------------------------------------------------------------------------------------------


def shipyard(directory: Path, on: Sequence[Host]) -> tuple[float, float]:
    """Return the seconds of a look over new connections, and of a task from its start until it has ended everywhere."""
    remote = remote_tasks(directory)
    task, marker = RemoteTask("true", timeout=600), Marker(str(uuid4()))
    try:
        began = time.perf_counter()
        asked = remote.look(marker, task, on)
        look = time.perf_counter() - began
        assert {one.state for one in asked.values()} == {RemoteState.UNKNOWN}, asked
        began = time.perf_counter()
        results = dict(remote.start(marker, task, on))
        while left := [one for one in on if results[one.name].state not in ENDED_REMOTE]:
            time.sleep(SHORTEST_PAUSE)
            results |= remote.look(marker, task, left)
        seconds = time.perf_counter() - began
    finally:
        remote.close()
    assert {one.state for one in results.values()} == {RemoteState.SUCCESS}, results
    return look, seconds


def node_run(url: str, directory: Path, on: Sequence[Host]) -> float:
    """Return the seconds of ``shipyard node run`` on a stored site, from the new action to its end."""
    site = directory / "site.json"
    site.write_text(json.dumps([[host.name, host.address, host.port] for host in on]))
    with workers(url, 1, "--site", str(directory)):
        began = time.perf_counter()
        finished(url, {"nodes": [host.name for host in on], "command": "uname -r"})
        return time.perf_counter() - began


def parallel_ssh(directory: Path, on: Sequence[Host], environment: Path) -> float:
    """Return the seconds that parallel-ssh takes."""
    given = [[one.address for one in on], on[0].port, getpass.getuser(), str(directory / "key"), AT_ONCE]
    command = [str(environment / "bin" / "python"), "-c", PARALLEL_SSH, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return float(done.stdout)


def ansible(directory: Path, on: Sequence[Host], environment: Path) -> float:
    """Return the seconds of one call of ansible, with its start."""
    inventory = directory / "inventory"
    options = f"-o UserKnownHostsFile={directory}/known_hosts"
    inventory.write_text("".join(f"{one.name} ansible_host={one.address} ansible_port={one.port}\n" for one in on))
    command = [
        str(environment / "bin" / "ansible"),
        "all",
        "-i",
        str(inventory),
        "-m",
        "command",
        "-a",
        "uname -r",
        "-f",
        str(AT_ONCE),
    ]
    own = {
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_SSH_ARGS": f"-o ControlMaster=no {options}",
        "ANSIBLE_PRIVATE_KEY_FILE": str(directory / "key"),
        "ANSIBLE_REMOTE_USER": getpass.getuser(),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_HOME": str(directory / "ansible"),
    }
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own}, check=False)
    seconds = time.perf_counter() - began
    assert done.stdout.count("rc=0") == len(on), done.stdout[-2000:] + done.stderr[-2000:]
    return seconds


OTHERS = {"parallel-ssh": ("parallel-ssh==2.16.0", parallel_ssh), "ansible": ("ansible-core==2.19.14", ansible)}


def installed(requirement: str, environment: Path) -> str:
    """Install something into an environment of its own; return why that is not possible, or nothing."""
    pip = [
        str(environment / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        requirement,
    ]
    try:
        subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True, timeout=120)
        subprocess.run(pip, check=True, capture_output=True, text=True, timeout=600)
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip().splitlines()[-1][:200]
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:200]
    return ""


def fan_out(number: int, turns: int) -> None:
    """Print the wall times, in turns, so that a busy machine is fair to all."""
    with TemporaryDirectory() as place:
        directory = Path(place)
        ready = []
        for name, (requirement, run) in OTHERS.items():
            if why := installed(requirement, directory / name):
                print(f"  {name} is left out: {requirement} cannot be installed: {why}")
            else:
                ready.append((name, run))
        with hosts(directory, number) as on, installation.address() as url:
            times: dict[str, list[float]] = {}
            tasks: list[float] = []
            for _ in range(turns):
                look, task = shipyard(directory, on)
                times.setdefault("Shipyard", []).append(look)
                times.setdefault("node run", []).append(node_run(url, directory, on))
                tasks.append(task)
                for name, run in ready:
                    times.setdefault(name, []).append(run(directory, on, directory / name))
    look, whole = min(times["Shipyard"]), min(times["node run"])
    for name, seconds in times.items():
        best = min(seconds)
        print(
            f"  one command, {name:<13}{best:6.1f} s, {best / look:4.1f} times Shipyard's, "
            f"{best / whole:5.2f} times node run's (turns: {_shown(seconds)})"
        )
    print(f"  a task, Shipyard          {min(tasks):6.1f} s, connected already          (turns: {_shown(tasks)})")


def _shown(seconds: Sequence[float]) -> str:
    return ", ".join(f"{one:.1f}" for one in seconds)


# --- Two workers ------------------------------------------------------------------------------------------------------


class SlowHosts(InstantHosts):
    """Hosts that take a while for each call, in which its thread waits."""

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Return a success of every host."""
        time.sleep(CALL_SECONDS)
        return super().start(marker, task, hosts)


def slow_site(_: PlanSoftware) -> StageSoftware:
    """Return the plan of a task graph on many nodes."""
    group = {"id": "compute", "type": "group", "role": "*", "parameters": {"strategy": {"type": "parallel"}}}
    tasks = [
        {"id": f"t{number}", "type": "shell", "groups": ["compute"], "parameters": {"cmd": "true"}}
        for number in range(TASKS)
    ]
    software = planned([group, *tasks], NODES)
    # The pieces of work are what is compared, so the nodes of all of them run at once.
    return replace(software, rules=replace(software.rules, nodes_at_once=NODES))


def command_on(directory: Path, question: PlanSoftware) -> StageSoftware:
    """Return the plan of a command on the hosts of a directory."""
    on = [Host(NodeName(name), *where) for name, *where in json.loads((directory / "site.json").read_text())]
    nodes = tuple(ClusterNode(host.name) for host in on)
    made = plan_site(SiteRun((), nodes, Primaries(), "new", {}, question.selection or {}))
    assert made.plan is not None, made.findings
    assert made.rules is not None
    return StageSoftware(made.plan.flow, made.rules, made.documents, {host.name: host for host in on})


def work(url: str, directory: Path | None) -> int:
    """Be a worker, until a signal asks to stop: of the hosts of a directory, or of slow ones."""
    database = connect(url, pool_size=10)
    if directory is None:
        step = SoftwareStage(SOFTWARE, slow_site, TaskItem(SlowHosts()))
    else:
        step = SoftwareStage(SOFTWARE, partial(command_on, directory), TaskItem(remote_tasks(directory), splits=True))
    engine = Engine(
        Store(database, ProcrastinateWakeup()),
        {UPDATE: Definition(UPDATE, fixed(step), read=ActionInputs.from_json)},
        DatabaseClock(database, ProcrastinateWakeup()),
        settle=20.0,
        worker=str(os.getpid()),
    )
    options = WorkerOptions(poll_seconds=0.1)
    return TurnWorker(url, engine.run, engine.items.run, lambda: engine.sweep(grace=10.0), options).run()


@contextmanager
def workers(url: str, number: int, *arguments: str) -> Iterator[None]:
    """Run so many workers."""
    command = [sys.executable, __file__, "--worker", url, *arguments]
    processes = [subprocess.Popen(command) for _ in range(number)]
    try:
        time.sleep(5)  # the workers import, plan and connect meanwhile: only the run is measured
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(30)


def finished(url: str, software: Mapping[str, Any]) -> StepRecord:
    """Run an action until it has ended; return its step. ``software``: what the run is limited to."""
    database = connect(url, pool_size=2)
    store = Store(database, ProcrastinateWakeup())
    action = ActionId(uuid4().hex[:26].upper())
    inputs = {"v": 1, "revision": 1, "action": action, "software": dict(software)}
    try:
        with store.begin() as tx:
            tx.actions.create(NewAction(action, UPDATE, {}, "b", str(uuid4()), None, None, inputs, (SOFTWARE,)))
        while True:
            time.sleep(0.1)
            with store.begin() as tx:
                record = tx.actions.get(action)
                (step,) = tx.actions.steps([action])[action]
            assert record is not None
            if record.state in ENDED:
                assert record.state.value == "success", step
                return step
    finally:
        database.dispose()


def seconds_with(url: str, number: int) -> float:
    """Return how long so many workers take for the graph."""
    with workers(url, number):
        step = finished(url, {})
    assert step.started_at is not None
    assert step.ended_at is not None
    return (step.ended_at - step.started_at).total_seconds()


def two_workers() -> float:
    """Print how long one and two workers take; return how much faster the two are."""
    with installation.address() as url:
        one, two = seconds_with(url, 1), seconds_with(url, 2)
    pieces = TASKS * -(-NODES // 50)
    print(f"  {pieces} pieces of work: one worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times as fast")
    return one / two


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--worker", metavar="URL", help="be a worker on this database (used by the benchmark itself)")
    parser.add_argument("--site", metavar="DIRECTORY", type=Path, help="the hosts of that worker (likewise)")
    options = parser.parse_args(arguments)
    if options.worker:
        return work(options.worker, options.site)
    print(f"{options.hosts} hosts, {AT_ONCE} connections opened at once")
    try:
        fan_out(options.hosts, options.turns)
    except FileNotFoundError as error:
        print(f"  left out: {error}")
    print(f"{NODES} nodes whose hosts take {CALL_SECONDS * 1e3:.0f} ms for a call, {TASKS} tasks")
    return int(two_workers() < LEAST_GAIN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
