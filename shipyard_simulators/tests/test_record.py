"""What a peer's own log says of machines: begins are effects, ends are outcomes, and each is numbered."""

import pytest

from shipyard_simulators.record import entries

AT = "2026-03-01 10:00:00.000000+00:00"


def event(event: str, **fields: object) -> dict[str, object]:
    return {"time": AT, "event": event, **fields}


def machine(before: str, after: str, user: str | None = "ann") -> dict[str, object]:
    cause = {"user": user, "request": 1}
    return event("machine", kind="status", machine="n1", cause=cause, text="why", **{"from": before, "to": after})


ROWS = {
    "Drydock begins": (
        "drydock",
        event("task_requested", action="deploy_nodes", nodes=["n1", "n2"], task_id="t"),
        ("deploy", "invoke", ["n1", "n2"], True),
    ),
    "Drydock verifies": ("drydock", event("task_requested", action="verify_site", nodes=None, task_id="t"), None),
    "Drydock starts a node": (
        "drydock",
        event("node_started", phase="deploy", node="n1"),
        ("started", "info", ["n1"], None),
    ),
    "Drydock has prepared": (
        "drydock",
        event("node_prepared", phase="prepare", node="n1"),
        ("prepare", "ok", ["n1"], None),
    ),
    "Drydock fails": (
        "drydock",
        event("node_failed", phase="deploy", node="n1", reason="no power"),
        ("deploy", "fail", ["n1"], None),
    ),
    "MAAS commissions": ("maas", machine("New", "Commissioning"), ("prepare", "invoke", ["n1"], True)),
    "MAAS commissions what has failed": (
        "maas",
        machine("Failed commissioning", "Commissioning"),
        ("prepare", "info", ["n1"], None),
    ),
    "MAAS has commissioned": ("maas", machine("Testing", "Ready", None), ("prepare", "ok", ["n1"], None)),
    "MAAS erases": ("maas", machine("Deployed", "Disk erasing"), ("destroy", "invoke", ["n1"], True)),
    "MAAS releases by itself what it has erased": ("maas", machine("Disk erasing", "Releasing", None), None),
    "MAAS allocates": ("maas", machine("Ready", "Allocated"), None),
    "Ironic deploys": ("ironic", event("verb", verb="active", node="n1"), ("deploy", "invoke", ["n1"], True)),
    "Ironic manages": ("ironic", event("verb", verb="manage", node="n1"), None),
    "Ironic has deployed": (
        "ironic",
        event("node_state", before="deploying", state="active", node="n1"),
        ("deploy", "ok", ["n1"], None),
    ),
    "Ironic waits": ("ironic", event("node_state", before="deploying", state="wait call-back", node="n1"), None),
    "a kubelet stops": ("kubernetes", event("kubelet_stopped", node="n1"), ("stop-kubelet", "invoke", ["n1"], True)),
    "a node is cordoned": (
        "kubernetes",
        event("node_changed", node="n1", cordoned=True, labels={}),
        ("cordon", "info", ["n1"], None),
    ),
    "an unknown peer": ("etcd", event("verb", verb="active", node="n1"), None),
}


@pytest.mark.parametrize(("peer", "logged", "expected"), ROWS.values(), ids=ROWS)
def test_an_event_becomes_an_entry(peer, logged, expected):
    found = list(entries(peer, [logged]))
    if expected is None:
        assert found == []
        return
    (entry,) = found
    shown = tuple(entry.get(name) for name in ("operation", "type", "nodes", "effect"))
    assert shown == expected
    assert (entry["process"], entry["entry"], entry["at"]) == (peer, 1, AT)


def test_a_machine_that_maas_has_released_stays_commissioned():
    found = list(entries("maas", [machine("Releasing", "Ready", None)]))
    assert [(one["operation"], one["type"], one["entry"]) for one in found] == [
        ("destroy", "ok", 1),
        ("prepare", "ok", 2),
    ]


@pytest.mark.parametrize(
    "request_log",
    [
        event("request", method="POST", path="/tasks", status=None, fault="drop_after_effect"),
        event("request_faulted", method="POST", path="/tasks", action="drop_after_effect"),
    ],
    ids=["a log of requests", "Drydock's"],
)
def test_a_fault_is_an_entry_without_a_number(request_log):
    good = event("request", method="GET", path="/tasks", status=200, fault=None)
    started = event("verb", verb="active", node="n1")
    found = list(entries("ironic", [good, request_log, started]))
    assert [(one["process"], one["operation"], one.get("entry")) for one in found] == [
        ("fault", "drop_after_effect", None),
        ("ironic", "deploy", 1),
    ]
    assert found[0]["value"] == {"peer": "ironic", "method": "POST", "path": "/tasks"}
