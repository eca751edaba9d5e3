"""The tag check before a deployment (seed 002): it names what is missing, and it never blocks."""

from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import Label, Layer
from shipyard_api.domain.task_graph.roles import ClusterNode, check_tags
from tests.unit.tables import every_row

LAYER = Layer(
    roles={
        "controller": Label({"tags": ["mysql", "rabbitmq", "own"]}),
        "mongo": Label({"tags": ["mongo", "rabbitmq"]}),
    },
    tags={
        "mysql": Label(predefined=True),
        "rabbitmq": Label(predefined=True),
        "mongo": Label(predefined=True),
        "own": Label(),
    },
)


def test_tasks_that_a_role_in_use_wants_and_the_graph_lacks_are_named() -> None:
    wishes = {"late": Label({"tasks": ["a", "b", "g"]}), "unused": Label({"tasks": ["b"]})}
    layer = Layer(({"id": "a", "type": "shell"}, {"id": "g", "type": "group"}), wishes)

    (found,) = check_tags(layer, [node("n1", "late", "")])

    assert (found.level, "The role late wants tasks" in found.message) == (Level.WARNING, True)
    assert found.message.endswith(": b, g.")


def node(name: str, roles: str, tags: str, *, leaving: bool = False) -> ClusterNode:
    return ClusterNode(NodeName(name), tuple(roles.split()), tuple(tags.split()), leaving=leaving)


@every_row(
    {
        "every tag has a node": ([node("n1", "controller mongo", "mysql rabbitmq mongo")], "", ""),
        "a role in use and one that is not": ([node("n1", "controller", "rabbitmq")], "mysql", "mongo"),
        "several at once": ([node("n1", "controller", "own")], "mysql, rabbitmq", "mongo"),
        "a tag without its role counts": ([node("n1", "", "mysql")], "", "rabbitmq, mongo"),
        "a node that is to be removed does not count": (
            [node("n1", "controller", "mysql rabbitmq"), node("n2", "mongo", "mongo", leaving=True)],
            "",
            "mongo",
        ),
        "an instance is another tag": ([node("n1", "controller", "mysql:2 rabbitmq mongo")], "mysql", ""),
        "no node": ([], "", "mysql, rabbitmq, mongo"),
    },
)
def test_predefined_tags_without_a_node_are_named(nodes: list[ClusterNode], warned: str, informed: str) -> None:
    findings = check_tags(LAYER, nodes)

    texts = {finding.level: finding.message for finding in findings}
    assert len(texts) == len(findings)
    assert Level.ERROR not in texts
    for level, expected in ((Level.WARNING, warned), (Level.INFO, informed)):
        assert (f": {expected}." in texts[level]) if expected else level not in texts
