"""The programs of the members: a port each, which a killed member closes and a hanging one leaves unanswered."""

import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shipyard_simulators.etcd.cluster import Member, MemberState, SimulatedEtcd
from shipyard_simulators.server import HOST, Application, Server

_LISTENING = frozenset(MemberState) - {MemberState.KILLED, MemberState.NEVER_STARTED, MemberState.REMOVED}


class MemberServer(Server):
    """The port of one member, with TLS if there is a context."""

    def __init__(self, application: Application, port: int, member: Member, tls: ssl.SSLContext | None) -> None:
        super().__init__(application, port)
        self._member, self._tls = member, tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer one connection; a hanging member answers once it resumes, a removed one never."""
        if self._member.state is MemberState.HANGING:
            self._member.freed.wait()
        if self._member.state not in _LISTENING:
            return
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        with self._tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that this member does not trust."""


class Programs:
    """The programs of all members. ``application`` makes that of one member."""

    def __init__(
        self,
        cluster: SimulatedEtcd,
        application: Callable[[Member], Application],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.cluster = cluster
        self._application, self._tls = application, tls
        self._ports: dict[str, int] = {}
        self._servers: dict[Member, MemberServer] = {}
        self._lock = threading.Lock()

    def put(self, name: str, state: MemberState, *, learner: bool = False, old: bool = False) -> Member:
        """Give a member this state; add it first if the cluster has none of this name."""
        with self._lock:
            member = next((one for one in self.cluster.members if one.name == name), None)
            if member is None:
                member = self._add(name, learner=learner, started=state is not MemberState.NEVER_STARTED, old=old)
            self.cluster.change(member, state)
            self._serve()
            return member

    def stop(self) -> None:
        """Stop all programs."""
        with self._lock:
            for member in list(self._servers):
                self._stop(member)

    def _add(self, name: str, *, learner: bool, started: bool, old: bool) -> Member:
        # A port that stays the member's own when it is killed: bound once to choose it.
        if name not in self._ports:
            with MemberServer(lambda *_: [], 0, Member(0, "", ("", "")), None) as chosen:
                self._ports[name] = chosen.server_port
        scheme = "https" if self._tls else "http"
        port = self._ports[name]
        urls = (f"{scheme}://{HOST}:{port}", f"{scheme}://{HOST}:{port % 65_535 + 1}")
        return self.cluster.add(name, urls, learner=learner, started=started, old=old)

    def _serve(self) -> None:
        for member in [one for one in self._servers if one.state not in _LISTENING]:
            self._stop(member)
        for member in [one for one in self.cluster.members if one.state in _LISTENING]:
            if member not in self._servers:
                server = MemberServer(self._application(member), self._ports[member.name], member, self._tls)
                self._servers[member] = server
                threading.Thread(target=server.serve_forever, args=(0.01,), name=member.name, daemon=True).start()

    def _stop(self, member: Member) -> None:
        server = self._servers.pop(member)
        member.freed.set()
        server.shutdown()
        server.server_close()


def server_tls(ca: Path, cert: Path, key: Path) -> ssl.SSLContext:
    """Return the context of members that only accept clients with a certificate of their authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca))
    context.load_cert_chain(cert, key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context
