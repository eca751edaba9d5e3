"""The teardown API of a Promenade as one wire table: calls, answers, repetitions, and how a wait ends."""

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen

import pytest

from shipyard_api.adapters.promenade import teardown
from shipyard_api.adapters.promenade.teardown import PromenadeTeardown
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.teardown_service import NodeNotFound, NoTeardownApi, ServiceReport, TeardownService
from shipyard_simulators.promenade import simulator as promenade_simulator
from shipyard_simulators.promenade.simulator import PromenadeSimulator
from tests.peer import Answer, Peer

N1 = NodeName("n1")
LIMITS = TeardownLimits(drain=30, drain_grace_period=20, clear_labels=15, remove_etcd=10, shutdown_kubelet=5)
DESIGN = "deckhand+https://deckhand:secret-word@deckhand/revisions/3/rendered-documents"
TOKEN = "token-of-the-operator"
OPERATIONS = {
    Operation.DRAIN: [("timeout", "30"), ("grace-period", "20")],
    Operation.CLEAR_LABELS: [("timeout", "15")],
    Operation.REMOVE_ETCD: [("timeout", "10")],
    Operation.SHUT_DOWN_KUBELET: [],
    Operation.REMOVE_FROM_CLUSTER: [],
}


def service(url: str, **options: Any) -> TeardownService:
    return PromenadeTeardown(url, **{"token": lambda: TOKEN, "ask_every": 0.05, "first_pause": 0.01} | options)


def run(peer: Peer | PromenadeSimulator, operation: Operation = Operation.DRAIN, **options: Any) -> ServiceReport:
    url = peer.url if isinstance(peer, Peer) else f"{peer.url}/api/v1.0"
    wanted = options.pop("is_wanted", lambda: True)
    return service(url, **options).run(operation, N1, LIMITS, DESIGN, is_wanted=wanted)


def status(reason: str | None = None, *messages: Any, kind: str | None = None, **more: Any) -> dict[str, Any]:
    details = {"errorType": kind, "errorCount": len(messages), "messageList": list(messages)}
    return {"kind": "status", "message": None, "reason": reason, "details": details, "code": "500 X", **more}


def test_each_operation_is_one_call(peer: Peer) -> None:
    told = [{"message": "pod a is gone", "error": False}, {"message": "volume v", "error": True}, "bare", {"error": 1}]
    for operation, query in OPERATIONS.items():
        route = f"POST /nodes/n1/{operation.value}"
        peer.on(route, Answer(200, status("Success", *told)))
        assert run(peer, operation) == ServiceReport(("pod a is gone", "volume v", "bare"), ("volume v",))
        (request,) = peer.asked(route)
        assert (request.query, request.headers["x-auth-token"]) == (query, TOKEN)
        if operation is Operation.REMOVE_ETCD:
            assert request.json == {"rel": "design", "href": DESIGN, "type": "application/x-yaml"}
            # A body of any other type counts as absent, even with a charset.
            assert request.headers["content-type"] == "application/json"
        else:
            assert request.body == b""
    for other in (Operation.AWAIT_ETCD, Operation.DESTROY_NODE):
        with pytest.raises(ValueError, match=other.value):
            run(peer, other)


ROUTE = "POST /nodes/n1/drain"
HTML = Answer(404, "<html>Not Found</html>")
ENDINGS: dict[str, tuple[Answer, type[PeerError], int, str]] = {
    "a bad request": (Answer(400, status("BadRequest", message="grace too long")), Refused, 1, "grace too long"),
    "an unknown node": (Answer(404, status("NotFound")), NodeNotFound, 1, "NotFound"),
    "an unknown node, really": (Answer(404, status(kind="NodeNotFoundException")), NodeNotFound, 1, "404"),
    "an unknown route": (Answer(404, status(kind="HTTPRouteNotFound")), NoTeardownApi, 1, "kubernetes adapter"),
    "a page for people": (HTML, NoTeardownApi, 1, "kubernetes adapter"),
    "a wrong method": (Answer(405, b""), NoTeardownApi, 1, "kubernetes adapter"),
    "a conflict": (Answer(409, status("Conflict", {"message": "has pods", "error": True})), Refused, 1, "has pods"),
    "no right": (Answer(403, status("Forbidden")), Refused, 1, "Forbidden"),
    "a broken policy": (Answer(417, status()), Refused, 1, "417"),
    "an unknown token": (Answer(401, status("Unauthenticated")), Refused, 2, "Unauthenticated"),
    "a failed step": (
        Answer(500, status("DrainNodeError", {"message": "pod a"}, "pod b", {"message": f"echo {TOKEN}"})),
        Refused,
        1,
        "DrainNodeError; pod a; pod b",
    ),
    "an error without reason": (Answer(500, status()), Unavailable, 3, "outcome unknown"),
    "a gateway": (Answer(502, "<html>"), Unavailable, 3, "outcome unknown"),
    "no service": (Answer(503, status(kind="KubernetesApiError")), Unavailable, 3, "outcome unknown"),
    "a gateway's timeout": (Answer(504, b""), Unavailable, 3, "outcome unknown"),
    "too many requests": (Answer(429, b""), Unavailable, 3, "outcome unknown"),
    "a cut answer": (Answer(200, status("Success"), cut=4), Unavailable, 3, "outcome unknown"),
}


