"""One address of an etcd cluster: the calls of its JSON gateway, and its failures as ``ports.errors``."""

import os
import ssl
from collections.abc import Callable
from typing import Self, TypeVar
from urllib.parse import urlsplit

from shipyard_api.adapters.etcd import translate
from shipyard_api.adapters.etcd.translate import MemberList, MemberStatus, UnexpectedForm
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_members import MemberId
from shipyard_api.http import HttpClient, Response, refusal
from shipyard_api.http.restarts import PeerRestarts
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.etcd import MemberRemoval, NotEtcd

SYSTEM = "etcd"


def tls_context(access: EtcdAccess) -> ssl.SSLContext | None:
    """Return the context for all connections to the cluster, None without an authority.

    OpenSSL reads a private key from files only: it gets one that exists in memory, for the duration of the call.
    Raises Refused, without any of the texts, if they cannot be used.
    """
    if not access.ca:
        return None
    try:
        context = ssl.create_default_context(cadata=access.ca)
        if access.key:
            _load_key(context, f"{access.cert}\n{access.key}\n")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        detail = f"the certificates or the key of cluster {access.name} cannot be used ({reason})"
        raise Refused(SYSTEM, "TLS", detail) from None
    return context


def _load_key(context: ssl.SSLContext, pem: str) -> None:
    with os.fdopen(os.memfd_create("etcd"), "w", encoding="utf-8") as memory:
        memory.write(pem)
        memory.flush()
        # Without a password, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(f"/proc/self/fd/{memory.fileno()}", password="")


T = TypeVar("T")

_LARGEST = 4 * 1024 * 1024  # bytes of an answer; a member takes some hundred
_LONGEST = 500  # characters of etcd's message
# gRPC's numbers of failures
_NOT_FOUND = 5
_BUSY = {8, 9}  # too many requests; not enough started members, or not the leader
_REFUSED = {3, 7, 12, 16}  # invalid, no right, not implemented, not authenticated
_UNHEALTHY_CLUSTER = "unhealthy cluster"


class EtcdClient:
    """The gateway at one address. ``seconds``: how long each call may take. Raises ValueError for an unusable address.

    ``restarts``: of all clients of this address.

    Calls raise NotEtcd for an answer that is not etcd's, and else Busy, Refused or Unavailable.
    """

    def __init__(
        self, url: str, access: EtcdAccess, tls: ssl.SSLContext | None, seconds: float, restarts: PeerRestarts
    ) -> None:
        self.url = url
        self._http = HttpClient(
            url,
            system=SYSTEM,
            scrubber=Scrubber(access.key),
            # The connection and then its TLS may take as long each.
            connect_timeout=seconds / 2,
            read_timeout=seconds,
            total_timeout=seconds,
            max_body=_LARGEST,
            read_attempts=1,
            tls=tls,
            server_name=access.server_name,
            restarts=restarts,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def is_healthy(self) -> bool:
        """Return whether the member calls itself healthy; without a leader its answer is a 503."""
        return translate.is_healthy(self._object(self._http.send("GET", "health")))

    def members(self) -> MemberList:
        """Return the member list as this member has it; without a quorum, too."""
        # Without this, releases from 3.5 on only answer with a quorum. Older ones ignore it.
        return self._read("cluster/member/list", {"linearizable": False}, translate.member_list)

    def status(self) -> MemberStatus:
        """Return the status of the member."""
        return self._read("maintenance/status", {}, translate.member_status)

    def has_no_space(self) -> bool:
        """Return whether an alarm stops all writes. Needs a quorum: without one there is no answer."""
        return self._read("maintenance/alarm", {"action": "GET"}, translate.has_no_space)

    def transfer_leadership(self, to: MemberId) -> None:
        """Request that this member hands over; it must lead."""
        self._post("maintenance/transfer-leadership", {"targetID": to})

    def remove(self, member: MemberId) -> MemberRemoval:
        """Remove a member. Without a quorum there is no answer, and the removal may be applied later."""
        try:
            self._post("cluster/member/remove", {"ID": member})
        except _NotFound:
            return MemberRemoval.GONE
        return MemberRemoval.REMOVED

    def _read(self, path: str, body: JsonObject, read: Callable[[JsonObject], T]) -> T:
        answer = self._post(path, body)
        try:
            return read(self._object(answer))
        except UnexpectedForm as error:
            raise self._not_etcd(answer, str(error)) from None

    def _post(self, path: str, body: JsonObject) -> Response:
        """Return a successful answer; raise the error of any other."""
        answer = self._http.send("POST", f"v3/{path}", json=body)
        if answer.status == 404 and _failure(answer) is None and not answer.restarting:
            answer = self._http.send("POST", f"v3beta/{path}", json=body)  # until 3.3
        if answer.status == 200:
            return answer
        raise self._error(answer)

    def _error(self, answer: Response) -> PeerError:
        failure = _failure(answer)
        if answer.restarting and failure is None:
            return refusal(answer, f"{self._host} answered {answer.status}")
        if failure is None and answer.status in (502, 503, 504):
            return Unavailable(SYSTEM, answer.operation, f"{self._host} answered {answer.status}")
        if failure is None:
            return self._not_etcd(answer, "not as etcd does")
        code, message = failure
        text = answer.scrubber.line(message, _LONGEST)
        detail = f"{self._host} answered {answer.status}: {text}"
        if code == _NOT_FOUND:
            return _NotFound(SYSTEM, answer.operation, detail, code=answer.status, said=text)
        if code in _BUSY or _UNHEALTHY_CLUSTER in message:
            return Busy(SYSTEM, answer.operation, detail)
        if code in _REFUSED:
            return Refused(SYSTEM, answer.operation, detail, code=answer.status, said=text)
        return Unavailable(SYSTEM, answer.operation, detail)

    def _object(self, answer: Response) -> JsonObject:
        try:
            return dict(answer.object())
        except Unavailable:
            raise self._not_etcd(answer, "not with a JSON object") from None

    def _not_etcd(self, answer: Response, detail: str) -> NotEtcd:
        text = f"{self._host} answered {answer.status}, {detail}"
        return NotEtcd(SYSTEM, answer.operation, text, code=answer.status)

    @property
    def _host(self) -> str:
        return urlsplit(self.url).netloc


class _NotFound(Refused):
    """There is no such member."""


def _failure(answer: Response) -> tuple[int, str] | None:
    """Return gRPC's number and the message of a failure that etcd reports, None if the answer is not etcd's."""
    try:
        body = answer.object()
    except Unavailable:
        return None
    code = body.get("code")
    return (code, str(body.get("message") or body.get("error"))) if isinstance(code, int) else None
