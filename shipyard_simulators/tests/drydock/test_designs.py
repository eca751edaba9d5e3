"""Node filters, design references and design validation over HTTP."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from shipyard_simulators.tests.drydock.client import BROKEN, Drydock, StartDrydock, by_names, write_design
from shipyard_simulators.tests.programs import FIVE_GROUPS


def test_the_groups_of_the_shipped_site_are_those_of_the_worked_example(drydock: Drydock):
    def members(**criteria: list[str]) -> list[str]:
        node_filter = {"filter_set_type": "union", "filter_set": [{"filter_type": "intersection", **criteria}]}
        answer = drydock.post("/nodefilter", design_ref=FIVE_GROUPS.as_uri(), node_filter=node_filter)
        return sorted(answer.json())

    documents = list(yaml.safe_load_all(FIVE_GROUPS.read_text()))
    (strategy,) = [one["data"] for one in documents if one["schema"] == "shipyard/DeploymentStrategy/v1"]
    groups = {}
    for group in strategy["groups"]:
        (selector,) = group["selectors"]
        groups[group["name"]] = members(**{key: value for key, value in selector.items() if value})
    assert groups == {
        "ntp-node": ["ntp01"],
        "control-nodes": ["ctl01", "ctl02", "ctl03", "ctl04"],
        "compute-nodes-1": ["cmp01-1", "cmp01-2", "cmp01-3", "cmp01-4"],
        "compute-nodes-2": ["cmp02-1", "cmp02-2", "cmp02-3", "cmp02-4"],
        "monitoring-nodes": ["mon01", "mon02", "mon03"],
    }
    everything = drydock.post("/nodefilter", design_ref=FIVE_GROUPS.as_uri(), node_filter=None).json()
    assert sorted(everything) == sorted(name for names in groups.values() for name in names)
    assert everything != sorted(everything)


def test_a_question_about_a_filter(drydock: Drydock):
    def ask(**body: Any) -> tuple[int, Any]:
        answer = drydock.post("/nodefilter", **body)
        return answer.status_code, answer.json()

    assert ask(design_ref=drydock.design, **by_names("n1", "n9")) == (200, ["n1"])
    assert ask(design_ref=drydock.design, node_filter={}) == (500, BROKEN)
    assert ask(node_filter=None)[0] == 400
    assert ask(design_ref="deckhand+https://127.0.0.1/x", node_filter=None) == (200, [])
    assert ask(design_ref="gopher://x", node_filter={}) == (200, [])


def test_an_unreadable_design_may_break_the_question_instead(start: StartDrydock):
    drydock = start("quirks: {empty_answer_for_unreadable_design: false}")
    answer = drydock.post("/nodefilter", design_ref="file:///nonexistent", node_filter=None)
    assert (answer.status_code, answer.json()) == (500, BROKEN)


class DesignStore(BaseHTTPRequestHandler):
    """Serves the design of one node and notes who asked how."""

    asked: ClassVar[list[tuple[str, dict[str, str]]]]

    def do_GET(self) -> None:
        self.asked.append((self.path, dict(self.headers)))
        self.send_response(404 if "missing" in self.path else 200)
        self.end_headers()
        self.wfile.write(b"{schema: drydock/BaremetalNode/v1, metadata: {name: n1}, data: {}}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def design_store() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """The address of a design store, and what it was asked."""
    asked: list[tuple[str, dict[str, str]]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (DesignStore,), {"asked": asked})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_a_deckhand_reference_is_followed_with_drydocks_own_token_and_only_once(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(design_token="of-drydock"), design_store
    for _ in range(2):
        answer = drydock.post("/nodefilter", design_ref=f"deckhand+http://{store}/revisions/1", node_filter=None)
        assert answer.json() == ["n1"]
    assert [(path, headers["X-Auth-Token"]) for path, headers in asked] == [("/revisions/1", "of-drydock")]


def test_a_plain_reference_is_followed_with_the_user_in_it_and_cached_by_the_exact_string(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(design_token="of-drydock"), design_store
    for path in ("d", "d", "d?v=2"):
        drydock.post("/nodefilter", design_ref=f"http://user:password@{store}/{path}", node_filter=None)
    assert [path for path, _ in asked] == ["/d", "/d?v=2"]
    assert all("X-Auth-Token" not in headers and "Authorization" in headers for _, headers in asked)


def test_a_failure_to_fetch_a_design_is_not_cached(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(), design_store
    for _ in range(2):
        answer = drydock.post("/nodefilter", design_ref=f"http://{store}/missing", node_filter=None)
        assert (answer.status_code, answer.json()) == (200, [])
    assert len(asked) == 2


def test_a_file_that_changes_keeps_its_old_answer(start: StartDrydock, tmp_path: Path):
    drydock, design = start(), tmp_path / "changing.yaml"
    answers = []
    for nodes, reference in (("n1", design.as_uri()), ("n2", design.as_uri()), ("n2", f"{design.as_uri()}?v=2")):
        write_design(design, nodes)
        answers.append(drydock.post("/nodefilter", design_ref=reference, node_filter=None).json())
    assert answers == [["n1"], ["n1"], ["n2"]]


def test_a_sound_design_is_valid_with_a_message_for_each_rule(drydock: Drydock):
    answer = drydock.post("/validatedesign", rel="design", href=FIVE_GROUPS.as_uri(), type="application/x-yaml")
    status = answer.json()
    assert (answer.status_code, status["status"], status["code"]) == (200, "Success", 200)
    assert status["message"] == "Site design passed validation"
    assert status["details"]["errorCount"] == 0
    messages = status["details"]["messageList"]
    assert [message["level"] for message in messages] == ["Info"] * 5
    assert set(messages[0]) == {"kind", "name", "level", "error", "message", "diagnostic", "ts", "documents"}


def test_a_design_that_is_not_sound_is_refused(start: StartDrydock, tmp_path: Path):
    drydock = start("tasks: {validate_design: {outcome: fail, reason: invalid image nonesuch}}")
    malformed, empty = tmp_path / "malformed.yaml", tmp_path / "empty.yaml"
    malformed.write_text("{schema: drydock/BaremetalNode/v1, metadata: {name: n1}, data: text}")
    empty.write_text("{schema: drydock/Region/v1, metadata: {name: r}, data: {}}")
    status = drydock.post("/validatedesign", href=malformed.as_uri()).json()
    assert (status["code"], status["status"], status["message"]) == (400, "failure", None)
    assert [message["name"] for message in status["details"]["messageList"]] == ["DD001"]
    answer = drydock.post("/validatedesign", href=empty.as_uri())
    status = answer.json()
    assert (answer.status_code, status["status"], status["details"]["errorCount"]) == (400, "Failure", 2)
    assert "invalid image nonesuch" in answer.text
    gone = drydock.post("/validatedesign", href="file:///nonexistent")
    assert gone.status_code == 500
    assert "has no attribute" in gone.json()["message"]
    assert drydock.post("/validatedesign", rel="design").status_code == 400