def test_an_answer_has_its_kind_and_only_those_without_outcome_are_repeated(peer: Peer) -> None:
    for title, (answer, kind, calls, text) in ENDINGS.items():
        peer.requests.clear()
        peer.on(ROUTE, answer)
        with pytest.raises(kind) as caught:
            run(peer)
        assert type(caught.value) in ({kind} if kind is Refused else {kind, *kind.__subclasses__()}), title
        assert len(peer.asked(ROUTE)) == calls, title
        assert text in str(caught.value), title
        assert TOKEN not in str(caught.value), title
        if isinstance(caught.value, Refused):
            refuses_all = answer.status in (401, 403, 417) or kind is NoTeardownApi
            assert (caught.value.code, caught.value.whole_site) == (answer.status, refuses_all), title


def test_the_password_of_a_design_is_never_quoted(peer: Peer) -> None:
    quoted = Answer(400, status("BadRequest", message="cannot read it with secret-word"))
    peer.on("POST /nodes/n1/remove-etcd", quoted)
    peer.on("GET /etcd-cluster-health-statuses", quoted)
    for ask in (lambda: run(peer, Operation.REMOVE_ETCD), lambda: service(peer.url).etcd_health(DESIGN)):
        with pytest.raises(Refused, match="cannot read") as caught:
            ask()
        assert "secret-word" not in str(caught.value)


def test_an_unusable_address_is_found_at_once() -> None:
    with pytest.raises(ValueError, match="http"):
        service("promenade")


def test_the_pauses_before_repetitions_double_and_end_when_the_operation_is_not_wanted(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.on(ROUTE, Answer(502, "<html>"))
    slept: list[float] = []
    monkeypatch.setattr(teardown, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append))
    for wanted_for, pauses in ((99.0, [2.5, 4.0, 1.0]), (6.0, [2.5, 4.0])):
        slept.clear()
        with pytest.raises(Unavailable):
            run(peer, first_pause=2.5, ask_every=4.0, is_wanted=lambda wanted_for=wanted_for: sum(slept) < wanted_for)
        assert slept == pauses


def test_a_repetition_that_succeeds_is_a_success(peer: Peer) -> None:
    peer.on(ROUTE, Answer(502, "<html>"), Answer(200, {}, cut=1), Answer(200, status("Success", "drained already")))
    assert run(peer).messages == ("drained already",)


def test_a_new_token_is_sent_where_the_old_one_is_refused(peer: Peer) -> None:
    peer.on(ROUTE, Answer(401, status()), Answer(200, status("Success")))
    tokens = iter(["old", "new"])
    current = [next(tokens)]
    run(peer, token=lambda: current[-1], renew_token=lambda: current.append(next(tokens)))
    assert [one.headers["x-auth-token"] for one in peer.asked(ROUTE)] == ["old", "new"]


def test_who_is_no_longer_wanted_stops_waiting(peer: Peer) -> None:
    peer.on(ROUTE, Answer(hang=True))
    asked: list[float] = []

    def is_wanted() -> bool:
        asked.append(time.monotonic())
        return len(asked) < 4

    with pytest.raises(Unavailable, match="no longer waited for"):
        run(peer, is_wanted=is_wanted)

    assert len(asked) >= 4
    assert len(peer.asked(ROUTE)) == 1


AVAILABLE: dict[str, tuple[Answer, type[PeerError] | None]] = {
    "the route": (Answer(200, b"", {"Allow": "POST"}), None),
    "a route that knows no such method": (Answer(405, b""), None),
    "a route that knows no such node": (Answer(404, status("NotFound")), None),
    "no route": (Answer(404, status(kind="HTTPRouteNotFound")), NoTeardownApi),
    "no route, without a word": (Answer(404, status()), NoTeardownApi),
    "a page for people": (HTML, NoTeardownApi),
    "no right": (Answer(403, status()), Refused),
    "an unknown token": (Answer(401, status()), Refused),
    "a broken policy": (Answer(417, status()), Refused),
    "a broken Promenade": (Answer(500, status()), Unavailable),
    "a gateway": (Answer(502, b""), Unavailable),
}


