"""Fills ``ports.teardown_service`` with a Promenade that has the API of seed 004 (contract: promenade, 3 and 5)."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing

from msgspec import Struct, field

from shipyard_api.adapters.promenade.answers import Status, etcd_health, read_status
from shipyard_api.adapters.promenade.design_validation import SYSTEM
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.http import HttpClient, RequestOptions, Response, refusal, segment
from shipyard_api.http.failures import silent
from shipyard_api.http.restarts import PeerRestarts
from shipyard_api.observing import request_context
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.teardown_service import NodeNotFound, NoTeardownApi, ServiceReport

MARGIN = 60.0  # seconds beyond an operation's own time
CHECK_TIME = 60.0  # seconds for calls that do no work
REMOVAL_TIME = 300.0  # seconds for the removal from Kubernetes, which has no limit of its own

_REPEATS = 2
_FAILED = frozenset(
    {
        *("DrainNodeError", "ClearLabelsError", "RemoveEtcdError", "EtcdNotAccessible"),
        *("ShutdownKubeletError", "DeleteNodeError", "DisassociateStepFailure"),
    }
)
_NO_API = "this Promenade has no teardown API, use the kubernetes adapter"


class _Call(Struct, frozen=True):
    """One call. ``seconds``: how long the service may take; ``design``: whether it needs the design."""

    path: str
    seconds: float
    query: Mapping[str, int] = field(default_factory=dict)
    design: bool = False


class PromenadeTeardown:
    """The teardown API of one Promenade. ``base_url`` ends in ``/api/v1.0``; times in seconds.

    ``token`` is called before every request; on 401 ``renew_token`` is called and the request sent again.
    ``ask_every``: how often an operation asks whether it is still wanted. ``first_pause``: before the first repetition,
    then doubled.
    """

    name = SYSTEM

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        renew_token: Callable[[], None] = lambda: None,
        connect_timeout: float = 5.0,
        ask_every: float = 4.0,
        first_pause: float = 2.0,
    ) -> None:
        self._base_url, self._connect_timeout = base_url, connect_timeout
        self._token, self._renew_token = token, renew_token
        self._ask_every, self._first_pause = ask_every, first_pause
        self._scrubber, self._restarts = Scrubber(), PeerRestarts()
        self._client(CHECK_TIME)  # raises ValueError for an unusable address

    def check_available(self, node: NodeName) -> None:
        """Return if the teardown API exists; raise NoTeardownApi if not. Changes nothing (contract, 5.3)."""
        answer = self._send(CHECK_TIME, "OPTIONS", f"nodes/{segment(node)}/drain", {})
        if answer.status == 404 and not _is_about_a_node(read_status(answer)):
            raise self._refused(answer) if answer.restarting else self._no_api(answer)
        if answer.status in (401, 403, 417):
            raise self._refused(answer)
        if answer.status >= 500:
            raise Unavailable(SYSTEM, answer.operation, f"answered {answer.status}")

    def run(
        self,
        operation: Operation,
        node: NodeName,
        limits: TeardownLimits,
        design: str,
        *,
        is_wanted: Callable[[], bool],
    ) -> ServiceReport:
        """Run one operation to its end (``ports.teardown_service.TeardownService.run``)."""
        call = _call(operation, node, limits)
        options: RequestOptions = {"params": {name: str(value) for name, value in call.query.items()}}
        if call.design:
            self._scrubber.hide_address(design)
            options["json"] = {"rel": "design", "href": design, "type": "application/x-yaml"}
        answer = self._repeated(call, options, is_wanted)
        if answer.status != 200:
            raise self._failure(answer)
        messages = read_status(answer).messages
        return ServiceReport(
            tuple(message.text for message in messages), tuple(message.text for message in messages if message.error)
        )

    def etcd_health(self, design: str) -> Mapping[str, Health]:
        """Return the health of each etcd cluster by name; empty if the design names none."""
        self._scrubber.hide_address(design)
        answer = self._send(CHECK_TIME, "GET", "etcd-cluster-health-statuses", {"params": {"design_ref": design}})
        status = read_status(answer)
        if answer.status == 200:
            return etcd_health(status)
        if answer.status == 404 and status.reason == "NotFound":
            return {}
        raise self._failure(answer)

    def _repeated(self, call: _Call, options: RequestOptions, is_wanted: Callable[[], bool]) -> Response:
        """Return the answer; a call without an outcome is repeated and passes over completed work (contract, 5.2)."""
        options = options | {"is_wanted": is_wanted, "every": self._ask_every}
        for attempt in range(_REPEATS + 1):
            try:
                answer = self._send(call.seconds + MARGIN, "POST", call.path, options)
            except Unavailable as error:
                # A Promenade that was silent until the deadline would be silent again.
                if attempt == _REPEATS or silent(error) or not is_wanted():
                    raise error.worded(f"outcome unknown: {error.detail}") from error
            else:
                if not _has_no_outcome(answer):
                    return answer
                if attempt == _REPEATS:
                    raise Unavailable(SYSTEM, answer.operation, f"outcome unknown: answered {answer.status}")
            self._pause(self._first_pause * 2**attempt, is_wanted)
        raise AssertionError("unreachable")

    def _pause(self, seconds: float, is_wanted: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and is_wanted():
            time.sleep(min(left, self._ask_every))

    def _send(self, seconds: float, method: str, path: str, options: RequestOptions) -> Response:
        with closing(self._client(seconds)) as client:
            return client.send(method, path, **(options | {"headers": request_context.headers()}))

    def _client(self, seconds: float) -> HttpClient:
        return HttpClient(
            self._base_url,
            system=SYSTEM,
            credentials=lambda: {"X-Auth-Token": self._token()},
            renew=self._renew_token,
            scrubber=self._scrubber,
            connect_timeout=self._connect_timeout,
            read_timeout=seconds,
            total_timeout=seconds,
            restarts=self._restarts,
        )

    def _failure(self, answer: Response) -> Refused | Unavailable:
        status = read_status(answer)
        if answer.status == 404 and _is_about_a_node(status):
            return NodeNotFound(SYSTEM, answer.operation, answer.answered(str(status)), code=404, said=str(status))
        if answer.status in (404, 405) and not answer.restarting:
            return self._no_api(answer)
        if answer.status < 500 or status.reason in _FAILED:
            return self._refused(answer)
        return Unavailable(SYSTEM, answer.operation, answer.answered(str(status)))

    def _refused(self, answer: Response) -> Refused | Unavailable:
        status = read_status(answer)
        if answer.restarting:
            return refusal(answer, answer.answered(str(status)))
        return Refused(
            SYSTEM,
            answer.operation,
            answer.answered(str(status)),
            code=answer.status,
            said=str(status),
            whole_site=answer.status in (401, 403, 417),
        )

    def _no_api(self, answer: Response) -> NoTeardownApi:
        return NoTeardownApi(SYSTEM, answer.operation, _NO_API, code=answer.status, whole_site=True)


def _call(operation: Operation, node: NodeName, limits: TeardownLimits) -> _Call:
    """Return the call of an operation. Raises ValueError for one that is none of Promenade's."""
    path = f"nodes/{segment(node)}/{operation.value}"
    match operation:
        case Operation.DRAIN:
            query = {"timeout": limits.drain, "grace-period": limits.drain_grace_period}
            return _Call(path, limits.drain, query)
        case Operation.CLEAR_LABELS:
            return _Call(path, limits.clear_labels, {"timeout": limits.clear_labels})
        case Operation.REMOVE_ETCD:
            return _Call(path, limits.remove_etcd, {"timeout": limits.remove_etcd}, design=True)
        case Operation.SHUT_DOWN_KUBELET:
            return _Call(path, limits.shutdown_kubelet)
        case Operation.REMOVE_FROM_CLUSTER:
            return _Call(path, REMOVAL_TIME)
        case _:
            raise ValueError(f"{operation.value} is not an operation of Promenade")


def _is_about_a_node(status: Status) -> bool:
    """Return whether a 404 is about the node, and not about the route."""
    return status.reason == "NotFound" or status.error_type == "NodeNotFoundException"


def _has_no_outcome(answer: Response) -> bool:
    """Return whether the operation may have run or not: a gateway answered, or Promenade broke without a reason."""
    return answer.status == 429 or (answer.status >= 500 and read_status(answer).reason not in _FAILED)
