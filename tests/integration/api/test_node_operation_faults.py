"""What the teardown API of seed 004 answers to calls that cannot work: code and reason of the seed, nothing begun."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import falcon

from shipyard_api.adapters.promenade import PromenadeOptions
from shipyard_api.wiring import bootstrap
from tests.integration.api.cluster_world import HREF, ClusterWorld, reference
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.wire import V1, everything_said
from tests.peer import Peer
from tests.teardown_world import ETCD
from tests.unit.tables import every_row


def test_what_promenade_cannot_do_is_refused(world: ClusterWorld, shared_url: str, drydock: Peer) -> None:
    world.commit()
    promenade = PromenadeOptions(url="http://127.0.0.1:9/api/v1.0", teardown=True)
    app = bootstrap.api(settings(shared_url, drydock.url, promenade=promenade))
    site = new_site(app, world.site.store, world.database, drydock)

    refused = [
        replace(world, site=site).post("n1", operation, **query)
        for operation, query in (("uncordon", {}), ("drain", {"on_blocked": "fail"}))
    ]

    assert [(one.status, one.json["reason"]) for one in refused] == [(falcon.HTTP_409, "Conflict")] * 2
    assert "Use kubectl uncordon n1" in everything_said(refused[0])
    assert "it does not know on-blocked" in everything_said(refused[1])
    assert world.actions() == []


Q = dict[str, Any]
BAD, NOT_FOUND = ("400", "BadRequest"), ("404", "NotFound")
# Case: operation, node, query, body, code and reason, a part of what is said.
Case = tuple[str, str, Q, Any, tuple[str, str], str]

PARAMETERS = {
    "drain": ("timeout", "grace-period"),
    "clear-labels": ("timeout",),
    "remove-etcd": ("timeout",),
    "decommission": (
        "drain-node-timeout",
        "drain-node-grace-period",
        "clear-labels-timeout",
        "remove-etcd-timeout",
        "etcd-ready-timeout",
    ),
}
WITH_BODY = ("decommission", "remove-etcd")
ALL = ("decommission", "drain", "clear-labels", "remove-etcd", "shutdown-kubelet", "remove-from-cluster", "uncordon")


def body_of(operation: str) -> Any:
    return reference() if operation in WITH_BODY else None


def whole_numbers() -> Iterator[tuple[str, Case]]:
    """Every parameter with a number that is none or too small; one of them with every way to be none."""
    for operation, names in PARAMETERS.items():
        for name in names:
            case = (operation, "n1", {name: "0"}, body_of(operation), BAD, f"{name} is '0'")
            yield f"{operation} {name}=0", case
    for written in ("", "-1", "1.5", "1e3", "+60", " 60", "60s", "0x10", "٣", "9" * 5000, "1_000"):
        case = ("drain", "n1", {"timeout": written}, None, BAD, "write a whole number of seconds above 0")
        yield f"drain timeout={written[:12]}", case


def parameters() -> Iterator[tuple[str, Case]]:
    yield "grace = timeout", ("drain", "n1", {"timeout": "60", "grace-period": "60"}, None, BAD, "less than")
    yield "grace > timeout", ("drain", "n1", {"timeout": "60", "grace-period": "61"}, None, BAD, "less than")
    yield "grace above the usual timeout", ("drain", "n1", {"grace-period": "3600"}, None, BAD, "less than")
    query = {"drain-node-timeout": "60", "drain-node-grace-period": "60"}
    yield "grace of a decommission", ("decommission", "n1", query, reference(), BAD, "less than")
    for operation in ALL:
        case = (operation, "n1", {"limit": "60"}, body_of(operation), BAD, f"{operation} has no parameter 'limit'")
        yield f"{operation} unknown parameter", case
    yield "given twice", ("drain", "n1", {"timeout": ["60", "70"]}, None, BAD, "timeout is given 2 times")
    yield "a parameter of another", ("clear-labels", "n1", {"grace-period": "1"}, None, BAD, "it takes timeout")
    yield "an unknown word", ("drain", "n1", {"on-blocked": "force"}, None, BAD, "one of wait, fail, delete")
    yield "two faults", ("drain", "n1", {"timeout": "x", "grace-period": "y"}, None, BAD, "grace-period is 'y'")


def bodies() -> Iterator[tuple[str, Case]]:
    right = reference()
    unlike: dict[str, tuple[Any, str]] = {
        "no body": (None, "must be a design reference"),
        "no JSON": ("{", "must be a design reference in JSON"),
        "no UTF-8": (b"\xff\xfe", "must be a design reference in JSON"),
        "a list": ([right], "an object with rel, href and type"),
        "a key twice": ('{"rel": "design", "rel": "design"}', "occurs twice"),
        "nested deeply": ("[" * 5000 + "]" * 5000, "must be a design reference in JSON"),
        "empty": ({}, "rel is missing: write 'design'"),
        "no href": ({k: v for k, v in right.items() if k != "href"}, "href is missing"),
        "no type": ({k: v for k, v in right.items() if k != "type"}, "type is missing"),
        "another rel": ({**right, "rel": "self"}, "rel is 'self': write 'design'"),
        "another type": ({**right, "type": "application/json"}, "type is 'application/json'"),
        "a further member": ({**right, "token": "x"}, "not 'token'"),
        "a number": ({**right, "href": 1}, "href is 1"),
    }
    for name, (body, says) in unlike.items():
        yield f"remove-etcd body: {name}", ("remove-etcd", "n1", {}, body, BAD, says)
    yield "decommission without a body", ("decommission", "n1", {}, None, BAD, "must be a design reference")
    for operation in ALL:
        if operation not in WITH_BODY:
            yield f"{operation} with a body", (operation, "n1", {}, right, BAD, f"{operation} takes no body")


HREFS = {
    "a plain address": "http://evil.example.org/design.yaml",
    "a file": "file:///etc/passwd",
    "another scheme": "deckhand+ftp://deckhand/revisions/1/rendered-documents",
    "no number": HREF.format("latest"),
    "revision 0": HREF.format(0),
    "leading zero": HREF.format("01"),
    "a huge number": HREF.format("9" * 400),
    "digits of another script": HREF.format("١"),
    "something behind it": HREF.format(1) + "?x=1",
    "a line break": HREF.format(1) + "\n",
    "a user in front": "deckhand+https://ann:secret@deckhand/revisions/1/rendered-documents",
    "climbing": "deckhand+https://deckhand/" + "../" * 20 + "revisions/1/rendered-documents",
    "empty": "",
}


def references() -> Iterator[tuple[str, Case]]:
    for name, href in HREFS.items():
        body = {**reference(), "href": href}
        yield f"href: {name}", ("remove-etcd", "n1", {}, body, BAD, "revisions/N/rendered-documents")
    yield "href: unknown revision", ("decommission", "n1", {}, reference(99), BAD, "no revision 99")


def nodes() -> Iterator[tuple[str, Case]]:
    for operation in ALL:
        yield (
            f"{operation} unknown node",
            (operation, "n9", {}, body_of(operation), NOT_FOUND, "does not know the node n9"),
        )
    for name in ("..", "N1", "n" * 254, "%E2%82%AC", "n1%0D%0AX"):
        yield f"node {name[:12]}", ("drain", name, {}, None, NOT_FOUND, "does not know the node")
    yield "node unknown and bad number", ("drain", "n9", {"timeout": "x"}, None, BAD, "timeout is 'x'")


CASES = dict([*whole_numbers(), *parameters(), *bodies(), *references(), *nodes()])


def test_a_call_that_cannot_work(world: ClusterWorld) -> None:
    world.commit()

    @every_row(CASES)
    def refused(operation: str, node: str, query: Q, body: Any, wanted: tuple[str, str], says: str) -> None:
        answer = world.post(node, operation, body, **query)

        assert (answer.status[:3], answer.json["reason"]) == wanted
        assert says in everything_said(answer)
        assert all(one["error"] and one["kind"] == "SimpleMessage" for one in answer.json["details"]["messageList"])

    refused()
    assert len(CASES) >= 60
    assert (world.actions(), world.programs.cluster.log) == ([], [])


HEALTH = {
    "no reference": (None, ("400", "MissingDesignRef"), "design_ref is missing"),
    "an empty one": ("", ("400", "MissingDesignRef"), "design_ref is missing"),
    "not ours": ("http://evil.example.org/", BAD, "revisions/N/rendered-documents"),
    "unknown revision": (HREF.format(99), NOT_FOUND, "no revision 99"),
}


def test_a_question_about_etcd_that_cannot_be_answered(world: ClusterWorld) -> None:
    world.commit()
    for href, wanted, says in HEALTH.values():
        params = {} if href is None else {"design_ref": href}
        answer = world.site.viewer.ask("GET", f"{V1}/etcd-cluster-health-statuses", params=params)

        assert (answer.status[:3], answer.json["reason"]) == wanted
        assert says in everything_said(answer)


def test_what_answers_and_is_no_etcd_is_not_accessible(world: ClusterWorld) -> None:
    world.commit()
    world.programs.etcd.refuse_next("look", f"cluster {ETCD}: members have different cluster ids")
    answer = world.site.viewer.ask("GET", f"{V1}/etcd-cluster-health-statuses", params={"design_ref": HREF.format(1)})

    assert (answer.status[:3], answer.json["reason"]) == ("500", "EtcdNotAccessible")
    assert "different cluster ids" in everything_said(answer)


def test_the_address_of_the_provisioners_names_a_design_too(world: ClusterWorld) -> None:
    world.commit()
    href = "http://127.0.0.1:9/1"  # as in the settings
    answer = world.site.viewer.ask("GET", f"{V1}/etcd-cluster-health-statuses", params={"design_ref": href})

    assert answer.json["reason"] == "Success"
