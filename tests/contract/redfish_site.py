"""The provisioner of the how-to, installed as a plug-in, before Redfish BMCs that speak HTTP."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.provisioner import JobId, Operation, Provisioner
from shipyard_api.wiring.provisioners import provisioner
from shipyard_api.wiring.settings import load
from tests.contract.provisioner_sites import NODES, Fate, Plot, Site, Slip
from tests.distributions import installed_example
from tests.prompt_servers import served

UNREADABLE = 404
IMAGE_SECONDS = 0.05


class Bmcs(ThreadingHTTPServer):
    """A Redfish service with a system for each node. ``fates``: what becomes of the image of an operation, by node."""

    daemon_threads = True

    def __init__(self, plot: Plot) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plot, self.slip, self.lock = plot, plot.first_submit, threading.Lock()
        self.systems: dict[str, dict[str, Any]] = {
            node.name: {"Id": node.name, "AssetTag": None, "PowerState": "Off", "Boot": {}} for node in NODES
        }
        self.restarts: list[str] = []
        self.due: dict[str, float] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def listed(self) -> list[dict[str, Any]]:
        for name, due in self.due.items():
            if time.monotonic() >= due:
                self.end(name)
        return list(self.systems.values())

    def end(self, name: str) -> None:
        """End the image of a server, unless it hangs."""
        system, fate = self.systems[name], self.plot.fates.get(name)
        image = system["Boot"]["HttpBootUri"].rpartition("/")[2]
        if image == "prepare_nodes" and fate is Fate.HANGS_PREPARE:
            return
        if fate and fate.value == f"fails {image.partition('_')[0]}":
            system["Status"] = {"Health": "Critical", "Conditions": [{"Message": "no boot device"}]}
        else:
            system["BootProgress"] = {"LastState": "OSRunning"}

    def write(self, path: str, body: Mapping[str, Any]) -> None:
        name, _, action = path.removeprefix("/redfish/v1/Systems/").partition("/")
        system = self.systems[name]
        if action:
            system |= {"PowerState": "On", "BootProgress": {"LastState": "OSBootStarted"}, "Status": {"Health": "OK"}}
            self.restarts.append(name)
            self.due[name] = time.monotonic() + IMAGE_SECONDS
        else:
            system |= body


class Handler(BaseHTTPRequestHandler):
    server: Bmcs

    def do_GET(self) -> None:
        if self.server.plot.unhealthy:
            self.answer(503)
            return
        with self.server.lock:
            systems, name = self.server.listed(), self.path.rpartition("/")[2]
            one = [system for system in systems if system["Id"] == name]
            self.answer(200, one[0] if one else {"Members": systems} if "Systems" in self.path else {})

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            slip, self.server.slip = self.server.slip, None
            if slip is not Slip.BROKEN:
                self.server.write(self.path, body)
        if slip is None:
            self.answer(204)
        elif slip is Slip.BROKEN:
            self.answer(500)
        else:
            self.close_connection = True

    do_POST = do_PATCH  # noqa: N815  # the name that http.server calls

    def answer(self, status: int, body: object = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class RedfishSite(Site):
    """The example, chosen by the settings, before the BMCs."""

    provisioner: Provisioner
    never_fails = frozenset({Operation.VERIFY_SITE, Operation.PREPARE_SITE})
    ready: ClassVar[str] = "prepare_nodes OSRunning"

    def __init__(self, plot: Plot, cleanup: ExitStack, _directory: Path) -> None:
        self._valid = not plot.invalid
        self.bmcs = cleanup.enter_context(served(Bmcs(plot)))
        cleanup.enter_context(installed_example("redfish_provisioner"))
        settings = load(
            {
                "SHIPYARD_PROVISIONER_KIND": "redfish",
                "SHIPYARD_REDFISH_URL": self.bmcs.url,
                "SHIPYARD_REDFISH_IMAGE_URL": "http://images.example.org/",
            }
        )
        self.provisioner = provisioner(settings, self._inventory)

    def make_unreadable(self) -> str:
        return self.provisioner.design_reference(UNREADABLE)

    def jobs(self, operation: Operation) -> list[JobId]:
        tags = (str(system["AssetTag"] or "") for system in self.bmcs.systems.values())
        return sorted({JobId(tag.split(":")[1]) for tag in tags if tag.startswith(f"{operation.value}:")})

    def effects(self, name: str) -> int:
        return self.bmcs.restarts.count(name)

    def before_effects(self, act: Callable[[], None]) -> bool:
        listed = self.provisioner._servers  # type: ignore[attr-defined]  # for the test

        def servers() -> Any:
            found = listed()
            act()
            return found

        self.provisioner._servers = servers  # type: ignore[attr-defined]  # for the test
        return True

    def _inventory(self, revision: int) -> Inventory:
        if revision == UNREADABLE:
            raise UnreadableDesign(f"Revision not found: {revision}")
        return Inventory.of(NODES if self._valid else (*NODES, Node(NodeName("n" * 65))))
