"""Hosts of a site: network namespaces, each with one cable to the database and one to everything else.

The test itself, the database and the provisioner are on the machine where both networks end. It must be a network
namespace of its own (``unshare --net``), so that nothing of it is left.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

TOOLS = ("bridge", "ip", "nsenter", "unshare")

# States of a port of a switch.
_DISABLED, _FORWARDING = "0", "3"


class Net(Enum):
    """A network, by the second number of its addresses."""

    DATABASE = 1
    SITE = 2

    @property
    def gateway(self) -> str:
        """The address of the machine that all hosts reach."""
        return f"10.{self.value}.0.1"

    @property
    def bridge(self) -> str:
        """The name of its switch."""
        return f"net{self.value}"


def missing() -> str:
    """Why no hosts can be made here; empty if they can."""
    if absent := [name for name in TOOLS if shutil.which(name) is None]:
        return f"this machine has no {' and no '.join(absent)}"
    if os.geteuid() != 0 or [name for _, name in socket.if_nameindex() if name != "lo"]:
        return "hosts need a network namespace of their own, as root: run .ci/real_hosts.py"
    return ""


def lay_networks() -> None:
    """Make both switches."""
    _run("ip", "link", "set", "lo", "up")
    for net in Net:
        _run("ip", "link", "add", net.bridge, "type", "bridge")
        _run("ip", "address", "add", f"{net.gateway}/16", "dev", net.bridge)
        _run("ip", "link", "set", net.bridge, "up")


def remove_networks() -> None:
    """Remove both switches."""
    for net in Net:
        with contextlib.suppress(subprocess.CalledProcessError):
            _run("ip", "link", "delete", net.bridge)


def relay(port: int) -> int:
    """Pass on connections of hosts to a port of 127.0.0.1 of the machine; return the port of its address."""
    listener = socket.create_server((Net.SITE.gateway, 0), backlog=64)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with source, target, contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", port))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


@dataclass
class Host:
    """One host; ``number`` is the last of its addresses. Its programs are restarted when they exit."""

    number: int
    directory: Path
    environment: Mapping[str, str]
    cut: set[Net] = field(default_factory=set)
    _programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _commands: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Plug the cables in."""
        self._power = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], start_new_session=True)
        self._inside = ["nsenter", f"--net=/proc/{self._power.pid}/ns/net"]
        while Path(f"/proc/{self._power.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            pass
        _run(*self._inside, "ip", "link", "set", "lo", "up")
        for net in Net:
            ours, theirs = self._plug(net), f"to{net.value}"
            _run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs)
            _run("ip", "link", "set", theirs, "netns", str(self._power.pid))
            _run(*self._inside, "ip", "address", "add", f"{self.address(net)}/16", "dev", theirs)
            _run(*self._inside, "ip", "link", "set", theirs, "up")
            _run("ip", "link", "set", ours, "master", net.bridge, "up")

    def address(self, net: Net) -> str:
        """The host's address in a network."""
        return f"10.{net.value}.0.{10 + self.number}"

    def start(self, name: str, *arguments: str) -> None:
        """Start a program that is called by its module."""
        command = [*self._inside, sys.executable, "-m", *arguments]
        environment = {**os.environ, "TMPDIR": str(self.directory), **self.environment}
        with (self.directory / f"{name}-{self.number}.log").open("ab") as log:
            self._programs[name] = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._commands[name] = arguments

    def pid(self, name: str) -> int:
        """The process id of a program."""
        return self._programs[name].pid

    def tend(self) -> None:
        """Start what has exited again, as systemd does."""
        for name, program in list(self._programs.items()):
            if program.poll() is not None:
                self.start(name, *self._commands[name])

    def cut_off(self, *nets: Net) -> None:
        """Let a switch drop what is sent, in both directions; no cable is unplugged."""
        for net in nets:
            _run("bridge", "link", "set", "dev", self._plug(net), "state", _DISABLED)
            self.cut.add(net)

    def join(self) -> None:
        """Connect it again."""
        for net in self.cut:
            _run("bridge", "link", "set", "dev", self._plug(net), "state", _FORWARDING)
        self.cut = set()

    def kill(self) -> None:
        """Cut the power: no connection is closed."""
        self.cut_off(*set(Net) - self.cut)
        for program in self._programs.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()

    def boot(self) -> None:
        """Start it again, with its programs."""
        self.join()
        self.tend()

    def close(self) -> None:
        """Take it away."""
        self.kill()
        os.killpg(self._power.pid, signal.SIGKILL)
        self._power.wait()

    def _plug(self, net: Net) -> str:
        return f"host{self.number}net{net.value}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
