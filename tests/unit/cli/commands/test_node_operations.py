"""The commands that run single operations of a teardown, and those that show what one would do."""

import json

import pytest

from tests.unit.cli.fake_api import Reply

STATUS = {
    "kind": "Status",
    "apiVersion": "v1.0",
    "metadata": {},
    "status": "Success",
    "message": "drain of n1 is done",
    "reason": "Success",
    "details": {
        "errorCount": 0,
        "messageList": [{"message": "pod a/b was evicted", "error": False, "kind": "SimpleMessage", "level": "Info"}],
    },
    "code": "200 OK",
}


def pod(name, kind, losses=(), message=""):
    return {
        "namespace": "default",
        "name": name,
        "uid": name,
        "phase": "Running",
        "controller": "ReplicaSet/web",
        "class": kind,
        "losses": list(losses),
        "budgets": [],
        "volumes": [],
        "message": message,
    }


PLAN = {
    "node": "n1",
    "revision": 3,
    "cordoned": True,
    "totals": {"mirror": 1, "evictable": 2, "blocked-forever": 1, "daemon": 0},
    "pods": [
        pod("etcd", "mirror"),
        pod("web", "evictable"),
        pod("tmp", "evictable", ["no-controller", "local-data"]),
        pod("db", "blocked-forever", message="budget default/db allows none at all"),
    ],
    "etcd": [
        {
            "cluster": "kubernetes-etcd",
            "health": "Unhealthy",
            "members": ["n1"],
            "survivable_failures": 0,
            "survivable_failures_after": -1,
        }
    ],
    "findings": [],
}


@pytest.mark.parametrize(
    ("words", "path", "query"),
    [
        (["drain", "n1"], "drain", []),
        (
            ["drain", "node/n1", "--timeout=60", "--grace-period=30", "--on-blocked=fail"],
            "drain",
            [("timeout", "60"), ("grace-period", "30"), ("on-blocked", "fail")],
        ),
        (["uncordon", "n1"], "uncordon", []),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else "",
)
def test_an_operation_is_one_call_without_a_body(api, run, words, path, query):
    api.replies[f"POST /nodes/n1/{path}"] = Reply(200, STATUS)

    result = run("node", *words)

    (request,) = api.requests
    assert request.query == [*query, ("verbosity", "1")]
    assert request.body == b""
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{path} of {words[1]}\n")
    assert "pod a/b was evicted" in result.stdout


@pytest.mark.parametrize(("operation", "words"), [("decommission", []), ("remove-etcd", ["--revision=7"])])
def test_a_design_is_the_committed_one_unless_another_is_given(api, run, operation, words):
    api.replies["POST /plans"] = Reply(200, {"revision": 3})
    api.replies[f"POST /nodes/n1/{operation}"] = Reply(200, STATUS)

    assert run("node", operation, "n1", *words).exit_code == 0

    number = 7 if words else 3
    assert json.loads(api.requests[-1].body) == {
        "rel": "design",
        "href": f"deckhand+http://shipyard/api/v1.0/revisions/{number}/rendered-documents",
        "type": "application/x-yaml",
    }


def test_without_a_committed_design_a_revision_must_be_given(api, run):
    api.replies["POST /plans"] = Reply(200, {"revision": None})

    result = run("get", "etcd-health")

    assert result.exit_code == 1
    assert "give --revision" in result.output


def test_a_lost_answer_says_that_the_operation_may_go_on(api, run):
    api.replies["POST /nodes/n1/drain"] = Reply(200, STATUS, cut=True)

    result = run("node", "drain", "n1")

    assert result.exit_code == 1
    assert "the same command waits for it again" in result.stderr


def test_the_health_of_etcd_is_a_table(api, run):
    names = {"ctl01": ("healthy", True, False), "ctl02": ("dead", False, False), "ctl03": ("healthy", False, True)}
    keys = ("name", "state", "leader", "learner")
    members = [dict(zip(keys, (name, *values), strict=True)) for name, values in names.items()]
    health = {"message": "Unhealthy", "error": False, "kind": "HealthMessage"}
    listed = [{**health, "name": "kubernetes-etcd", "members": members}, {**health, "name": "calico-etcd"}]
    api.replies["GET /etcd-cluster-health-statuses"] = Reply(200, {**STATUS, "details": {"messageList": listed}})

    result = run("get", "etcd-health", "--revision=3")

    assert dict(api.requests[0].query)["design_ref"].endswith("/revisions/3/rendered-documents")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["Etcd", "Cluster", "Health", "Members"],
        ["kubernetes-etcd", "Unhealthy", "ctl02", "dead,", "ctl01", "leader,", "ctl03", "learner"],
        ["calico-etcd", "Unhealthy", "unknown"],
    ]


def test_a_drain_plan_begins_with_what_needs_attention(api, run):
    api.replies["GET /nodes/n1/drain-plan"] = Reply(200, PLAN)

    result = run("drain-plan", "node/n1")

    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == [
        "Drain Plan:        node/n1, cordoned",
        "Pods:              1 blocked-forever, 2 evictable, 1 mirror",
        "Lost:              1 pod(s) without a controller, local data of 1 pod(s)",
        "",
        "Pod           Class            Controller      Loses               Why",
        "default/db    blocked-forever  ReplicaSet/web                      budget default/db allows none at all",
        "default/tmp   evictable        ReplicaSet/web  itself, local data",
        "default/web   evictable        ReplicaSet/web",
        "default/etcd  mirror           ReplicaSet/web",
        "",
        "Etcd Cluster     Health     On the Node  May Fail Now  Without It",
        "kubernetes-etcd  Unhealthy  n1           0             no quorum",
    ]
    assert json.loads(run("drain-plan", "n1", "-o", "json").stdout) == PLAN


def test_servers_are_adopted_with_the_committed_revision_or_another(api, run):
    api.replies["POST /plans"] = Reply(200, {"revision": 4})
    api.replies["POST /adoptions"] = Reply(200, {"nodes": ["n1", "n2"], "revision": 4})
    assert "Adopted with revision 4: n1, n2" in run("node", "adopt", "n[1-2]").stdout
    assert json.loads(api.requests[-1].body) == {"nodes": ["n1", "n2"], "revision": 4}
    run("node", "adopt", "node/n1", "--revision", "2")
    assert json.loads(api.requests[-1].body) == {"nodes": ["n1"], "revision": 2}
    assert run("node", "adopt", "n[1-").exit_code == 2