def test_whether_there_is_a_teardown_api_is_found_out_without_a_change(peer: Peer) -> None:
    for answer, expected in AVAILABLE.values():
        peer.on("OPTIONS /nodes/n1/drain", answer)
        if expected is None:
            service(peer.url).check_available(N1)
            continue
        with pytest.raises(expected) as caught:
            service(peer.url).check_available(N1)
        assert isinstance(caught.value, NoTeardownApi) == (expected is NoTeardownApi)


HEALTHS: dict[str, tuple[Answer, dict[str, Health] | type[PeerError]]] = {
    "all words": (
        Answer(
            200,
            status(
                "Success",
                {"name": "a", "message": "Healthy", "error": False},
                {"name": "b", "message": "Unhealthy", "error": False},
                {"name": "c", "message": "Unable to access Etcd", "error": True},
                {"name": "d", "message": "cannot say", "error": True},
                {"name": "e", "message": "so so"},
            ),
        ),
        dict(zip("abcde", [*Health, Health.UNREACHABLE, Health.UNHEALTHY], strict=True)),
    ),
    "no cluster in the design": (Answer(404, status("NotFound")), {}),
    "no API": (Answer(404, status(kind="HTTPRouteNotFound")), NoTeardownApi),
    "no etcd": (Answer(500, status("EtcdNotAccessible")), Refused),
    "no reference": (Answer(400, status("MissingDesignRef")), Refused),
    "a broken Promenade": (Answer(500, status()), Unavailable),
}


def test_the_health_of_etcd(peer: Peer) -> None:
    route = "GET /etcd-cluster-health-statuses"
    for answer, expected in HEALTHS.values():
        peer.on(route, answer)
        if isinstance(expected, dict):
            assert service(peer.url).etcd_health(DESIGN) == expected
            continue
        with pytest.raises(expected):
            service(peer.url).etcd_health(DESIGN)
    assert all(one.query == [("design_ref", DESIGN)] for one in peer.asked(route))


# The simulator


@pytest.fixture
def promenade() -> Iterator[PromenadeSimulator]:
    with promenade_simulator.running(nodes=["n1"], token=TOKEN, time_scale=0.01) as simulator:
        yield simulator


def control(simulator: PromenadeSimulator, path: str, body: object, method: str = "PUT") -> None:
    urlopen(Request(f"{simulator.url}/simulator/{path}", json.dumps(body).encode(), method=method)).close()


def test_a_simulated_node_is_taken_apart_and_done_operations_are_passed_over(promenade: PromenadeSimulator) -> None:
    service(f"{promenade.url}/api/v1.0").check_available(N1)
    with pytest.raises(Refused, match=r"Conflict.*not cordoned.*labels"):
        run(promenade, Operation.REMOVE_FROM_CLUSTER)
    for operation in OPERATIONS:
        assert run(promenade, operation).messages == (f"{operation.value} of n1: done",)
        if operation is not Operation.REMOVE_FROM_CLUSTER:
            assert run(promenade, operation).messages == (f"{operation.value} of n1: done already",)
    with pytest.raises(NodeNotFound):
        run(promenade)


def test_a_simulated_operation_fails_takes_long_or_is_cut_off_as_it_is_told(promenade: PromenadeSimulator) -> None:
    control(promenade, "outcomes/drain", {"seconds": 2, "failures": ["pod a is still there"]})
    with pytest.raises(Refused, match=r"DrainNodeError.*pod a is still there"):
        run(promenade)
    control(promenade, "outcomes/drain", {"warnings": ["volume v"]})
    drop = {"method": "POST", "path": "/nodes/*", "action": "drop_after_effect", "first": 1}
    control(promenade, "faults", [drop], "POST")
    assert run(promenade).messages == ("drain of n1: done already",)
    client = service(f"{promenade.url}/api/v1.0")
    assert client.etcd_health(DESIGN) == {}
    control(promenade, "etcd", {"a": "Healthy", "b": "Unable to access Etcd"})
    assert client.etcd_health(DESIGN) == {"a": Health.HEALTHY, "b": Health.UNREACHABLE}


def test_a_released_promenade_has_no_teardown_api() -> None:
    with promenade_simulator.running(nodes=["n1"], teardown=False) as simulator:
        client = service(f"{simulator.url}/api/v1.0")
        for ask in (lambda: client.check_available(N1), lambda: run(simulator), lambda: client.etcd_health(DESIGN)):
            with pytest.raises(NoTeardownApi, match="this Promenade has no teardown API, use the kubernetes adapter"):
                ask()
