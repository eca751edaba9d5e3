"""Failures are said once, by their causes, and what followed from them is below."""

from shipyard_api.cli.output.failures import failure_lines
from shipyard_api.cli.output.snapshot import Snapshot
from tests.unit.cli import samples
from tests.unit.tables import every_row


def failed(name, reason="dependency", *parents, **fields):
    return samples.group(name, "failed", reason=reason, depends_on=list(parents), **fields)


def node(name, group, detail="no disk"):
    return samples.node(name, "failure", group, reason="deploy", detail=detail)


def stopped(name, group):
    return samples.node(name, "not_started", group, reason="policy", detail="wave canary: 1 failed")


CASES = {
    "none": ([samples.group("a", "success")], [], []),
    "a cause, its nodes, what depends on it": (
        [failed("z", "dependency", "a"), failed("a", "prepare", detail="0 of 1"), failed("b", "dependency", "a")],
        [node("n1", "a"), node("n2", "a", "no power")],
        [
            "group a, prepare: 0 of 1",
            "- node n1, deploy: no disk",
            "- node n2, deploy: no power",
            "- groups z, b depend on it and were not started",
        ],
    ),
    "a chain is below its first cause": (
        [failed("c", "dependency", "b"), failed("b", "dependency", "a"), failed("a", "timeout")],
        [],
        ["group a, timeout", "- groups b, c depend on it and were not started"],
    ),
    "one dependent of two causes": (
        [failed("a", "deploy"), failed("b", "deploy"), failed("c", "dependency", "b", "a")],
        [],
        ["group a, deploy", "- group c depends on it and was not started", "group b, deploy"],
    ),
    "a cause that is not listed": (
        [failed("b", "dependency", "a", detail="depends on a, which failed")],
        [],
        ["group b, dependency: depends on a, which failed"],
    ),
    "nodes of groups that have not failed": (
        [samples.group("a", "success")],
        [node("n1", "a"), samples.node("n2", "failure", None)],
        ["node n1 of a, deploy: no disk", "node n2, failed"],
    ),
    "nodes that the policy stopped": (
        [failed("a", "deploy")],
        [node("n1", "a"), *(stopped(name, "a") for name in ("n2", "n3")), stopped("n4", "b")],
        [
            "group a, deploy",
            "- node n1, deploy: no disk",
            "- nodes n2, n3, policy: wave canary: 1 failed",
            "node n4 of b, policy: wave canary: 1 failed",
        ],
    ),
    "many nodes with one reason": (
        [],
        [node(f"n{number}", "a", f"Node n{number}: no disk") for number in range(50)],
        ["nodes n[0-49] of a, deploy: no disk"],
    ),
}


@every_row(CASES)
def test_failures(groups, nodes, lines):
    found = failure_lines(Snapshot.of(samples.action(), groups, nodes))
    assert ["- " * line.depth + line.text for line in found] == lines


@every_row(
    {
        "of no group": ([], "software.run_task_graph", ["step software.run_task_graph: ntp failed"]),
        "no group failed": ([], "drydock_build.verify", ["step drydock_build.verify: ntp failed"]),
        "said by its groups": ([failed("a", "deploy")], "drydock_build.prepare", ["group a, deploy"]),
    },
)
def test_a_failed_step_says_why_unless_its_groups_do(groups, step, lines):
    steps = [{"id": step, "state": "failed", "detail": "ntp failed"}, {"id": "other", "state": "success", "detail": ""}]
    found = failure_lines(Snapshot.of(samples.action(steps=steps), groups, []))
    assert [line.text for line in found] == lines
