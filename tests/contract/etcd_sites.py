"""Etcd clusters to run the suite of the port over: our simulator, and a real one where there is one."""

import os
import shutil
import ssl
import subprocess
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import NamedTemporaryFile
from typing import Protocol

from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_simulators.etcd import simulator as etcd_simulator
from shipyard_simulators.etcd.cluster import MemberState
from tests.authority import Authority
from tests.conftest import ROOT
from tests.waiting import until

RECIPE = ROOT.parent / "shared" / "recipes" / "run_etcd.sh"
DIRECTORY = os.environ.get("ETCD_DIR", "")
"""Where the recipe keeps its cluster; .ci/real_etcd.py sets it where there is an etcd."""
NAMES = ("m1", "m2", "m3")


class Site(Protocol):
    """A cluster of members m1, m2, ..., and what happens to them. ``every``: seconds between two looks at it."""

    access: EtcdAccess
    every: float

    def kill(self, name: str) -> None:
        """Cut its power."""

    def start(self, name: str) -> None:
        """Start one that was killed."""

    def hang(self, name: str) -> None:
        """Let it take connections and answer nothing."""

    def add(self, name: str, *, learner: bool = False) -> None:
        """Add a new member and start it, as the anchor of Promenade's charts does."""


class SimulatedSite:
    """The simulator, with TLS, five hundred times as fast."""

    every = 0.05

    def __init__(self, cleanup: ExitStack, directory: Path) -> None:
        authority = Authority(directory)
        cert, key = authority.vouch("member")
        tls = (authority.file, cert, key)
        self.simulator = cleanup.enter_context(etcd_simulator.running(time_scale=0.002, tls=tls))
        pem = [file.read_text() for file in (authority.file, *authority.vouch("client"))]
        self.access = EtcdAccess("kubernetes-etcd", self.simulator.endpoints, *pem, request_timeout=1.0)

    def kill(self, name: str) -> None:
        self.simulator.put(name, MemberState.KILLED)

    def start(self, name: str) -> None:
        self.simulator.put(name)

    def hang(self, name: str) -> None:
        self.simulator.put(name, MemberState.HANGING)

    def add(self, name: str, *, learner: bool = False) -> None:
        self.simulator.put(name, learner=learner)


class RealSite:
    """A real etcd of the recipe; its certificates are made once."""

    every = 0.6

    def __init__(self, cleanup: ExitStack, _directory: Path) -> None:
        self._clear()
        cleanup.callback(self._clear)
        self._recipe("start", str(len(NAMES)))
        certificates = Path(DIRECTORY, "certs")
        pem = [(certificates / file).read_text() for file in ("ca.crt", "client.crt", "client.key")]
        urls = tuple(line.split()[3] for line in self._recipe("status").splitlines())
        self.access = EtcdAccess("kubernetes-etcd", urls, *pem, request_timeout=4.0)

    def kill(self, name: str) -> None:
        self._recipe("member", name[1:], "kill")

    def start(self, name: str) -> None:
        self._recipe("member", name[1:], "start")

    def hang(self, name: str) -> None:
        self._recipe("member", name[1:], "stop")

    def add(self, name: str, *, learner: bool = False) -> None:
        # A removed member runs on for some moments, and the recipe then refuses to add it again; one that asks a peer
        # which lags behind for the members ends at once. The recipe goes on from either.
        again = ("member", name[1:], "add", *(["learner"] if learner else []))

        def added() -> bool:
            self._recipe(*again)
            return True

        until(added, every=0.2, but=CalledProcessError)

    def _clear(self) -> None:
        """End the cluster and forget its data, but not its certificates."""
        for member in Path(DIRECTORY).glob("m[1-9]"):
            self._recipe("member", member.name[1:], "kill", check=False)  # a proper end takes 5 s
        self._recipe("stop")
        for member in Path(DIRECTORY).glob("m[1-9]"):
            shutil.rmtree(member)
        for file in ("port", "size"):
            Path(DIRECTORY, file).unlink(missing_ok=True)

    def _recipe(self, *arguments: str, check: bool = True) -> str:
        # Files, not pipes: the members inherit them, and a pipe would stay open as long as they run.
        output = Path(DIRECTORY, "recipe.out")
        Path(DIRECTORY).mkdir(exist_ok=True)
        with output.open("w") as written:
            subprocess.run(
                [str(RECIPE), *arguments],
                env={**os.environ, "ETCD_DIR": DIRECTORY},
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=check,
            )
        return output.read_text()


def accepts_writes(site: Site) -> bool:
    """Return whether a member takes a write, asked past the adapter; tried as long as the site needs."""
    context = ssl.create_default_context(cadata=site.access.ca)
    with NamedTemporaryFile("w") as file:
        file.write(site.access.cert + site.access.key)
        file.flush()
        context.load_cert_chain(file.name)

    def written() -> bool:
        for url in site.access.endpoints:
            request = urllib.request.Request(f"{url}/v3/kv/put", b'{"key": "a2V5", "value": "dg=="}')
            with suppress(OSError), urllib.request.urlopen(request, timeout=2, context=context) as answer:
                return bool(answer.status == 200)
        return False

    return until(written)


SITES: dict[str, type[SimulatedSite | RealSite]] = {"simulator": SimulatedSite}
if DIRECTORY:
    SITES["real-etcd"] = RealSite
