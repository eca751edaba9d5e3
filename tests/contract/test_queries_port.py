"""What ports.metrics.Queries promises, on a scripted Prometheus and on a real one where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.metrics import Queries, QueryResult
from shipyard_api.wiring.monitoring import queries
from shipyard_api.wiring.settings import load
from shipyard_simulators.held_port import HeldPort
from tests.peer import Answer, Peer, running
from tests.waiting import until

ROUTE = "GET /api/v1/query"
NOW = 1764187200.0


def answered(kind: str, result: Any) -> Answer:
    return Answer(200, {"status": "success", "data": {"resultType": kind, "result": result}})


def vector(*series: tuple[dict[str, str], str]) -> Answer:
    return answered("vector", [{"metric": metric, "value": [NOW, value]} for metric, value in series])


MANY = " or ".join(f'label_replace(vector({number}), "n", "{number}", "", "")' for number in range(5))
HELD = {
    "a comparison that is true": ("vector(1) > 0", vector(({}, "1")), True, "{} 1"),
    "a comparison that is not": ("vector(1) > 2", vector(), False, "no series"),
    "a value of 0 that is small enough": ("vector(0) < 1", vector(({}, "0")), True, "{} 0"),
    "labels": ('label_replace(vector(2), "a", "b", "", "")', vector(({"a": "b"}, "2")), True, '{a="b"} 2'),
    "many series": (
        MANY,
        vector(*(({"n": str(number)}, str(number)) for number in range(5))),
        True,
        '{n="0"} 0, {n="1"} 1, {n="2"} 2 and 2 more',
    ),
    "a scalar": ("1", answered("scalar", [NOW, "1"]), True, "1"),
    "a scalar of 0": ("0", answered("scalar", [NOW, "0"]), False, "0"),
    "no number": ("NaN", answered("scalar", [NOW, "NaN"]), False, "NaN"),
}  # fmt: skip
WRONG = Answer(400, {"status": "error", "errorType": "bad_data", "error": "parse error: unexpected end of input"})
REFUSED = {
    "a text": ('"text"', answered("string", [NOW, "text"]), "the query returns a string"),
    "a range": ("up[5m]", answered("matrix", []), "the query returns a matrix"),
    "no query": ("up{", WRONG, "bad_data: "),
}
UNUSABLE = {
    "starts": (Answer(503, "Service Unavailable"), Unavailable),
    "wants a token": (Answer(401, "Unauthorized"), Refused),
    "is something else": (Answer(200, "<html>"), Unavailable),
    "has no result": (Answer(200, {"status": "success", "data": {"resultType": "vector"}}), Unavailable),
    "has no value": (answered("vector", [{"metric": {}}]), Unavailable),
    "timed out": (Answer(503, {"status": "error", "errorType": "timeout", "error": "query timed out"}), Unavailable),
    "hangs up": (None, Unavailable),
}


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as scripted:
        yield scripted


def scripted(peer: Peer, answer: Answer | None, token: str = "") -> Queries:
    if answer is not None:
        peer.on(ROUTE, answer)
    return wired(f"http://127.0.0.1:{peer.server_port}", token)


def wired(url: str, token: str = "") -> Queries:
    """Return what the settings make of an address."""
    found = queries(load({"SHIPYARD_PROMETHEUS_URL": url, "SHIPYARD_PROMETHEUS_TOKEN": token}))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queries]:
    """A Prometheus that scrapes nothing."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed (Debian: prometheus)")
    place: Path = tmp_path_factory.mktemp("prometheus")
    (place / "prometheus.yml").write_text("scrape_configs: []\n")
    held = HeldPort()
    address = f"127.0.0.1:{held.number}"
    options = [
        f"--config.file={place}/prometheus.yml",
        f"--storage.tsdb.path={place}",
        f"--web.listen-address={address}",
    ]
    with (place / "log").open("wb") as log, subprocess.Popen([program, *options], stdout=log, stderr=log) as process:
        try:
            found = wired(f"http://{address}")

            def answers() -> bool:
                assert process.poll() is None, (place / "log").read_text()
                found.ask("1")
                return True

            until(answers, (place / "log").read_text, every=0.1, but=PeerError)
            yield found
        finally:
            process.terminate()
            held.close()


def test_what_holds(peer: Peer) -> None:
    for query, answer, holds, text in HELD.values():
        assert scripted(peer, answer).ask(query) == QueryResult(holds, text)
        assert peer.requests[-1].query == [("query", query)]
    for query, answer, why in REFUSED.values():
        with pytest.raises(Refused, match=why):
            scripted(peer, answer).ask(query)


def test_a_real_prometheus_says_the_same(real: Queries) -> None:
    for query, _, holds, text in HELD.values():
        assert real.ask(query) == QueryResult(holds, text), query
    for query, _, why in REFUSED.values():
        with pytest.raises(Refused, match=why):
            real.ask(query)


@pytest.mark.parametrize(("answer", "error"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_peer_without_a_usable_answer(peer: Peer, answer: Answer | None, error: type[PeerError]) -> None:
    with pytest.raises(error):
        scripted(peer, answer, "s3cret").ask("up")
    assert {one.headers["authorization"] for one in peer.requests} == {"Bearer s3cret"}
